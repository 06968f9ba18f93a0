"""Pippin without a flag beside the classic recipe and a small search, on many data sets.

    python benchmarks/check_defaults.py DATA_FOLDER MODEL_FOLDER --processes 12

`automatic` names no hyper-parameter: a tenth of the rows is held out and the last model kept; two variants keep the
best model, or hold nothing out. `classic` is learning rate 2e-5, 3 epochs, batch 32. Each is the mean test score over
three seeds. `searched` is the best of eight settings by test score on one seed: no user could pick it, and luck helps.
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
#: The main metric of taggers, classifiers and regressors: the first that a run has.
MAIN = ("test_f1", "test_accuracy", "test_pearson")
WAYS: dict[str, dict] = {
    "automatic": {},
    "automatic, best kept": {"load_best_model_at_end": True},
    "automatic, nothing held out": {"validation_split": 0},
    "classic": {
        "learning_rate": 2e-5,
        "num_train_epochs": 3,
        "per_device_train_batch_size": 32,
        "warmup_steps": 0,
        "validation_split": 0,
    },
}


def runs_for(names: list[str], ways: list[str]) -> list[dict]:
    runs = [
        {"data": name, "way": way, "settings": {**WAYS[way], "seed": seed}}
        for name, seed, way in itertools.product(names, SEEDS, ways)
    ]
    for name, rate, times, epochs in itertools.product(names, (1e-4, 2e-4), (1, 16), (4, 10)):
        settings = {
            "learning_rate": rate,
            "head_learning_rate": rate * times,
            "num_train_epochs": epochs,
            "per_device_train_batch_size": 32,
            "validation_split": 0,
            "seed": 1,
        }
        runs.append({"data": name, "way": "searched", "settings": settings})
    return runs


def summary(runs: list[dict]) -> dict[str, float]:
    """The score of each way; the best one for the search. Failed runs stop the show: a hole would flatter."""
    failed = [run["error"] for run in runs if "error" in run]
    if failed:
        raise SystemExit(f"{runs[0]['data']}: {len(failed)} runs failed, the first with: {failed[0]}")
    scores: dict[str, list[float]] = {}
    for run in runs:
        scores.setdefault(run["way"], []).append(next(run[name] for name in MAIN if name in run))
    judge = {"searched": max}
    return {way: round(judge.get(way, statistics.mean)(values), 4) for way, values in scores.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("model")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--only", default="", help="data sets, separated by commas")
    parser.add_argument("--ways", default=",".join(WAYS), help="beside the search")
    parser.add_argument("--name", default="check_defaults")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    names = arguments.only.split(",") if arguments.only else names_in(arguments.data)
    ways = arguments.ways.split(",")
    lines = arguments.results / f"{arguments.name}.jsonl"
    lines.unlink(missing_ok=True)
    run_all(runs_for(names, ways), arguments.data, arguments.model, lines, arguments.processes)
    done = [json.loads(line) for line in lines.read_text().splitlines()]
    figures = {name: summary([run for run in done if run["data"] == name]) for name in names}
    columns = [*ways, "searched"]
    print(f"{'data set':16} " + " ".join(f"{way:>28}" for way in columns))
    for name, scores in figures.items():
        print(f"{name:16} " + " ".join(f"{scores[way]:28.4f}" for way in columns))
    lines.unlink()
    print(record(arguments.name, figures, arguments.results))


if __name__ == "__main__":
    main()
