"""Many `pippin.train` runs over a folder of data sets, several processes at a time; one JSON line a run."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any


def names_in(folder: Path) -> list[str]:
    """The data sets of a folder: every NAME_train.jsonl."""
    return sorted(path.name.removesuffix("_train.jsonl") for path in folder.glob("*_train.jsonl"))


def run_all(runs: list[dict[str, Any]], folder: Path, model: str, results: Path, processes: int) -> None:
    """Do all runs (`{"data": NAME, "settings": {…}, …}`), or as many as the time allows."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(runs, file)
        file.flush()
        command = [sys.executable, __file__, file.name, str(folder), model, str(results)]
        children = [subprocess.Popen([*command, f"{part}/{processes}"]) for part in range(processes)]
        for child in children:
            child.wait()
    print(f"{len(results.read_text().splitlines())} of {len(runs)} runs done")


def test_file(folder: Path, name: str) -> Path:
    """NAME_test.jsonl, or the one shared by all sizes of a set (sst500 and sst2000 use sst_test)."""
    own = folder / f"{name}_test.jsonl"
    return own if own.exists() else folder / f"{name.rstrip('0123456789')}_test.jsonl"


def _work(runs: list[dict[str, Any]], folder: Path, model: str, results: Path) -> None:
    import torch

    import pippin

    torch.set_num_threads(1)
    for run in runs:
        with tempfile.TemporaryDirectory() as out:
            start = time.monotonic()
            try:
                report = pippin.train(
                    folder / f"{run['data']}_train.jsonl",
                    test_file=str(test_file(folder, run["data"])),
                    model_name_or_path=model,
                    output_dir=out + "/run",
                    do_regression=run["data"].startswith("stsb"),
                    quiet=True,
                    **run["settings"],
                )
                line = {**run, **report.results, "seconds": round(time.monotonic() - start, 1)}
            except pippin.PippinError as error:
                line = {**run, "error": str(error)}
        with results.open("a") as file:
            file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    runs_file, folder, model, results, part = sys.argv[1:]
    place, parts = map(int, part.split("/"))
    _work(json.loads(Path(runs_file).read_text())[place::parts], Path(folder), model, Path(results))
