"""Search for hyper-parameters that serve many data sets: the experiment behind docs/defaults.md.

    python benchmarks/search_defaults.py DATA_FOLDER MODEL_FOLDER RESULTS.jsonl --processes 12

DATA_FOLDER holds NAME_train.jsonl and NAME_test.jsonl. Every run trains on all training rows, keeps the last model, and
is scored on the test rows.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

from many_runs import names_in, run_all

#: What is tried, unless the command line says otherwise.
GRID = {
    "rates": (5e-5, 1e-4, 2e-4, 4e-4),
    "head_times": (1, 4, 16),
    "steps": (150, 300, 600, 1200),
    "batches": (16, 32),
    "seeds": (1, 2),
}


def grid(names: list[str], tried: dict[str, tuple[float, ...]]) -> list[dict]:
    """All runs, the long ones first so that no process is left alone with one at the end."""
    runs = []
    for name, rate, times, steps, batch, seed in itertools.product(names, *tried.values()):
        settings = {
            "learning_rate": rate,
            "head_learning_rate": min(1.0, rate * times),
            "max_steps": int(steps),
            "per_device_train_batch_size": int(batch),
            "seed": int(seed),
            "validation_split": 0,
        }
        runs.append({"data": name, "settings": settings})
    return sorted(runs, key=lambda run: -run["settings"]["max_steps"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("model")
    parser.add_argument("results", type=Path)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--only", default="", help="data sets, separated by commas")
    for name, values in GRID.items():
        parser.add_argument(f"--{name}", type=float, nargs="+", default=values)
    arguments = parser.parse_args()
    tried = {name: tuple(getattr(arguments, name)) for name in GRID}
    names = arguments.only.split(",") if arguments.only else names_in(arguments.data)
    run_all(grid(names, tried), arguments.data, arguments.model, arguments.results, arguments.processes)


if __name__ == "__main__":
    main()
