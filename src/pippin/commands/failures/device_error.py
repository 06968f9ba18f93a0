"""device-error.md: what an error's readers need to know, ready to send, with none of the user's data."""

from __future__ import annotations

from traceback import walk_tb
from typing import TYPE_CHECKING, Any

from pippin._version import __version__
from pippin.errors import OUR_TRACKER, TORCH_TRACKER
from pippin.machine import system
from pippin.machine.machine import Machine
from pippin.text import memory

if TYPE_CHECKING:
    from pippin.commands.failures.search import Findings

#: Frames of the traceback that are listed, the innermost last.
_FRAMES = 30


def device_error_text(findings: Findings, error: BaseException, kind: str, machine: Machine) -> str:
    """The whole text. Of an error that came out of no operator it holds the type alone: its words may quote a row."""
    tracker = TORCH_TRACKER if findings.is_torchs else OUR_TRACKER
    name = type(error).__name__
    title = f"{findings.call.operator}: {name} on {kind}" if findings.call else f"{name} while running on {kind}"
    # No file's path, which may name its owner, and no line of code.
    frames = [
        f"- {frame.f_globals.get('__name__', '?')}, line {line}, {frame.f_code.co_name}"
        for frame, line in walk_tb(error.__traceback__)
    ]
    parts = [
        f"# {title}",
        f"To be sent to {tracker}. It holds shapes and versions, no texts, labels or weights; "
        "please read it before you send it.",
        _call(findings, kind) if findings.call else f"No operator can be named: {findings.no_call}.",
        "## Where\n\nThe innermost call is the last.\n\n" + "\n".join(frames[-_FRAMES:]),
        "## Versions and machine\n\n" + "\n".join(f"- {name}: {value}" for name, value in _facts(kind, machine)),
    ]
    return "\n\n".join(parts) + "\n"


def _call(findings: Findings, kind: str) -> str:
    call, seen = findings.call, findings.seen
    assert call is not None
    assert seen is not None
    rows = "\n".join(
        f"| {item.name} | {_cell(before.value)} | {_cell(item.value)} |"
        for item, before in zip(call.arguments, seen.arguments, strict=True)
    )
    if findings.reproduced:
        verdict = "This is the smallest call found that fails; its tensors are made up of random numbers and zeros."
        if kind != "cpu":
            verdict += f" On the CPU it {'works' if findings.works_on_cpu else 'fails too'}."
    else:
        verdict = "This is the call as it was seen. With made-up numbers of the same shapes it does not fail."
    said = f": {call.error_text}" if call.error_text else ""
    return (
        f"## The call\n\nOperator `{call.operator}`\n\n"
        f"| argument | as it failed | below |\n|---|---|---|\n{rows}\n\n{verdict}\n\n"
        f"```python\n{call.snippet}```\n\n## The error\n\n```\n{call.error_type}{said}\n```"
    )


def _cell(value: Any) -> str:
    shown = "[" + "; ".join(_cell(part) for part in value) + "]" if isinstance(value, list) else str(value)
    return shown.replace("|", "\\|")


def _facts(kind: str, machine: Machine) -> list[tuple[str, str]]:
    device = next((device for device in machine.devices if device.kind == kind), None)
    shown = kind if device is None else f"{kind}, {device.name}"
    if device and device.memory_bytes:
        shown += f", {memory(device.memory_bytes)} for a job"
    return [
        ("Pippin", __version__),
        ("torch", machine.torch),
        ("transformers", machine.transformers),
        ("Python", machine.python),
        ("system", f"{machine.system} {machine.release}, {machine.architecture}"),
        ("chip", machine.chip or system.chip_name() or "unknown"),
        ("memory", memory(machine.memory_bytes) if machine.memory_bytes else "unknown"),
        ("device", shown),
    ]
