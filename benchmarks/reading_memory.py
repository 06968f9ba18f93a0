"""Memory that `pippin train` takes before its first step, beside the size of the file that it reads.

python benchmarks/reading_memory.py --megabytes 25 100 --words 0 100 1000

Each file is read by two child processes of their own: one that reads and checks the rows, and one that goes on to the
plan, with the rows as tokens. What counts is the largest resident memory of a child, less what it had after planning
the built-in questions, when all modules are loaded. Texts are short questions (the ones of predict_stream.py) or, with
--words, of so many words; classes are three; an extra column of numbers is not used, as in most files.
"""

from __future__ import annotations

import argparse
import csv
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from itertools import islice, product
from pathlib import Path
from typing import Any

from predict_stream import questions
from recording import record

STAGES = ("rows", "tokens")


def write_file(path: Path, megabytes: int, words: int) -> int:
    """Rows up to so many megabytes; returns their number. Most texts stand once."""
    rows, asked = 0, questions()
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "label"])
        while file.tell() < megabytes << 20:
            for text, label in islice(asked, 1000):
                rows += 1
                longer = " ".join((text.split() * (1 + words // 6))[:words]) if words else text
                writer.writerow([rows, f"{longer} {rows}", label])
    return rows


def child(stage: str, path: str, answer: Any) -> None:
    """One stage, in a process of its own."""
    os.environ["PIPPIN_CACHE"] = tempfile.mkdtemp()
    from pippin.machine.drivers import prepare_environment
    from pippin.recipe import Recipe
    from pippin.tasks.sequence.dataset import prepare
    from pippin.tasks.sequence.sources import find_source

    prepare_environment()
    from pippin.commands.planning import plan_job
    from pippin.report.terminal import Terminal

    plan_job(Recipe(use_cpu=True), Terminal(quiet=True))
    before, start = peak(), time.perf_counter()
    recipe = Recipe(data=path, use_cpu=True)
    if stage == "rows":
        prepare(find_source(recipe), recipe)
    else:
        plan_job(recipe, Terminal(quiet=True))
    answer.put((time.perf_counter() - start, peak() - before))


def peak() -> float:
    """The largest resident memory of this process, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def measured(stage: str, path: str) -> tuple[float, float]:
    """Seconds and MiB of a stage."""
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    process = context.Process(target=child, args=(stage, path, answer))
    process.start()
    seconds, taken = answer.get(timeout=3600)
    process.join()
    return seconds, taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, nargs="+", default=[25, 50, 100])
    parser.add_argument("--words", type=int, nargs="+", default=[0], help="0: short questions")
    parser.add_argument("--record", action="store_true")
    arguments = parser.parse_args()
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        for words, megabytes in product(arguments.words, arguments.megabytes):
            path = Path(folder, f"rows{megabytes}.csv")
            rows = write_file(path, megabytes, words)
            line: dict[str, Any] = {"megabytes": megabytes, "rows": rows, "words": words or "6 to 30"}
            for stage in STAGES:
                seconds, taken = measured(stage, str(path))
                line |= {
                    f"{stage}_seconds": round(seconds, 1),
                    f"{stage}_mib": round(taken),
                    f"{stage}_times_the_file": round(taken / megabytes, 1),
                }
            print(line, flush=True)
            figures.append(line)
            path.unlink()
    if arguments.record:
        print(record("reading_memory", figures))


if __name__ == "__main__":
    main()
