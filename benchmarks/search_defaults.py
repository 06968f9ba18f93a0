"""Search for hyper-parameters that serve many data sets: the experiment behind docs/defaults.md.

Every run is a plain `pippin.train` on a training file, scored on a held-back test file after every epoch.
    python benchmarks/search_defaults.py DATA_FOLDER MODEL_FOLDER RESULTS.jsonl --processes 12
DATA_FOLDER holds NAME_train.jsonl and NAME_test.jsonl.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LEARNING_RATES = (1e-4, 2e-4, 4e-4, 8e-4)
STEPS = (300, 600, 1200, 2400)
BATCHES = (16, 32)


def grid(names: list[str], seeds: list[int]) -> list[dict]:
    """All runs, the short ones first so that a cut search still covers every data set."""
    runs = [
        {"data": name, "learning_rate": rate, "max_steps": steps, "batch": batch, "seed": seed}
        for name, rate, steps, batch, seed in itertools.product(names, LEARNING_RATES, STEPS, BATCHES, seeds)
    ]
    return sorted(runs, key=lambda run: (run["seed"], run["max_steps"]))


def work(folder: Path, model: str, results: Path, runs: list[dict], seconds: float) -> None:
    """Do some runs, one after another, and append a line for each."""
    import pippin

    end = time.monotonic() + seconds
    for run in runs:
        if time.monotonic() > end:
            return
        train, test = folder / f"{run['data']}_train.jsonl", _test_file(folder, run["data"])
        with tempfile.TemporaryDirectory() as out:
            start = time.monotonic()
            try:
                report = pippin.train(
                    train,
                    validation_file=str(test),
                    model_name_or_path=model,
                    output_dir=out + "/run",
                    learning_rate=run["learning_rate"],
                    max_steps=run["max_steps"],
                    per_device_train_batch_size=run["batch"],
                    seed=run["seed"],
                    data_seed=run["seed"],
                    eval_strategy="no",
                    load_best_model_at_end=False,
                    do_regression=run["data"].startswith("stsb"),
                    quiet=True,
                    **run.get("extra", {}),
                )
            except pippin.PippinError as error:
                line = {**run, "error": str(error)}
            else:
                line = {**run, **report.results, "seconds": round(time.monotonic() - start, 1)}
        with results.open("a") as file:
            file.write(json.dumps(line) + "\n")


def _test_file(folder: Path, name: str) -> Path:
    """NAME_test.jsonl, or the one shared by all sizes of a set (sst500 and sst2000 use sst_test)."""
    own = folder / f"{name}_test.jsonl"
    return own if own.exists() else folder / f"{name.rstrip('0123456789')}_test.jsonl"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("model")
    parser.add_argument("results", type=Path)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=500)
    parser.add_argument("--only", default="")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--runs", type=Path, help="a JSON list of runs instead of the grid")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    names = (
        arguments.only.split(",")
        if arguments.only
        else sorted(path.name.removesuffix("_train.jsonl") for path in arguments.data.glob("*_train.jsonl"))
    )
    runs = (
        json.loads(arguments.runs.read_text())
        if arguments.runs
        else grid(names, [int(s) for s in arguments.seeds.split(",")])
    )
    if arguments.part:
        part, parts = map(int, arguments.part.split("/"))
        import torch

        torch.set_num_threads(1)
        work(arguments.data, arguments.model, arguments.results, runs[part::parts], arguments.seconds)
        return
    children = [
        subprocess.Popen([sys.executable, *sys.argv, "--part", f"{part}/{arguments.processes}"])
        for part in range(arguments.processes)
    ]
    for child in children:
        child.wait()
    lines = arguments.results.read_text().splitlines()
    print(f"{len(lines)} of {len(runs)} runs done")


if __name__ == "__main__":
    main()
