"""Kills, signals, failing disks, damaged checkpoints and NaN on real processes of Pippin; then the same command again.

    python benchmarks/torture.py [--kills 100] [--quick] [--only kills,disk,…] [--folder FOLDER]

Every trial is judged by the final weights and every logged loss: they must equal an uninterrupted run's bit for bit.
Exits with 1 where a single one does not. Folders of failed trials stay, under --folder.
"""

from __future__ import annotations

import os

# Before torch is imported: forked children need a parent with one thread.
os.environ.update(OMP_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false", HF_HUB_OFFLINE="1", TQDM_DISABLE="1")

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import torture_faults
from recording import RESULTS, record
from torture_bench import Bench, Tally
from torture_bits import bits_of_a_finished_run, bits_of_an_unfinished_run, bits_of_caches
from torture_damage import all_cases, damaged, not_finite
from torture_disk import faults_at_calls, filled_while_saving, too_small_disks
from torture_hostile import hostile_folders
from torture_in_place import killed_in_place
from torture_job import PippinJob, make_inputs
from torture_kills import (
    killed_at_calls,
    killed_at_random,
    killed_in_a_chain,
    killed_inside_saves,
    killed_while_resuming,
    stopped_by_signals,
)
from torture_settings import SETTINGS, killed_under_settings

Trial = Callable[[], Tally | None]


def full(bench: Bench, kills: int) -> Iterator[tuple[str, Trial]]:
    """All trials, by name."""
    cases = all_cases(bench.tool.damageable)
    yield "kills at random moments", partial(killed_at_random, bench, kills // 2)
    yield "kills inside saves", partial(killed_inside_saves, bench, kills - kills // 2)
    yield "kills at chosen write calls", partial(killed_at_calls, bench, kills)
    yield "kills at the first write calls of a resume", partial(killed_while_resuming, bench, kills // 2)
    yield "kills of real processes", partial(_with_real_processes, bench, max(2, kills // 20))
    yield "kill chain", partial(killed_in_a_chain, bench, 10)
    yield "kills under combined settings", partial(killed_under_settings, bench, max(2, kills // 10))
    yield "kills while training in place, at a write call", partial(killed_in_place, bench, kills // 2)
    yield "signals", partial(stopped_by_signals, bench, 5)
    yield "disk full at a write call", partial(faults_at_calls, bench, "full", kills // 2)
    yield "disk error at a write call", partial(faults_at_calls, bench, "broken", kills // 2)
    yield "short write at a write call", partial(faults_at_calls, bench, "short", kills // 5)
    yield "disk filled while saving", partial(filled_while_saving, bench, kills // 10, 64)
    yield "disks that are too small", partial(too_small_disks, bench, [1, 2, 4, 6, 8, 10, 12, 16, 20, 24])
    yield "newest checkpoint damaged", partial(damaged, bench, cases)
    yield "both checkpoints damaged", partial(damaged, bench, cases[4::6], both=True)
    yield "single bits of a finished run", partial(bits_of_a_finished_run, bench, kills // 5)
    yield "single bits of an unfinished run", partial(bits_of_an_unfinished_run, bench, kills // 10)
    yield "single bits of caches", partial(bits_of_caches, bench, kills // 10)
    yield "hostile folders", partial(hostile_folders, bench)
    yield "numbers not finite", partial(not_finite, bench)


def quick(bench: Bench) -> Iterator[tuple[str, Trial]]:
    """A few of each, for the tests."""
    cases = all_cases(bench.tool.damageable)
    yield "kills at random moments", partial(killed_at_random, bench, 2)
    yield "kills inside saves", partial(killed_inside_saves, bench, 4)
    yield "kills at chosen write calls", partial(killed_at_calls, bench, 2)
    yield "kill chain", partial(killed_in_a_chain, bench, 3)
    yield "signals", partial(stopped_by_signals, bench, 1)
    yield "disk full at a write call", partial(faults_at_calls, bench, "full", 4)
    yield "disk error at a write call", partial(faults_at_calls, bench, "broken", 3)
    # One step further in every file: each file and each damage is met.
    diagonal = [cases[6 * file + (file + shift) % 6] for shift in (0, 4) for file in range(7)]
    yield "newest checkpoint damaged", partial(damaged, bench, diagonal[:11])
    yield "both checkpoints damaged", partial(damaged, bench, [("model.safetensors", "bit flip")], both=True)
    yield "kills under combined settings", partial(killed_under_settings, bench, 2, [*SETTINGS][:1])
    yield "kills while training in place, at a write call", partial(killed_in_place, bench, 4)
    yield "numbers not finite", partial(not_finite, bench)


def _with_real_processes(bench: Bench, count: int) -> Tally:
    """Programs started anew, with all their imports, rather than forks of this one."""
    assert isinstance(bench.tool, PippinJob)
    slow = Bench(replace(bench.tool, name="process", forked=False), bench.folder)
    return killed_inside_saves(slow, count)


def table(tallies: dict[str, Tally | None]) -> str:
    lines = []
    for name, tally in tallies.items():
        if tally is None:
            lines.append(f"{name:42} not tested here: it needs the right to mount, or a C compiler on Linux")
            continue
        counts = " · ".join(f"{outcome} {count}" for outcome, count in tally.outcomes.items())
        lines.append(f"{name:42} {tally.trials:4} · {counts}")
        lines += [f"    FAILED {failure}" for failure in tally.failures]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--quick", action="store_true", help="a few of each kind, under half a minute")
    parser.add_argument("--only", default="", help="parts of names, as in `chain,damaged`")
    parser.add_argument("--folder", type=Path, default=None, help="where trials run; default: a temporary folder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the counts here instead of recording them")
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="torture-"))
    folder.mkdir(parents=True, exist_ok=True)
    torture_faults.restart_with_faults(folder)

    steps, layers = (8, 1) if arguments.quick else (60, 2)
    model, rows = make_inputs(folder, rows=120, hidden=32, layers=layers)
    bench = Bench(PippinJob(model, rows, steps, save_steps=2), folder, arguments.seed)
    print(f"an undisturbed run takes {bench.seconds:.2f} s, a save {1000 * bench.save_seconds:.0f} ms; in {folder}")
    tallies: dict[str, Tally | None] = {}
    for name, trial in quick(bench) if arguments.quick else full(bench, arguments.kills):
        if arguments.only and not any(part in name for part in arguments.only.split(",")):
            continue
        began = time.monotonic()
        needs_faults = "write call" in name
        tallies[name] = trial() if torture_faults.available() or not needs_faults else None
        print(table({name: tallies[name]}), f"({time.monotonic() - began:.0f} s)", flush=True)
    figures = {name: tally and tally.as_json() for name, tally in tallies.items()}
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2))
    elif not arguments.only:
        print(record("torture", figures, RESULTS))
    return int(any(tally.failures for tally in tallies.values() if tally))


if __name__ == "__main__":
    raise SystemExit(main())
