"""The estimate of a step's time on a Mac beside published runs of BERT-base: four to fit its two shares to, three to
see how far it is off. None of these runs is ours.

    python benchmarks/preflight/published_speed.py

The runs trained bert-base-cased in fp32 for 100 steps with transformers and PyTorch's Apple GPU backend (published by
L. Di Liello as pytorch-apple-silicon-benchmarks). Their work is traced on paper here. Every second run of the list is
fitted, by least squares of the logarithm over a grid. Runs with torch 1.13 were slower, by a third factor, which the
product does not use: it takes torch 2.5 and newer.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import math
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[1] / "speed")]
recording, made_up_rows, folders = (importlib.import_module(name) for name in ("recording", "rows", "model_folders"))


class Run(NamedTuple):
    chip: str
    cores: int
    torch: str
    rows: int
    tokens: int
    seconds: float
    """Of 100 steps."""


RUNS = (
    Run("m1-max", 32, "1.13", 64, 128, 177),
    Run("m1-max", 32, "1.13", 16, 128, 63),
    Run("m1-max", 32, "1.13", 16, 512, 568),
    Run("m2-ultra", 60, "2.2", 64, 128, 49),
    Run("m3-pro", 14, "2.2", 64, 128, 156),
    Run("m3-max", 40, "2.2", 64, 128, 73),
    Run("m3-max", 40, "2.2", 16, 512, 84),
)
SLOWER = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0]
#: Products alone were published to reach three quarters of a chip's arithmetic (arXiv 2502.05317).
SHARES = [round(0.02 * step, 2) for step in range(3, 51)]
ARITHMETIC = [share for share in SHARES if share <= 0.76]


def traced(rows: int, tokens: int, scratch: Path) -> Any:
    """The work of a step as transformers does it: every token in every layer, every word vector trained."""
    from transformers import AutoTokenizer, BertConfig

    from pippin.commands.planning import plan_job
    from pippin.commands.preflight.duration import mean_step
    from pippin.commands.preflight.memory import forecast
    from pippin.commands.preflight.target import some_mac
    from pippin.machine.probe import probe
    from pippin.plan.layout import ALL_TOKENS
    from pippin.plan.plan import Choice
    from pippin.recipe import Recipe
    from pippin.report.terminal import Terminal

    BertConfig(vocab_size=28996).save_pretrained(scratch / "model")
    AutoTokenizer.from_pretrained(folders.builtin_model()).save_pretrained(scratch / "model")
    file = made_up_rows.made_up(2 * rows, tokens - 2).write(scratch / "rows.jsonl")
    mac = some_mac("m3-ultra", probe(), memory=512)
    recipe = Recipe(
        do_train=True, train_file=str(file), text_column=("text",), label_column="label", max_seq_length=tokens,
        model_name_or_path=str(scratch / "model"), per_device_train_batch_size=rows, max_steps=1, weight_decay=0.01,
    )  # fmt: skip
    job = plan_job(recipe, Terminal(quiet=True), mac.machine, needs_weights=False)
    plain = job.plan.changed(last_layer=Choice(ALL_TOKENS, "as transformers does"))
    return mean_step(forecast(replace(job, plan=plain)))


def main() -> None:
    from pippin.commands.preflight import duration
    from pippin.machine.chips import find_chip

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=recording.RESULTS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        work = {(run.rows, run.tokens): None for run in RUNS}
        work = {shape: traced(*shape, Path(scratch)) for shape in work}

    def ratio(run: Run, arithmetic: float, bandwidth: float, old: float) -> float:
        """Estimate by published time."""
        duration.SHARE_OF_ARITHMETIC, duration.SHARE_OF_BANDWIDTH = arithmetic, bandwidth
        chip = find_chip(run.chip).with_cores(run.cores)
        seconds = 100 * duration.seconds_of(chip, work[run.rows, run.tokens])
        return seconds * (old if run.torch.startswith("1.") else 1.0) / run.seconds

    in_use = duration.SHARE_OF_ARITHMETIC, duration.SHARE_OF_BANDWIDTH
    fitted = min(
        itertools.product(ARITHMETIC, SHARES, SLOWER),
        key=lambda factors: sum(math.log(ratio(run, *factors)) ** 2 for run in RUNS[::2]),
    )
    figures: dict[str, Any] = {"fitted": fitted, "in_use": in_use, "runs": []}
    for place, run in enumerate(RUNS):
        found = ratio(run, *fitted)
        used = "fitted" if place % 2 == 0 else "held out"
        figures["runs"].append({**run._asdict(), "estimate_by_published": round(found, 3), "role": used})
        print(f"{run.chip:9} {run.cores:3} cores  {run.rows:3} x {run.tokens:3}  {run.seconds:5.0f} s published, "
              f"estimate {found:4.0%} of it  ({used})")  # fmt: skip
    print(f"shares of arithmetic and bandwidth, slowness of torch 1.13: {fitted} fitted; {in_use} in use")
    print(recording.record("published_speed", figures, arguments.results))


if __name__ == "__main__":
    main()
