"""Saving while training goes on: the state is copied at once, and written to disk beside the next steps.

Where there is no memory for a copy, or nothing goes on, it is written as it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pippin.files import to_bytes
from pippin.models.adapters import has_adapters
from pippin.models.keeping import kept_weights, put_back, save_model
from pippin.models.used_rows import UsedRows
from pippin.plan.fits import BESIDE
from pippin.plan.plan import Plan
from pippin.runs.checkpoints import packing
from pippin.runs.checkpoints.manifest import read
from pippin.runs.checkpoints.packing import on_cpu, write
from pippin.runs.events import Events
from pippin.runs.folder import RunFolder
from pippin.runs.record import NAME as RECORD

#: Bytes of a checkpoint beside its tensors: tokenizer, configuration, state.
_SMALL_FILES = 8 * 2**20


class Saver:
    """Writes checkpoints, one at a time. What goes wrong in the background is raised at the next call."""

    def __init__(
        self,
        folder: RunFolder,
        events: Events,
        model: Any,
        tokenizer: Any,
        plan: Plan,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.folder, self.events, self.model, self.tokenizer, self.clock = folder, events, model, tokenizer, clock
        self.store = folder.store(folder.run.id if folder.run else "", plan.schedule.save_total_limit)
        self.minutes = plan.schedule.save_minutes
        self.copies = plan.memory.saving.value == BESIDE
        self.last_step = 0
        self.last_time = clock()
        self.seconds = 0.0  # time that training waited for saves
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._pending: Future[Path] | None = None

    def is_due(self) -> bool:
        """Whether so much time has passed since the last save that more should not be lost."""
        return self.minutes > 0 and self.clock() - self.last_time >= 60 * self.minutes

    def save(
        self,
        step: int,
        state: dict[str, Any],
        best_step: int | None,
        goes_on: bool = True,
        weights: dict[str, Any] | None = None,
    ) -> None:
        """Copy the model and the state, and write them in the background; at once where training does not go on.

        ``weights`` are those to be written where the model holds only a part.
        """
        if step == self.last_step:
            return
        self.wait()
        began = self.clock()
        self.last_step = step
        # After the wait, which tells of the save before: that belongs to what this one goes back to.
        state = {**state, "events": self.events.position}
        weights = weights or kept_weights(self.model)
        if goes_on and self.copies:
            self._pending = self._worker.submit(self._write, step, on_cpu(weights, []), on_cpu(state, []), best_step)
        else:
            path = self._write(step, weights, state, best_step)
            self._tell(step, path)
        self.last_time = self.clock()
        self.seconds += self.last_time - began

    def wait(self) -> None:
        """Until what was begun is on the disk."""
        if self._pending is not None:
            began = self.clock()
            pending, self._pending = self._pending, None
            path = pending.result()
            self.seconds += self.clock() - began
            self._tell(self.last_step, path)

    def look(self) -> None:
        """Tell of a save that is done, and raise what went wrong in it."""
        if self._pending is not None and self._pending.done():
            self.wait()

    def restore(self, step: int) -> str | None:
        """Put the weights of a checkpoint back into the model; returns what stands in the way, if anything."""
        problem = self.store.problem_of(step)
        if problem is None:
            folder = self.store.path(step)
            put_back(self.model, folder, _weight_files(folder))
        return problem

    def weights_of(self, step: int) -> tuple[str | None, dict[str, Any]]:
        """What stands in the way of a checkpoint's weights, if anything, and the weights."""
        from safetensors.torch import load_file

        if problem := self.store.problem_of(step):
            return problem, {}
        folder = self.store.path(step)
        return None, {name: each for file in _weight_files(folder) for name, each in load_file(folder / file).items()}

    def close(self) -> None:
        """Finish what was begun; what fails here no longer matters."""
        self._worker.shutdown(wait=True)

    def _tell(self, step: int, path: Path) -> None:
        self.events.emit("saved", step=step, path=path.name)

    def _write(self, step: int, weights: dict[str, Any], state: dict[str, Any], best_step: int | None) -> Path:
        def fill(folder: Path) -> None:
            save_model(self.model, folder, weights)
            self.tokenizer.save_pretrained(folder)
            (folder / RECORD).write_bytes(to_bytes(self.folder.record_text()))
            write(folder, state)

        return self.store.save(step, fill, checkpoint_bytes(self.model), best_step)


def checkpoint_bytes(model: Any) -> int:
    """About what a checkpoint takes on disk: the weights, and two numbers more for each that is trained.

    Word vectors that never occur are written as if they were trained too.
    """
    unused = sum(module.others.numel() for module in model.modules() if isinstance(module, UsedRows))
    kept = [each for each in model.parameters() if each.requires_grad or not has_adapters(model)]
    weights = sum(parameter.numel() * parameter.element_size() for parameter in kept)
    trained = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    return weights + 4 * unused + 8 * (trained + unused) + _SMALL_FILES


def room_needed(model: Any, kept: int) -> int:
    """Bytes of the checkpoints that are kept, of one that is being written, and of the finished model."""
    return (kept + 2) * checkpoint_bytes(model)


def _weight_files(folder: Path) -> list[str]:
    """The model's files, by the checkpoint's manifest."""
    manifest = read(folder)
    names = manifest.files if manifest else {}
    return sorted(name for name in names if name.endswith(".safetensors") and name != packing.TENSORS)
