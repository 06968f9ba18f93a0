"""Errors of the device, and unexpected ones, as one message and a text that is ready to send."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, Any

from pippin._version import __version__
from pippin.commands.failures.call import first_line
from pippin.commands.failures.search import Findings, investigate
from pippin.errors import OUR_TRACKER, TORCH_TRACKER, PippinError
from pippin.files import write_new_text
from pippin.machine import system
from pippin.machine.drivers.base import Backend
from pippin.machine.machine import Machine
from pippin.text import memory

if TYPE_CHECKING:
    from pippin.commands.failures.search import Findings

FILE_NAME = "device-error.md"


@contextmanager
def explained(
    backend: Backend,
    machine: Callable[[], Machine],
    write: Callable[[str, str], Path],
    on_cpu: str = "--use_cpu",
    debug: bool = False,
) -> Iterator[None]:
    """Whatever fails inside ends in one message, with a text to send written by ``write`` (name, text).

    ``machine`` is asked only when it is needed; ``on_cpu`` is what to type to go on without the device. With ``debug``
    an error that has no plain explanation is raised as it is.
    """
    try:
        yield
    except (PippinError, OSError):
        raise
    except Exception as error:
        if "(os error " in str(error):  # the disk's refusal, in the words of safetensors
            raise
        explanation = backend.explain(error)
        if explanation is None and debug:
            raise
        if explanation is None:
            findings, path = investigate(error, backend), None
            with suppress(Exception):  # the message still comes
                path = write(FILE_NAME, device_error_text(findings, error, backend, machine()))
            explanation = _message(findings, error, backend, path, on_cpu)
        raise PippinError(explanation) from error


def write_here(name: str, text: str) -> Path:
    """For commands without a run's folder."""
    return write_new_text(Path(name), text)


def _message(findings: Findings, error: Exception, backend: Backend, path: Path | None, on_cpu: str) -> str:
    said = f"{type(error).__name__}: {first_line(error)}".rstrip(".: ")
    what = f"an unexpected error ({said})"
    if findings.call:
        what = f"the operator {findings.call.operator} failed on the device {backend.kind} ({said})"
    where = f"PyTorch: {TORCH_TRACKER}" if findings.is_torchs else OUR_TRACKER
    text = f" A report to send, with none of your data, is in {path}." if path else ""
    go_on = f" To run without this device, add {on_cpu}." if backend.traits.is_gpu else ""
    return f"{what}. Please report it to {where}.{text}{go_on}"


#: Frames of the traceback that are listed, the innermost last.
_FRAMES = 30


def device_error_text(findings: Findings, error: BaseException, backend: Backend, machine: Machine) -> str:
    """device-error.md: what an error's readers need to know, with none of the user's data.

    Of an error that came out of no operator it holds the type alone: its words may quote a row.
    """
    tracker = TORCH_TRACKER if findings.is_torchs else OUR_TRACKER
    name, kind = type(error).__name__, backend.kind
    title = f"{findings.call.operator}: {name} on {kind}" if findings.call else f"{name} while running on {kind}"
    # No file's path, which may name its owner, and no line of code.
    frames = [
        f"- {frame.f_globals.get('__name__', '?')}, line {line}, {frame.f_code.co_name}"
        for frame, line in walk_tb(error.__traceback__)
    ]
    parts = [
        f"# {title}",
        f"Please send this to {tracker}. It holds shapes and versions, but no texts, labels or weights. "
        "Read it before you send it.",
        _call(findings, backend) if findings.call else f"The failing operator is unknown: {findings.no_call}.",
        "## Where\n\nThe innermost call is the last.\n\n" + "\n".join(frames[-_FRAMES:]),
        "## Versions and machine\n\n" + "\n".join(f"- {name}: {value}" for name, value in _facts(kind, machine)),
    ]
    return "\n\n".join(parts) + "\n"


def _call(findings: Findings, backend: Backend) -> str:
    call, seen = findings.call, findings.seen
    assert call is not None
    assert seen is not None
    rows = "\n".join(
        f"| {item.name} | {_cell(before.value)} | {_cell(item.value)} |"
        for item, before in zip(call.arguments, seen.arguments, strict=True)
    )
    if findings.reproduced:
        verdict = "This is the smallest call found that fails; its tensors hold random numbers and zeros."
        if backend.traits.is_gpu:
            verdict += f" On the CPU it {'works' if findings.works_on_cpu else 'fails too'}."
    else:
        verdict = "This is the call as it was made. With random numbers of the same shapes it does not fail."
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
