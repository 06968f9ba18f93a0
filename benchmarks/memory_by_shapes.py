"""Memory of the GPU while batches vary in length: Pippin's planned lengths beside the Trainer's dynamic padding.

    EMULATED_MPS="memory=8, release=2.12.0" python benchmarks/memory_by_shapes.py [--rows 4000]

Runs on the emulated Apple GPU (or a real one): both train the same small model on the same texts, whose lengths vary
as those of reviews do, batch after batch, and the driver's memory is read every ten steps. On the emulated device the
memory of a compiled graph is a published figure, and buffers are kept as the releases before 2.14 kept them; so the
curves show the mechanism, not the bytes of a given Mac.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from pathlib import Path
from typing import Any

from recording import RESULTS, record

BATCH, EVERY = 16, 10
WORDS = "the film was slow and long but its music made me stay until the end of a warm night in town".split()


def make_rows(count: int) -> list[dict[str, Any]]:
    """Texts from five to about 250 words, most of them short."""
    draw = random.Random(0)
    sizes = [min(250, max(5, int(draw.lognormvariate(4, 0.8)))) for _ in range(count)]
    return [{"text": " ".join(draw.choices(WORDS, k=size)), "label": size % 2} for size in sizes]


def make_model(folder: Path) -> str:
    """Two layers with random weights, and the built-in model's tokenizer: only shapes matter."""
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    from pippin.models.loading import resolve_model

    tokenizer = AutoTokenizer.from_pretrained(resolve_model(None))
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=128, num_hidden_layers=2, num_attention_heads=4, intermediate_size=512
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def with_pippin(model: str, rows: list[dict[str, Any]], folder: Path) -> list[int]:
    import pippin

    file = folder / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    pippin.train(
        str(file), model_name_or_path=model, output_dir=str(folder / "run"), do_train=True, num_train_epochs=1,
        per_device_train_batch_size=BATCH, max_seq_length=256, logging_steps=EVERY, quiet=True,
    )  # fmt: skip
    events = [json.loads(line) for line in (folder / "run/events.jsonl").read_text().splitlines()]
    return [event["memory"] for event in events if event["event"] == "log"]


def with_trainer(model: str, rows: list[dict[str, Any]], folder: Path) -> list[int]:
    import torch
    from transformers import (
        AutoModelForSequenceClassification,
        AutoTokenizer,
        DataCollatorWithPadding,
        Trainer,
        TrainerCallback,
        TrainingArguments,
    )

    seen: list[int] = []

    class Watch(TrainerCallback):
        def on_step_end(self, arguments: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step % EVERY == 0:
                seen.append(torch.mps.driver_allocated_memory())

    tokenizer = AutoTokenizer.from_pretrained(model)
    encoded = [{**tokenizer(row["text"], truncation=True, max_length=256), "label": row["label"]} for row in rows]
    arguments = TrainingArguments(
        str(folder), num_train_epochs=1, per_device_train_batch_size=BATCH, report_to=[], save_strategy="no",
        disable_tqdm=True, logging_strategy="no",
    )  # fmt: skip
    Trainer(
        AutoModelForSequenceClassification.from_pretrained(model),
        arguments,
        train_dataset=encoded,
        data_collator=DataCollatorWithPadding(tokenizer),
        callbacks=[Watch()],
    ).train()
    return seen


def draw(curves: dict[str, list[int]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4))
    for name, curve in curves.items():
        axes.plot([EVERY * (place + 1) for place in range(len(curve))], [b / 2**20 for b in curve], label=name)
    axes.set(
        xlabel="step", ylabel="driver memory (MB)", ylim=0, title="Emulated Apple GPU, lengths from 5 to 256 tokens"
    )
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4000)
    rows = make_rows(parser.parse_args().rows)

    import torch

    curves = {}
    for name, run in (("Pippin", with_pippin), ("Trainer, dynamic padding", with_trainer)):
        with tempfile.TemporaryDirectory() as folder:
            model = make_model(Path(folder, "model"))
            torch.mps.empty_cache()
            before = torch.mps.driver_allocated_memory()
            curves[name] = [held - before for held in run(model, rows, Path(folder))]
    figures = {
        name: {
            "steps": EVERY * len(curve),
            "after_a_fifth": curve[len(curve) // 5],
            "at_the_end": curve[-1],
            "curve": curve,
        }
        for name, curve in curves.items()
    }
    for name, found in figures.items():
        early, late = found["after_a_fifth"] / 2**20, found["at_the_end"] / 2**20
        print(f"{name}: {early:.0f} MB after a fifth of the steps, {late:.0f} MB at the end")
    draw(curves, RESULTS.parents[1] / "docs" / "memory_by_shapes.png")
    print(record("memory_by_shapes", {"device": torch.backends.mps.get_name(), "torch": torch.__version__, **figures}))


if __name__ == "__main__":
    main()
