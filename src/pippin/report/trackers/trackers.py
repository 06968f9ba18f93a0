"""The trackers of a run: they hear of its events, and whatever becomes of them, the run goes on."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from pippin.plain_files import read_json
from pippin.recipe import Recipe
from pippin.redact import without_secrets
from pippin.report.trackers.names import figures_of, settings_of
from pippin.report.trackers.tracker import Beginning
from pippin.report.trackers.worker import Worker
from pippin.runs.folder import RunFolder

#: In the run's folder: by what each tool finds the run again.
_IDS = "trackers.json"
#: Seconds that a run waits for its trackers: before the first step, when it is finished, when it ends otherwise.
_TO_OPEN, _TO_FINISH, _TO_STOP = 30.0, 30.0, 10.0


class Trackers:
    """Listens to a run's events and hands its figures on."""

    def __init__(self, recipe: Recipe, folder: RunFolder, warn: Callable[[str], None]):
        self.names = tuple(name for name in dict.fromkeys(recipe.report_to or ()) if name != "none")
        self.recipe, self.folder, self.warn = recipe, folder, warn
        self.workers: dict[str, Worker] = {}
        self.ids: dict[str, str] = {}
        self.step = 0
        self.sent: dict[str, tuple[int, Any]] = {}
        """The last step and value of each figure."""
        self.ending = "failed"

    def open(self, step: int | None) -> None:
        """Tell every tracker of the run. It goes on after a step, begins again (0) or is new; its folder is there."""
        self.step, self.goes_on_after = step or 0, step
        self.ids = self._ids_before() if step else {}
        for name in self.names:
            start = import_module(f"pippin.report.trackers.{name}").start
            self.workers[name] = Worker(start, self._beginning(self.ids.get(name)))
        end = time.monotonic() + _TO_OPEN
        for worker in self.workers.values():
            worker.wait_until_open(end - time.monotonic())
        self._look_after_them()

    def on_event(self, name: str, figures: dict[str, Any]) -> None:
        """Hand on what a tracker can show."""
        if name in ("log", "evaluation", "trained"):
            self.step = figures["step"]
        if name in ("log", "evaluation", "finished"):
            shown = {key: value for key, value in figures_of(figures).items() if not self._was_sent(key, value)}
            self.sent |= {key: (self.step, value) for key, value in shown.items()}
            for worker in self.workers.values():
                worker.log(shown, self.step)
            self._look_after_them()
        if name in ("finished", "interrupted", "failed"):
            self.ending = name

    def _was_sent(self, key: str, value: Any) -> bool:
        """Whether a figure stands at this step already: the end tells the last evaluation's once more."""
        step, before = self.sent.get(key, (-1, None))
        return step == self.step and (value == before or key.endswith(("runtime", "per_second")))

    def close(self) -> None:
        """Close every tracker; one that takes long is left behind."""
        for worker in self.workers.values():
            worker.close(self.ending)
        end = time.monotonic() + (_TO_FINISH if self.ending == "finished" else _TO_STOP)
        late = [name for name, worker in self.workers.items() if not worker.wait(end - time.monotonic())]
        self._look_after_them()
        for name in late:
            if self.workers.pop(name, None):
                self._tell(f"{name} has not taken all figures yet, and is not waited for: they are in events.jsonl")
        self.workers.clear()

    def _beginning(self, before: str | None) -> Beginning:
        run = self.folder.run
        assert run is not None
        named = self.recipe.logging_dir or os.environ.get("TENSORBOARD_LOGGING_DIR")
        in_folder = self.folder.path / "tensorboard" / run.started[:19].replace(":", "-")
        return Beginning(
            name=without_secrets(self.recipe.run_name or self.folder.path.name),
            project=self.recipe.project,
            logging_dir=Path(named).expanduser() if named else in_folder,
            settings=settings_of(run),
            step=self.goes_on_after,
            before=before,
        )

    def _look_after_them(self) -> None:
        """Leave out those that failed, and say so once; write down by what the others are found again."""
        for name in [name for name, worker in self.workers.items() if worker.failure]:
            failure = self.workers.pop(name).failure
            self._tell(f"{name} failed ({failure}): the run goes on without it, and its figures are in events.jsonl")
        ids = {name: worker.id for name, worker in self.workers.items() if worker.id is not None}
        if not ids.items() <= self.ids.items():
            self.ids |= ids
            with suppress(OSError):  # a full disk is the run's affair
                self.folder.write_json(_IDS, self.ids)

    def _ids_before(self) -> dict[str, str]:
        try:
            ids = read_json(self.folder.path / _IDS)
        except (OSError, ValueError):
            return {}
        return {str(name): str(value) for name, value in ids.items()} if isinstance(ids, dict) else {}

    def _tell(self, text: str) -> None:
        with suppress(OSError):  # the terminal may be gone
            self.warn(f"{text}.")
