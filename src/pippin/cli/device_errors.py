"""Errors of the device in commands that use a model which is there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pippin.errors import PippinError

if TYPE_CHECKING:
    from pippin.machine.drivers.base import Backend
    from pippin.runs.record import Run


@contextmanager
def device_errors(model: str, run: Run | None, backend: Backend) -> Iterator[None]:
    """Errors of the device as one message; what there is to report goes into the run's folder, else into this one."""
    from pippin.commands.failures.explained import explained, write_here
    from pippin.machine.probe import probe
    from pippin.runs.folder import RunFolder

    def write(name: str, text: str) -> Path:
        if run is None:
            return write_here(name, text)
        folder = RunFolder(Path(model))
        folder.run = run
        return folder.write(name, text)

    with explained(backend, probe, write, on_cpu="--device cpu"):
        try:
            yield
        except (RuntimeError, MemoryError) as error:
            if not backend.is_out_of_memory(error):
                raise
            # The device's own advice is about training.
            raise PippinError(
                f"the device {backend.kind} ran out of memory. Close other programs, or add --device cpu."
            ) from error
