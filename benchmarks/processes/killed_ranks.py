"""A random process of a group is killed at a random moment, again and again; torchrun starts all of them anew.

    python benchmarks/processes/killed_ranks.py [--kills 50] [--processes 2]

Each run must end by itself with the weights of an undisturbed one, bit for bit. Exits with 1 where one does not.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from job import TORCHRUN, make_inputs, record, start, weights_of, words

#: Saved often, so that most kills come after a checkpoint, and some while one is written.
FLAGS = ("--max_steps", 40, "--batch_size", 12, "--save_steps", 4, "--eval_strategy", "steps", "--eval_steps", 10,
         "--logging_steps", 1)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    draw, outcomes = random.Random(0), {"same weights": 0, "before the first checkpoint": 0, "first process": 0}
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_inputs(folder)
        launcher = [*TORCHRUN, "--nproc_per_node", str(asked.processes), "--max_restarts", "3"]
        whole = start([*launcher, *words(folder, "whole", *FLAGS)])
        began = time.monotonic()
        out, _ = whole.communicate()
        seconds = time.monotonic() - began
        assert whole.returncode == 0, out
        wanted, kills = weights_of(folder / "whole"), 0
        while kills < asked.kills:
            run = folder / f"run{kills}"
            job = start([*launcher, *words(folder, run.name, *FLAGS)])
            try:
                job.wait(draw.uniform(1.0, seconds))
            except subprocess.TimeoutExpired:
                ranks = _children(job.pid)
                if ranks:
                    place = draw.randrange(len(ranks))
                    outcomes["before the first checkpoint"] += not list(run.glob("checkpoints/step-*"))
                    outcomes["first process"] += place == 0
                    os.kill(ranks[place], signal.SIGKILL)
                    kills += 1
            out, _ = job.communicate()
            if job.returncode or weights_of(run) != wanted:
                failures.append(f"kill {kills}: exit code {job.returncode}, {out.splitlines()[-1:]}")
            else:
                outcomes["same weights"] += 1
            print(f"{kills} kills, {len(failures)} failures", flush=True)
    outcomes["same weights"] -= max(outcomes["same weights"] + len(failures) - kills, 0)  # runs that ended before
    figures = {"kills": kills, "processes": asked.processes, **outcomes, "failures": failures}
    record(f"killed_ranks_{asked.processes}", figures)
    print(figures)
    return 1 if failures else 0


def _children(pid: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return sorted(map(int, found.stdout.split()))


if __name__ == "__main__":
    sys.exit(main())
