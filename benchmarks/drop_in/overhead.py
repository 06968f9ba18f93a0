"""What Pippin's Trainer costs where it has no faster way: a step, a checkpoint, a translation; beside transformers'.

    python benchmarks/drop_in/overhead.py [--rounds 5] [--jobs step,checkpoint,translation] [--before SRC]

An encoder-decoder with random weights is trained on the CPU. `step`: a tiny one, whose steps take a few milliseconds,
by both Trainers in turns within one process; what counts is the CPU time. The others run in processes of their own, and
what counts is the time of train(). `checkpoint`: 60 million parameters, so that a checkpoint takes 0.7 GB; three are
saved, the last at the end. `translation`: 10 million, saved after each of three epochs and evaluated by what it writes.
SRC is the `src` folder of another state of Pippin, which then takes part as `pippin before`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "speed"))
from comparing import Figures, chosen, compared, interleaved, recording  # noqa: E402

#: width, layers, width within a layer, words, rows, tokens of a row, settings
JOBS: dict[str, tuple[int, int, int, int, int, int, dict[str, Any]]] = {
    "step": (16, 1, 16, 64, 400, 4, {"max_steps": 100, "save_steps": 10_000}),
    "checkpoint": (512, 6, 2048, 32_128, 24, 24, {"max_steps": 12, "save_steps": 4, "save_total_limit": 1}),
    "translation": (
        256, 4, 1024, 8_000, 320, 24, {"num_train_epochs": 3, "save_strategy": "epoch", "eval_strategy": "epoch"},
    ),
}  # fmt: skip
#: What counts, where it is not the whole of train().
FIGURES = {"step": "cpu_ms_per_step"}
BASE = "transformers"


def trainer_of(job: str, side: str, folder: str) -> Any:
    """The same job for either side."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    if side == BASE:
        from transformers import Seq2SeqTrainer, Seq2SeqTrainingArguments
    else:
        from pippin import Seq2SeqTrainer, Seq2SeqTrainingArguments
    width, layers, inner, words, rows, length, settings = JOBS[job]
    torch.manual_seed(0)
    config = T5Config(
        vocab_size=words, d_model=width, d_kv=width // 8, d_ff=inner, num_layers=layers, num_heads=8,
        decoder_start_token_id=0, pad_token_id=0, eos_token_id=1, dropout_rate=0.0,
    )  # fmt: skip
    draw = random.Random(0)
    texts = [[draw.randrange(2, words) for _ in range(length)] for _ in range(rows)]
    data = [{"input_ids": text, "labels": text[::-1]} for text in texts]
    return Seq2SeqTrainer(
        model=T5ForConditionalGeneration(config),
        args=Seq2SeqTrainingArguments(
            folder,
            use_cpu=True,
            report_to="none",
            disable_tqdm=True,
            logging_steps=10,
            predict_with_generate=True,
            generation_max_length=12,
            **settings,
        ),  # fmt: skip
        train_dataset=data,
        eval_dataset=data[:32],
    )


def measure(job: str, side: str, folder: str) -> Figures:
    """Train once, in this process."""
    trainer = trainer_of(job, side, folder)
    began = time.perf_counter()
    trainer.train()
    seconds = time.perf_counter() - began
    return {"train_seconds": round(seconds, 3), "last_loss": _last_loss(trainer)}


def steps_in_turns(side: str, folder: str, turns: int = 10) -> Figures:
    """The CPU time of a step on a side, and how much more that is than transformers' in the same process."""
    found: dict[str, list[float]] = {BASE: [], side: []}
    for _ in range(turns):
        for each in found:
            trainer = trainer_of("step", each, folder)
            times: list[float] = []
            # The steps alone, from the first on: what comes before and after them is left out.
            trainer.training_step = partial(_timed, times, trainer.training_step)
            trainer.train()
            found[each].append(1000 * (times[-1] - times[0]) / (len(times) - 1))
    more = [own - other for own, other in zip(found[side], found[BASE], strict=True)]
    return {
        "cpu_ms_per_step": round(statistics.median(found[side]), 4),
        "ms_more_than_transformers": round(statistics.median(more), 4),
        "last_loss": _last_loss(trainer),
    }


def _timed(times: list[float], step: Any, *arguments: Any, **named: Any) -> Any:
    times.append(time.process_time())
    return step(*arguments, **named)


def _last_loss(trainer: Any) -> float:
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry][-1]


def run(job: str, side: str, before: Path | None, threads: int) -> Figures:
    """One run in a new process."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    if side == "pippin before" and before:
        environment["PYTHONPATH"] = str(before)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--child", job, side, folder]
        ended = subprocess.run(command, env=environment, capture_output=True, text=True)
    if ended.returncode:
        raise RuntimeError(ended.stderr[-2000:])
    return json.loads(ended.stdout.splitlines()[-1])


def main() -> int:
    if sys.argv[1:2] == ["--child"]:
        job, side, folder = sys.argv[2:5]
        print(json.dumps(steps_in_turns(side, folder) if job == "step" else measure(job, side, folder)))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", help=f"of {', '.join(JOBS)}")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1, help="of torch: more than one wait for each other")
    parser.add_argument("--before", type=Path, help="the src folder of another state of Pippin")
    parser.add_argument("--name", default="drop_in_overhead", help="of the recorded file")
    parser.add_argument("--results", type=Path, default=recording.RESULTS)
    arguments = parser.parse_args()
    sides = [BASE, "pippin", *(["pippin before"] if arguments.before else [])]
    figures = {}
    for job in chosen(JOBS, arguments.jobs):
        print(f"\n{job}", flush=True)
        ways = {side: partial(run, job, side, arguments.before, arguments.threads) for side in sides}
        figure = FIGURES.get(job, "train_seconds")
        found = interleaved(ways, arguments.rounds, say=figure)
        figures[job] = compared(found, (BASE,), figure, more_is_better=False)
    for job, one in figures.items():
        figure = FIGURES.get(job, "train_seconds")
        for side in sides[1:]:
            ratio = one[side][f"times {BASE}"]
            print(
                f"{job:12} {side:14} {one[BASE][figure]:8.2f} → {one[side][figure]:8.2f} {figure}   "
                f"{1 / ratio['median']:.2f} of transformers' ({1 / ratio['most']:.2f} to {1 / ratio['least']:.2f})"
            )
            more = [found.get("ms_more_than_transformers") for found in one[side]["rounds"]]
            if all(value is not None for value in more):
                print(f"{'':27} {statistics.median(more):.3f} ms more than transformers in the same process")
    print(
        recording.record(
            arguments.name,
            {"rounds": arguments.rounds, "threads": arguments.threads, "jobs": figures},
            arguments.results,
        )
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
