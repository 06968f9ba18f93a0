"""What a group costs: the same rows and the same number of threads in one process, and in two that share each step.

    python benchmarks/processes/overhead.py [--rounds 3] [--steps 60]

Ways run one after the other in every round; the figure is the time of training, as the run itself reports it. Run it
on a machine that has nothing else to do.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
from pathlib import Path

from job import TORCHRUN, make_inputs, record, start, words


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=60)
    asked = parser.parse_args()
    cores = os.cpu_count() or 2
    both = [*TORCHRUN, "--nproc_per_node", "2"]
    python = TORCHRUN[:1]
    ways = {
        f"one process, {cores} threads": (python, cores, ()),
        "two processes, fast": (both, cores // 2, ("--reduce", "fast")),
        "two processes, exact": (both, cores // 2, ("--reduce", "exact")),
        "one process of a group, fast": ([*TORCHRUN, "--nproc_per_node", "1"], cores, ("--reduce", "fast")),
        f"one process, {cores} threads, exact": (python, cores, ("--reduce", "exact")),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_inputs(folder, rows=1200, width=384, layers=6)
        for turn in range(asked.rounds):
            for way, (launcher, threads, flags) in ways.items():
                run = f"{len(seconds[way])}-{len(way)}-{turn}"
                settings = ("--max_steps", asked.steps, "--batch_size", 32, "--eval_strategy", "no", "--quiet", *flags)
                job = start([*launcher, *words(folder, run, *settings)], threads)
                out, _ = job.communicate()
                assert job.returncode == 0, out
                results = json.loads((folder / run / "all_results.json").read_text())
                seconds[way].append(results["train_runtime"])
                print(f"{way}: {seconds[way][-1]:.1f} s", flush=True)
    base = seconds[next(iter(ways))]
    ratios = {
        way: statistics.median(each / one for each, one in zip(found, base, strict=True))
        for way, found in seconds.items()
    }
    record("processes_overhead", {"seconds": seconds, "times_one_process": ratios, "steps": asked.steps})
    for way, ratio in ratios.items():
        print(f"{ratio:6.3f}  {way}")


if __name__ == "__main__":
    main()
