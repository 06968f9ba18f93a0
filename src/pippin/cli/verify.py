"""`pippin verify`: does the device give the CPU's results for this job?"""

from __future__ import annotations

import json

from pippin.cli.train import read_command
from pippin.machine.drivers import prepare_environment

HELP = """
Usage: pippin verify [FILE|FOLDER] [--flag value ...] [--json]

Takes the words of `pippin train`, and instead of training runs the model on a few of the rows, once on the CPU in
fp32 and once on the device that training would use: logits with and without gradients, loss, the gradient of every
parameter, the weights after one optimiser step, a row alone and beside a longer one, and all of it a second time; for
models that look back, that no token sees a later one; for models with a window, rows that are padded beyond it. Dropout
is off, and labels are others than the rows have, so that a model that knows them has gradients to compare. What may
differ follows from the rounding of the precision; NaN is always a difference.

Where something differs by more, the model is walked through, and the first module is named that is wrong alone, given
what the CPU's was given.

  pippin verify                                  the built-in questions with the built-in model
  pippin verify reviews.csv --bf16               your rows and model, in the precision that you will train in
  pippin verify --json > verify.json             for a bug report

Exit code 0 when all agrees, 1 when something does not, 2 when it cannot be compared. Nothing is written, unless the
device fails: then a text to report it with.
"""


def run(arguments: list[str]) -> int:
    """Run the command; returns the exit code."""
    if any(word in ("-h", "--help") for word in arguments):
        print(HELP.strip())
        return 0
    as_json = "--json" in arguments
    reading = read_command([word for word in arguments if word != "--json"])
    prepare_environment(reading.recipe.mps_fallback == "on")
    from pippin.commands.failures.explained import explained, write_here
    from pippin.commands.planning import plan_job
    from pippin.commands.verify.run import verify
    from pippin.commands.verify.words import show_verdict
    from pippin.machine.drivers import get_backend
    from pippin.records import to_json
    from pippin.report.terminal import Terminal

    terminal = Terminal(quiet=True)
    job = plan_job(reading.recipe, terminal)
    with explained(get_backend(job.plan.device.value), lambda: job.machine, write_here):
        verdict = verify(job)
    if as_json:
        print(json.dumps({"agrees": verdict.agrees, **to_json(verdict)}, indent=2, ensure_ascii=False))
    else:
        show_verdict(terminal, verdict)
    return 0 if verdict.agrees else 1
