"""`pippin doctor`: is this computer ready, and what to type where it is not."""

from __future__ import annotations

import json
from pathlib import Path

from pippin.cli.command_line import CommandLine
from pippin.errors import PippinError, readable
from pippin.machine.machine import Machine


def run(line: CommandLine) -> int:
    """Run the command; returns the exit code."""
    line.refuse()
    from pippin.machine.doctor import examine, is_ready
    from pippin.machine.probe import probe_thoroughly

    machine = load_machine(line.flags.machine) if line.flags.machine else probe_thoroughly()
    checks = examine(machine)
    ready = is_ready(checks)
    if line.flags.json:
        from pippin.records import to_json

        findings = {"ready": ready, "machine": to_json(machine), "checks": to_json(checks)}
        print(json.dumps(findings, indent=2, ensure_ascii=False))
    else:
        from pippin.report.terminal import Terminal

        Terminal().show_checks(checks, ready)
    return 0 if ready else 1


def load_machine(file: str) -> Machine:
    from pippin.plain_files import read_json
    from pippin.records import from_json

    try:
        with readable(f"--machine {file}"):
            described = read_json(Path(file))
        return from_json(Machine, described.get("machine", described) if isinstance(described, dict) else described)
    except ValueError as error:
        raise PippinError(f"--machine {file}: not a description from `pippin doctor --json` ({error}).") from None
