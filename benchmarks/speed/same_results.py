"""Losses of every way that Pippin runs steps, beside those of the plain loop: padded rows, plain calls, no tricks.

    python benchmarks/speed/same_results.py MRPC_FOLDER [--device cuda] [--size small] [--steps 100]

A BERT with random weights and without dropout, so that nothing is left to chance. Each way trains on the same rows in
the same order with the same seed, and every step's loss is compared. Allowed is what rounding explains: 1e-5 in fp32,
2e-2 in bf16, whose numbers have three digits.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import rows
import with_pippin
from comparing import Figures, fresh, recording
from job import Job
from model_folders import make_bert

ALLOWED = {"fp32": 1e-5, "bf16": 2e-2}
PLAIN = ({"pad_to_max_length": True}, {"plain": True})
#: Name -> flags, and the settings of modules that the way is forced with.
WAYS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "as planned": ({}, {}),
    "padded to the longest row": ({}, {"packed_attention": None}),
    "four accumulated": ({"accumulated": 4}, {}),
    "recomputed activations": ({"gradient_checkpointing": True}, {}),
    "compiled": ({}, {"compile": True}),
}


def losses(job: Job, device: str, precision: str, flags: dict[str, Any], forced: dict[str, Any]) -> Figures:
    """The loss of every step, and what the plan chose."""
    import pippin
    from pippin.commands import planning
    from pippin.engine.steps import compiled as compiling
    from pippin.machine.drivers import get_backend
    from pippin.models.facts import facts_of
    from pippin.plan import layout

    if forced.get("plain"):
        planning.facts_of = lambda *facts: replace(facts_of(*facts), family=None, no_family="the plain way")
        layout._LEAVE_ALONE = ()
    if "packed_attention" in forced:
        driver = type(get_backend(device))
        driver.traits = replace(driver.traits, packed_attention=None)
    if forced.get("compile"):
        compiling._COSTS = 0.0
    accumulated = flags.pop("accumulated", 1)
    settings = {**with_pippin.settings_of(job), "per_device_train_batch_size": job.batch // accumulated}
    with tempfile.TemporaryDirectory() as scratch:
        pippin.train(
            output_dir=scratch + "/run", quiet=True, logging_steps=1, device=device, bf16=precision == "bf16",
            train_sampling_strategy="random", gradient_accumulation_steps=accumulated, **settings, **flags,
        )  # fmt: skip
        lines = Path(scratch, "run", "events.jsonl").read_text().splitlines()
        plan = {
            name: each
            for group in json.loads(Path(scratch, "run", "run.json").read_text())["plan"].values()
            for name, each in group.items()
        }
    events = [json.loads(line) for line in lines]
    return {
        "losses": [event["loss"] for event in events if event["event"] == "log"],
        "plan": {name: plan[name]["value"] for name in ("layout", "last_layer", "step", "micro_batch", "word_vectors")},
        "compiled": any(event["event"] == "compiled" for event in events),
    }


def without_dropout(folder: str) -> None:
    path = Path(folder, "config.json")
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--size", default="small")
    parser.add_argument("--steps", type=int, default=100, help="compiled steps are judged after 80")
    parser.add_argument("--tokenizer")
    parser.add_argument("--out", type=Path, default=recording.RESULTS)
    arguments = parser.parse_args()
    figures: Figures = {}
    with tempfile.TemporaryDirectory() as scratch:
        model = fresh(make_bert, Path(scratch, "model"), arguments.size, arguments.tokenizer)["model"]
        without_dropout(model)
        train, _ = rows.mrpc(arguments.folder)
        job = Job(model, train.sample(960).write(Path(scratch, "rows.jsonl")), steps=arguments.steps, rate=1e-4)
        for precision in ("fp32", "bf16") if arguments.device != "cpu" else ("fp32",):
            run = partial(fresh, losses, job, arguments.device, precision)
            plain = run(*PLAIN)["losses"]
            for name, (flags, forced) in WAYS.items():
                if forced.get("compile") and precision != "bf16":
                    continue  # see the plan's reason
                found = run(dict(flags), forced)
                apart = max(abs(own - other) for own, other in zip(found["losses"], plain, strict=True))
                fine = apart <= ALLOWED[precision] and (found["compiled"] or not forced.get("compile"))
                figures[f"{precision}: {name}"] = {
                    "most_apart": apart, "allowed": ALLOWED[precision], "agrees": fine, "plan": found["plan"]
                }  # fmt: skip
                print(f"{'ok ' if fine else 'BAD'} {precision} {name:28} {apart:.1e}  {found['plan']}", flush=True)
            figures[f"{precision}: plain"] = {"first_loss": plain[0], "last_loss": plain[-1]}
    print(recording.record(f"same_results_{arguments.device.split(':')[0]}", figures, arguments.out))
    return int(not all(one.get("agrees", True) for one in figures.values()))


if __name__ == "__main__":
    raise SystemExit(main())
