"""`pippin doctor`: is this computer ready, and what to type where it is not."""

from __future__ import annotations

import json
from pathlib import Path

from pippin.errors import Mistakes, PippinError, nearest
from pippin.machine.machine import Machine

HELP = """
Usage: pippin doctor [--json] [--machine FILE]

Looks at this computer (system, Python, torch, its GPU, memory, packages, disk, power, the Hub) and says for each
what was found, why it matters and what to type. Nothing is changed. The Hub is asked once whether it answers, unless
HF_HUB_OFFLINE is set. Exit code 0 when nothing stands in the way, else 1.

  pippin doctor
  pippin doctor --json > machine.json       for a bug report, or for a friend
  pippin doctor --machine machine.json      judge a computer that was described elsewhere

  --json            Print the description of the machine and the findings as JSON.
  --machine FILE    Judge the machine described in FILE instead of this one.
"""


def run(arguments: list[str]) -> int:
    """Run the command; returns the exit code."""
    if any(word in ("-h", "--help") for word in arguments):
        print(HELP.strip())
        return 0
    as_json, file = _read(arguments)
    from pippin.machine.doctor import examine, is_ready
    from pippin.machine.probe import probe_thoroughly

    machine = load_machine(file) if file else probe_thoroughly()
    checks = examine(machine)
    ready = is_ready(checks)
    if as_json:
        from pippin.records import to_json

        findings = {"ready": ready, "machine": to_json(machine), "checks": to_json(checks)}
        print(json.dumps(findings, indent=2, ensure_ascii=False))
    else:
        from pippin.report.terminal import Terminal

        Terminal().show_checks(checks, ready)
    return 0 if ready else 1


def _read(arguments: list[str]) -> tuple[bool, str | None]:
    mistakes, as_json, file = [], False, None
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if name == "--json":
            as_json = True
        elif name == "--machine":
            file = value if equals else next(words, None)
            if not file:
                mistakes.append("--machine needs a value after it: a file from `pippin doctor --json`.")
        else:
            hint = nearest(name.lstrip("-"), ["json", "machine", "help"], "--")
            mistakes.append(f"{word}: there is no such flag.{hint}")
    if mistakes:
        raise Mistakes(mistakes)
    return as_json, file


def load_machine(file: str) -> Machine:
    from pippin.plain_files import read_json
    from pippin.records import from_json

    try:
        described = read_json(Path(file))
        return from_json(Machine, described.get("machine", described) if isinstance(described, dict) else described)
    except OSError as error:
        raise PippinError(f"--machine {file}: cannot be read: {error.strerror or error}.") from None
    except ValueError as error:
        raise PippinError(f"--machine {file}: not a description from `pippin doctor --json` ({error}).") from None
