"""Prediction speed on the CPU, from texts to labels: Pippin beside Hugging Face's ways and ONNX Runtime.

    python benchmarks/speed/cpu_prediction.py DATA_FOLDER [--sets trec,mrpc] [--rows 500] [--rounds 3]

DATA_FOLDER holds `trec/` and `glue/MRPC/`. First Pippin trains a model for each set; then all label the same test rows
with it, tokenising included, each in a fresh process after a first batch. Beside the speed stand the share of rows with
the label of `Trainer.predict` and the largest difference of the label's probability from it: int8 is not exact. ONNX
Runtime takes part where `onnxruntime`, `onnx` and `onnxscript` are installed.
"""

from __future__ import annotations

import argparse
import tempfile
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import rows
import with_pippin
import with_transformers
from comparing import Figures, Way, chosen, compared, fresh, interleaved, recording, show
from job import Job
from model_folders import builtin_model

REFERENCE = "trainer padded"
BATCHES = (1, 8, 32, 64)
TRAINING_ROWS, EPOCHS = 1024, 2


def ways_of(run: str, file: Path, exported: Path | None, pipeline_batch: int) -> dict[str, Way]:
    ways: dict[str, Way] = {
        REFERENCE: partial(fresh, with_transformers.trainer_predict, run, file),
        "transformers sorted": partial(fresh, with_transformers.sorted_batches, run, file),
        "pipeline": partial(fresh, with_transformers.pipeline, run, file, pipeline_batch),
        "pippin": partial(fresh, with_pippin.predict, run, file),
        "pippin int8": partial(fresh, with_pippin.predict, run, file, int8=True),
    }
    if exported:
        for name, model in (("onnx fp32", "model.onnx"), ("onnx int8", "int8.onnx")):
            ways[name] = partial(fresh, with_transformers.onnx, run, file, exported / model)
    return ways


def best_pipeline_batch(run: str, file: Path) -> int:
    """The fastest of a few batch sizes on a sample of the rows."""
    speeds = {batch: fresh(with_transformers.pipeline, run, file, batch)["samples_per_second"] for batch in BATCHES}
    print("pipeline by batch size:", {batch: round(speed, 1) for batch, speed in speeds.items()}, flush=True)
    return max(speeds, key=lambda batch: speeds[batch])


def add_agreement(found: dict[str, list[Figures]]) -> None:
    """Beside each speed, how near its labels and probabilities are to the reference's of that round."""
    for rounds in found.values():
        for one, reference in zip(rounds, found[REFERENCE], strict=True):
            if "error" in one or "error" in reference:
                continue
            same = [own == other for own, other in zip(one["labels"], reference["labels"], strict=True)]
            apart = [abs(own - other) for own, other in zip(one["scores"], reference["scores"], strict=True)]
            one["same_labels"] = sum(same) / len(same)
            one["largest_difference"] = max((gap for gap, equal in zip(apart, same, strict=True) if equal), default=0.0)
    for rounds in found.values():
        for one in rounds:
            one.pop("labels", None)
            one.pop("scores", None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", default="trec,mrpc")
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--training_rows", type=int, default=TRAINING_ROWS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--model", default=None)
    parser.add_argument("--ways", default=None, help=f"{REFERENCE} must be among them")
    parser.add_argument("--results", type=Path, default=recording.RESULTS)
    arguments = parser.parse_args()
    lacking = [name for name in ("onnx", "onnxscript", "onnxruntime") if find_spec(name) is None]
    if lacking:
        print(f"ONNX Runtime is left out: {', '.join(lacking)} not installed.")
    figures: Figures = {"rows": arguments.rows}
    for name, (train, test) in rows.find(arguments.data, arguments.sets).items():
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            file = test.sample(arguments.rows).write(folder / "test.jsonl")
            some = test.sample(64).write(folder / "some.jsonl")
            training = train.sample(arguments.training_rows).write(folder / "train.jsonl")
            job = Job(arguments.model or builtin_model(), training, epochs=EPOCHS, rate=2e-4)
            run = folder / "run"
            fresh(with_pippin.train, job, run)
            if not lacking:
                fresh(with_transformers.export_onnx, str(run), folder)
            batch = best_pipeline_batch(str(run), some)
            ways = ways_of(str(run), file, None if lacking else folder, batch)
            found = interleaved(chosen(ways, arguments.ways), arguments.rounds)
        add_agreement(found)
        figures[name] = {"pipeline_batch": batch, "ways": compared(found, (REFERENCE, "transformers sorted"))}
        show(name, figures[name]["ways"], beside=("same_labels", "largest_difference"))
    print(recording.record("cpu_prediction", figures, arguments.results))


if __name__ == "__main__":
    main()
