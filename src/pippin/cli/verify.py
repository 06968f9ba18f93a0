"""`pippin verify`: does the device give the CPU's results for this job?"""

from __future__ import annotations

import json

from pippin.cli.command_line import CommandLine
from pippin.cli.train import read_job
from pippin.machine.drivers import prepare_environment


def run(line: CommandLine) -> int:
    """Run the command; returns the exit code."""
    reading = read_job(line)
    prepare_environment(reading.recipe.mps_fallback == "on")
    from pippin.commands.failures.explained import explained, write_here
    from pippin.commands.planning import plan_job
    from pippin.commands.verify.verdict import show_verdict
    from pippin.commands.verify.verify import verify
    from pippin.machine.drivers import get_backend
    from pippin.records import to_json
    from pippin.report.terminal import Terminal

    terminal = Terminal(quiet=True)
    job = plan_job(reading.recipe, terminal)
    with explained(get_backend(job.plan.execution.device.value), lambda: job.machine, write_here):
        verdict = verify(job)
    if line.flags.json:
        print(json.dumps({"agrees": verdict.agrees, **to_json(verdict)}, indent=2, ensure_ascii=False))
    else:
        show_verdict(terminal, verdict)
    return 0 if verdict.agrees else 1
