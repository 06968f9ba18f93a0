"""Kills, failing disks and damaged checkpoints: Pippin beside Hugging Face's Trainer, same model, rows and trials.

    python benchmarks/reliability.py [--kills 8] [--faults 6] [--damages 42] [--steps 30]

Both train a BERT of two layers (3.7 million parameters, dropout 0.1), save every 5 steps and keep two checkpoints;
after each accident the same command is given again, with --resume or resume_from_checkpoint=True. "Identical" means:
final weights and every logged loss equal an undisturbed run's bit for bit. Saves are far more frequent than in the
field, on purpose, so that the share of resumes after kills at random moments says little; the others do.
"""

from __future__ import annotations

import os

# Before torch is imported: forked children need a parent with one thread.
os.environ.update(OMP_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false", HF_HUB_OFFLINE="1", TQDM_DISABLE="1")

import argparse
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torture_faults
from recording import RESULTS, record
from torture_bench import Bench, Tally
from torture_child import preload
from torture_damage import all_cases, damaged
from torture_disk import faults_at_calls, filled_while_saving
from torture_job import PippinJob, make_inputs
from torture_kills import killed_at_random, killed_inside_saves
from torture_trainer import TrainerJob

#: Columns of the table: heading and outcome.
COLUMNS = {
    "trials": "trials",
    "resumed": "resumed and finished",
    "identical": "bit-identical",
    "plain words": "in plain words",
    "fell back": "said so, went on from an older one or anew, identical",
    "unnoticed": "unnoticed, same result",
    "silent change": "silent, another result",
}


def trials(bench: Bench, kills: int, faults: int, damages: int) -> dict[str, Callable[[], Tally | None]]:
    cases = all_cases(bench.tool.damageable)
    chosen = [cases[place - 1] for place in torture_faults.spread(len(cases), damages)]
    return {
        "killed at a random moment": partial(killed_at_random, bench, kills),
        "killed inside a save": partial(killed_inside_saves, bench, kills),
        "disk full at a write call": partial(_with_faults, bench, "full", faults),
        "disk error at a write call": partial(_with_faults, bench, "broken", faults),
        "disk filled while saving": partial(filled_while_saving, bench, faults, 512),
        "newest checkpoint damaged": partial(damaged, bench, chosen),
    }


def _with_faults(bench: Bench, fault: str, count: int) -> Tally | None:
    return faults_at_calls(bench, fault, count) if torture_faults.available() else None


def row(kind: str, tool: str, tally: Tally | None) -> str:
    if tally is None:
        return f"{kind:28}{tool:9} not tested here: it needs the right to mount, or a C compiler on Linux"
    counts = {"trials": tally.trials, **tally.outcomes}
    return f"{kind:28}{tool:9}" + "".join(f"{counts.get(name, '-'):>{len(head) + 2}}" for head, name in COLUMNS.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=8, help="of each of the two kinds")
    parser.add_argument("--faults", type=int, default=6, help="of each of the three kinds")
    parser.add_argument("--damages", type=int, default=42)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--folder", type=Path, default=None, help="where trials run; default: a temporary folder")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="reliability-"))
    folder.mkdir(parents=True, exist_ok=True)
    torture_faults.restart_with_faults(folder)

    model, rows = make_inputs(folder, rows=320, hidden=192, vocabulary=16000)
    preload(["transformers.trainer"])
    tools = [job(model, rows, arguments.steps, save_steps=5) for job in (TrainerJob, PippinJob)]
    benches = [Bench(tool, folder) for tool in tools]
    plans = [trials(bench, arguments.kills, arguments.faults, arguments.damages) for bench in benches]
    print(" " * 37 + "".join(f"  {head}" for head in COLUMNS))
    figures: dict[str, dict] = {}
    for kind in plans[0]:
        figures[kind] = {}
        for bench, plan in zip(benches, plans, strict=True):
            tally = plan[kind]()
            figures[kind][bench.tool.name] = tally and tally.as_json()
            print(row(kind, bench.tool.name, tally), flush=True)
    print(record("reliability", figures, arguments.results))


if __name__ == "__main__":
    main()
