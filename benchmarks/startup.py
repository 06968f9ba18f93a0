"""Fresh processes: CPU time of the help, and the time until the first training step is done, beside the Trainer's.

    python benchmarks/startup.py [--rounds 5]

The help's median must stay under 0.3 s, and Pippin's first step must come in at most half of the Trainer's time. Both
train the built-in model on the same 300 rows, offline. Each process is ended at the line by which it says that its
first step is done; runs alternate, so that drift hits both alike. CPU time is what to compare on a busy computer.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from recording import record

HELP_LIMIT, FIRST_STEP_LIMIT = 0.3, 0.5
HELP = (["--help"], ["train", "--help"], ["predict", "--help"])
MARK = "step 1"
ROWS = 300


def help_seconds(arguments: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "pippin", *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure_help() -> dict[str, dict[str, float]]:
    figures = {}
    for arguments in HELP:
        times = [help_seconds(arguments) for _ in range(9)]
        name = "pippin " + " ".join(arguments)
        figures[name] = {"median": round(statistics.median(times), 3), "worst": round(max(times), 3)}
        print(f"{name:24} median {figures[name]['median']:.3f} s of CPU, worst {figures[name]['worst']:.3f}")
    return figures


def write_rows(path: Path) -> None:
    draw = random.Random(0)
    words = {
        "animal": ["cat", "dog", "horse"],
        "food": ["bread", "cheese", "apple"],
        "tool": ["hammer", "saw", "drill"],
    }
    filler = "the a my your old new big small red green near under over with and of is was in on".split()
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        for number in range(ROWS):
            label = list(words)[number % 3]
            writer.writerow(
                [" ".join([*draw.choices(filler, k=draw.randint(5, 25)), draw.choice(words[label])]), label]
            )


def until_first_step(command: list[str]) -> tuple[float, float]:
    """Wall and CPU seconds of a process from its start to the line that says the first step is done."""
    surroundings = os.environ | {"HF_HUB_OFFLINE": "1", "PYTHONUNBUFFERED": "1"}
    start = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=surroundings
    )
    assert child.stdout is not None
    if not any(line.startswith(MARK) for line in child.stdout):
        raise SystemExit(f"no step was done by: {' '.join(command)}")
    wall = time.perf_counter() - start
    child.kill()
    _, _, used = os.wait4(child.pid, 0)
    child.returncode = 0  # it was waited for here
    return wall, used.ru_utime + used.ru_stime


def measure_first_step(rounds: int) -> dict[str, dict[str, float]]:
    from pippin.models.loading import resolve_model

    times: dict[str, list[tuple[float, float]]] = {"pippin": [], "trainer": []}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "rows.csv")
        write_rows(file)
        steps = ["--max_steps", "1", "--save_strategy", "no", "--per_device_train_batch_size", "16"]
        script = str(Path(__file__).with_name("first_step_with_trainer.py"))
        for turn in range(rounds + 1):
            out = f"{folder}/{turn}"
            found = {
                "pippin": until_first_step(
                    ["-m", "pippin", "train", str(file), *steps, "--output_dir", f"{out}-pippin"]
                ),
                "trainer": until_first_step([script, str(file), resolve_model(None), f"{out}-trainer"]),
            }
            if turn:  # the first round only fills the system's file cache
                for name, seconds in found.items():
                    times[name].append(seconds)
    figures: dict[str, dict[str, float]] = {name: {} for name in times}
    figures["ratio"] = {}
    for place, clock in enumerate(("wall", "cpu")):
        for name in times:
            figures[name][clock] = round(statistics.median(seconds[place] for seconds in times[name]), 2)
        ratios = [ours[place] / theirs[place] for ours, theirs in zip(times["pippin"], times["trainer"], strict=True)]
        figures["ratio"][clock] = round(statistics.median(ratios), 3)
        print(f"first step, {clock:4}: {', '.join(f'{name} {figures[name][clock]}' for name in figures)}")
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    figures = {"help": measure_help(), "first step": measure_first_step(rounds)}
    print(record("startup", figures))
    slow_help = any(figure["median"] > HELP_LIMIT for figure in figures["help"].values())
    return int(slow_help or figures["first step"]["ratio"]["cpu"] > FIRST_STEP_LIMIT)


if __name__ == "__main__":
    raise SystemExit(main())
