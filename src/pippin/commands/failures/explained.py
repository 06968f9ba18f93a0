"""Errors of the device, and those that nobody foresaw, as one message."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pippin.commands.failures.call import first_line
from pippin.commands.failures.device_error import device_error_text
from pippin.commands.failures.search import Findings, investigate
from pippin.errors import OUR_TRACKER, TORCH_TRACKER, PippinError
from pippin.files import write_new_text
from pippin.machine.drivers.base import Backend
from pippin.machine.machine import Machine

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
                path = write(FILE_NAME, device_error_text(findings, error, backend.kind, machine()))
            explanation = _message(findings, error, backend, path, on_cpu)
        raise PippinError(explanation) from error


def write_here(name: str, text: str) -> Path:
    """For commands without a run's folder."""
    return write_new_text(Path(name), text)


def _message(findings: Findings, error: Exception, backend: Backend, path: Path | None, on_cpu: str) -> str:
    said = f"{type(error).__name__}: {first_line(error)}".rstrip(".: ")
    what = f"an error that Pippin did not foresee ({said})"
    if findings.call:
        what = f"the operator {findings.call.operator} failed on the device {backend.kind} ({said})"
    where = f"PyTorch: {TORCH_TRACKER}" if findings.is_torchs else OUR_TRACKER
    text = f" A text to send, with none of your data, is in {path}." if path else ""
    go_on = f" To go on without this device, add {on_cpu}." if backend.traits.is_gpu else ""
    return f"{what}. Please report it to {where}.{text}{go_on}"
