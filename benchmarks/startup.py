"""CPU time of the help, in fresh processes: the median must stay under 0.3 s.

python benchmarks/startup.py
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys

from recording import record

LIMIT = 0.3
COMMANDS = (["--help"], ["train", "--help"], ["predict", "--help"])


def cpu_seconds(arguments: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "pippin", *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    figures = {}
    for arguments in COMMANDS:
        times = [cpu_seconds(arguments) for _ in range(9)]
        name = "pippin " + " ".join(arguments)
        figures[name] = {"median": round(statistics.median(times), 3), "worst": round(max(times), 3)}
        print(f"{name:24} median {figures[name]['median']:.3f} s of CPU, worst {figures[name]['worst']:.3f}")
    print(record("startup", figures))
    return int(any(figure["median"] > LIMIT for figure in figures.values()))


if __name__ == "__main__":
    raise SystemExit(main())
