"""BERT-base trained whole at an effective batch of 32 x 128 tokens within budgets of device memory: what the plan does,
the most that was held, and the speed beside that of a device with room.

    EMULATED_MPS="memory=64" python benchmarks/speed/memory_budgets.py [--steps 4] [--size bert-base]
    python benchmarks/speed/memory_budgets.py --budgets 2,3,4 [--flags '{"bf16": false}']      on an NVIDIA GPU

The budget is a real one: torch's allocator (or the emulated device's) refuses to hold more. Without dropout (--dropout
0) the losses of all budgets must be the same but for the order in which numbers are added; with it, micro-batches draw
other masks. Speeds on the emulated device are those of the CPU beneath it.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import rows
import with_pippin
from comparing import Way, compared, fresh, interleaved, recording, show
from job import Job
from model_folders import SIZES, make_bert

CHOICES = ("device", "precision", "micro_batch", "activations", "updates", "step", "needed")


def limited(budget: float | None) -> AbstractContextManager[Any]:
    """A device that holds no more gigabytes than this."""
    import torch

    if torch.cuda.is_available():
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(min(1.0, budget * 2**30 / total) if budget else 1.0)
        return nullcontext()
    import emulated_mps

    return emulated_mps.memory_limit(int(budget * 2**30)) if budget else nullcontext()


def most_held() -> int:
    """Bytes that the device's allocator took at most."""
    import torch

    if torch.cuda.is_available():
        return torch.cuda.max_memory_reserved()
    import emulated_mps

    return emulated_mps.memory().driver_peak


def train_within(job: Job, budget: float | None, flags: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "run")
        asked = {**flags, "memory_limit": budget} if budget else flags
        with limited(budget):
            figures = with_pippin.train(job, folder, **asked)
        plan = {
            name: each
            for group in json.loads((folder / "run.json").read_text(encoding="utf-8"))["plan"].values()
            for name, each in group.items()
        }
    return {**figures, "most_held_bytes": most_held(), "plan": {name: plan[name] for name in CHOICES}}


def ways_of(job: Job, budgets: list[float], flags: dict[str, Any]) -> dict[str, Way]:
    ways: dict[str, Way] = {"roomy": partial(fresh, train_within, job, None, flags)}
    return ways | {f"{budget:g} GB": partial(fresh, train_within, job, budget, flags) for budget in budgets}


def device_of(found: dict[str, list[dict[str, Any]]]) -> str:
    """The kind of device that the plans chose."""
    return str(found["roomy"][0]["plan"]["device"]["value"]).partition(":")[0]


def set_dropout(model: str, chance: float) -> None:
    file = Path(model, "config.json")
    config = json.loads(file.read_text(encoding="utf-8"))
    config |= {"hidden_dropout_prob": chance, "attention_probs_dropout_prob": chance}
    file.write_text(json.dumps(config), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budgets", default="4,3,2", help="GB, by commas")
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--size", default="bert-base", choices=SIZES)
    parser.add_argument("--tokenizer", default=None, help="folder; default: the built-in model's")
    parser.add_argument("--flags", type=json.loads, default={}, help="more settings of Pippin, as JSON")
    parser.add_argument("--results", type=Path, default=recording.RESULTS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        model = fresh(make_bert, Path(scratch, "model"), arguments.size, arguments.tokenizer)["model"]
        set_dropout(model, arguments.dropout)
        file = rows.made_up(arguments.steps * arguments.batch, arguments.tokens).write(Path(scratch, "rows.jsonl"))
        job = Job(model, file, steps=arguments.steps, batch=arguments.batch, max_length=arguments.tokens)
        budgets = [float(budget) for budget in arguments.budgets.split(",")]
        found = interleaved(ways_of(job, budgets, arguments.flags), arguments.rounds)
    speed = compared(found, ("roomy",))
    show("samples per second", speed, beside=("most_held_bytes", "loss"))
    for name, rounds in found.items():
        for choice, made in rounds[0].get("plan", {}).items():
            print(f"{name:8} {choice:12} {made['value']}: {made['reason']}")
    asked = {name: getattr(arguments, name) for name in ("size", "batch", "tokens", "steps", "dropout", "flags")}
    print(recording.record(f"memory_budgets_{device_of(found)}", {**asked, "speed": speed}, arguments.results))


if __name__ == "__main__":
    main()
