"""Pippin without a flag beside the classic recipe and a small search, on many data sets.

    python benchmarks/check_defaults.py DATA_FOLDER MODEL_FOLDER --processes 12

Three ways: `automatic` names no hyper-parameter (a tenth of the rows is held out, the best model kept), `classic` is
learning rate 2e-5, 3 epochs, batch 32, and `searched` is the best of eight settings by test score, which no user could
pick: an upper bound. Mean test score over the seeds.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
from pathlib import Path

from many_runs import names_in, run_all
from recording import RESULTS, record

SEEDS = (1, 2, 3)
CLASSIC = {
    "learning_rate": 2e-5,
    "head_learning_rate": 2e-5,
    "num_train_epochs": 3,
    "per_device_train_batch_size": 32,
    "warmup_steps": 0,
    "validation_split": 0,
}


def runs_for(names: list[str]) -> list[dict]:
    runs = []
    for name, seed in itertools.product(names, SEEDS):
        runs.append({"data": name, "way": "automatic", "settings": {"seed": seed}})
        runs.append({"data": name, "way": "classic", "settings": {**CLASSIC, "seed": seed}})
    for name, rate, times, epochs in itertools.product(names, (1e-4, 2e-4), (1, 16), (4, 10)):
        settings = {
            "learning_rate": rate,
            "head_learning_rate": rate * times,
            "num_train_epochs": epochs,
            "per_device_train_batch_size": 32,
            "validation_split": 0,
            "seed": 1,
        }
        runs.append({"data": name, "way": f"searched {rate} {times} {epochs}", "settings": settings})
    return runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("model")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--only", default="")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    names = arguments.only.split(",") if arguments.only else names_in(arguments.data)
    lines = arguments.results / "check_defaults.jsonl"
    lines.unlink(missing_ok=True)
    run_all(runs_for(names), arguments.data, arguments.model, lines, arguments.processes, arguments.seconds)
    done = [json.loads(line) for line in lines.read_text().splitlines()]
    figures = {name: _summary([run for run in done if run["data"] == name]) for name in names}
    print(f"{'data set':16} {'automatic':>10} {'classic':>10} {'searched':>10}")
    for name, summary in figures.items():
        print(
            f"{name:16} "
            + " ".join(f"{summary.get(way, float('nan')):10.4f}" for way in ("automatic", "classic", "searched"))
        )
    lines.unlink()
    print(record("check_defaults", figures, arguments.results))


def _summary(runs: list[dict]) -> dict[str, float]:
    scores: dict[str, list[float]] = {}
    for run in runs:
        score = run.get("test_accuracy", run.get("test_pearson"))
        if score is not None:
            scores.setdefault(run["way"], []).append(score)
    means = {way: round(statistics.mean(values), 4) for way, values in scores.items()}
    searched = [value for way, value in means.items() if way.startswith("searched")]
    plain = {way: value for way, value in means.items() if not way.startswith("searched")}
    return plain | ({"searched": max(searched)} if searched else {})


if __name__ == "__main__":
    main()
