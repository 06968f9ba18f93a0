"""How time and memory grow with the number of rows and with their length, with a chart beside the figures.

    python benchmarks/speed/growth.py [--most_rows 1000000] [--rounds 1] [--results FOLDER]

Rows: Pippin reads, checks and tokenises a file of short texts and trains for a few steps, so that what grows with the
file shows: seconds before the first step and peak memory. Lengths: Pippin and the Trainer with dynamic padding train
on texts of 16 to 512 tokens at batch 16; samples per second over the second half of the steps, and peak memory. A small
model with random weights: what is looked for is the shape of the curves.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import rows
import with_pippin
import with_trainer
from comparing import Figures, compared, fresh, interleaved, recording, show
from job import Job
from model_folders import SIZES, make_bert

ROWS = (1_000, 10_000, 100_000, 1_000_000)
LENGTHS = (16, 32, 64, 128, 256, 512)
STEPS, WORDS_OF_A_ROW = 40, 12


def prepared_and_trained(first: Job, job: Job) -> dict[str, Any]:
    """Pippin on a whole file for a few steps, after a small file in the same process, so that imports do not count.

    All but its training is preparation, and saving a small model.
    """
    figures = with_pippin.train_after_a_first(first, job, save_strategy="no")
    return {**figures, "preparing_seconds": figures["call_seconds"] - figures["train_seconds"]}


def by_rows(model: str, folder: Path, most_rows: int, rounds: int) -> Figures:
    figures: Figures = {}
    first = Job(model, rows.made_up(64, WORDS_OF_A_ROW).write(folder / "first.jsonl"), steps=2)
    for count in [size for size in ROWS if size <= most_rows]:
        file = rows.made_up(count, WORDS_OF_A_ROW).write(folder / "rows.jsonl")
        way = partial(fresh, prepared_and_trained, first, Job(model, file, steps=STEPS))
        found = interleaved({f"pippin {count} rows": way}, rounds, "preparing_seconds")
        figures |= compared(found, (), "preparing_seconds")
    show("rows", figures, "preparing_seconds", beside=("peak_resident_bytes", "samples_per_second"))
    return figures


def by_length(model: str, folder: Path, rounds: int) -> Figures:
    figures: Figures = {}
    for tokens in LENGTHS:
        # Two of the tokens are the marks at both ends.
        file = rows.made_up(16 * STEPS, tokens - 2).write(folder / "rows.jsonl")
        job = Job(model, file, steps=STEPS, batch=16, max_length=tokens)
        ways = {
            f"trainer {tokens} tokens": partial(fresh, with_trainer.train, job, padding="longest"),
            f"pippin {tokens} tokens": partial(fresh, with_pippin.train, job),
        }
        figures |= compared(interleaved(ways, rounds), (f"trainer {tokens} tokens",))
    show("lengths", figures, beside=("peak_resident_bytes",))
    return figures


def draw(figures: Figures, path: Path) -> None:
    """Four curves: preparing time and memory over rows, speed and memory over length."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    chart, axes = pyplot.subplots(2, 2, figsize=(9, 6))
    panels = (
        ("rows", "preparing_seconds", 1.0, "seconds before the first step"),
        ("rows", "peak_resident_bytes", 2.0**30, "peak memory (GiB)"),
        ("lengths", "samples_per_second", 1.0, "samples per second"),
        ("lengths", "peak_resident_bytes", 2.0**30, "peak memory (GiB)"),
    )
    for place, (over, figure, unit, words) in zip(axes.flat, panels, strict=True):
        for library, colour in (("trainer", "C0"), ("pippin", "C1")):
            found = {
                int(name.split()[1]): [run[figure] / unit for run in one["rounds"] if "error" not in run]
                for name, one in figures[over].items()
                if name.startswith(library)
            }
            points = {size: statistics.median(values) for size, values in found.items() if values}
            if points:
                place.plot(list(points), list(points.values()), marker="o", color=colour, label=library)
        if figure == "peak_resident_bytes":
            place.set_ylim(0, 1.1 * place.get_ylim()[1])
        else:  # what grows in proportion is a straight line
            place.set_xscale("log", base=10 if over == "rows" else 2)
            place.set_yscale("log")
        place.set(xlabel="rows" if over == "rows" else "tokens of a row", ylabel=words)
        place.spines[["top", "right"]].set_visible(False)
        place.legend(frameon=False)
    chart.tight_layout()
    chart.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most_rows", type=int, default=ROWS[-1])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--size", default="small", choices=SIZES)
    parser.add_argument("--tokenizer", default=None, help="folder; default: the built-in model's")
    parser.add_argument("--results", type=Path, default=recording.RESULTS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        model = fresh(make_bert, folder / "model", arguments.size, arguments.tokenizer)["model"]
        figures = {
            "rows": by_rows(model, folder, arguments.most_rows, arguments.rounds),
            "lengths": by_length(model, folder, arguments.rounds),
        }
    draw(figures, arguments.results / "growth.png")
    print(recording.record("growth", {"size": arguments.size, **figures}, arguments.results))


if __name__ == "__main__":
    main()
