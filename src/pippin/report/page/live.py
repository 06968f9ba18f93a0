"""A run's page, written again and again while the run goes on, so that an open browser tab follows it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from pippin.files import replace_text
from pippin.report.page.history import read_history
from pippin.report.page.run_page import NAME, run_page
from pippin.runs.folder import RunFolder

#: Seconds between two writings at least, and how many times longer than a writing took.
_SECONDS, _TIMES = 2.0, 50.0
#: After these there may be no other event for long.
_AT_ONCE = {"started", "evaluation", "trained", "slept", "slow"}


class LivePage:
    """Listens to a run's events. A disk that refuses the page does not stop the run."""

    def __init__(self, folder: RunFolder, clock: Callable[[], float] = time.monotonic):
        self.folder, self.clock = folder, clock
        self.history = read_history(folder.events_path)
        self.next_time = 0.0
        self.name = folder.claim(NAME)
        self._write()

    def on_event(self, name: str, figures: dict[str, Any]) -> None:
        """Remember the event, and write the page where it is time for it."""
        self.history.add(name, figures, time.time())
        if name in _AT_ONCE or self.clock() >= self.next_time:
            self._write()

    def end(self) -> None:
        """The page of a run that was interrupted or failed, as its record says."""
        self._write()

    def _write(self) -> None:
        began = self.clock()
        assert self.folder.run is not None
        text = run_page(self.folder.run, self.history, None, str(self.folder.path))
        with suppress(OSError):
            replace_text(Path(self.folder.path, self.name), text)
        self.next_time = self.clock() + max(_SECONDS, _TIMES * (self.clock() - began))
