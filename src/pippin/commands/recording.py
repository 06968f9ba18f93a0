"""The record of a run while it goes on: its folder, events, page and trackers."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pippin.commands.planning import PlannedJob
from pippin.engine.group import LostProcess
from pippin.engine.interrupts import Interrupted
from pippin.report.page.live import LivePage
from pippin.report.page.run_page import NAME as REPORT_PAGE
from pippin.report.progress import TrainingProgress
from pippin.report.terminal import Terminal
from pippin.report.trackers.trackers import Trackers
from pippin.runs.events import Events
from pippin.runs.folder import RunFolder
from pippin.runs.opening import inputs_of
from pippin.runs.record import Run
from pippin.runs.resume import Start
from pippin.runs.rules import Changes


@contextmanager
def recorded(
    folder: RunFolder, job: PlannedJob, run: Run, start: Start | None, changes: Changes | None, terminal: Terminal
) -> Iterator[Events]:
    """The run's folder with its record written first; whatever happens inside, the record says how it ended."""
    progress = TrainingProgress(terminal)
    if start is not None and folder.before is not None:
        folder.go_on(run, "after training" if start.is_trained else f"from step {start.step}")
        events = Events(folder.events_path, progress.on_event)
        events.go_back(start.record.trained.events if start.record.trained else start.state["events"], start.step)
    else:
        folder.begin(run, inputs_of(job.recipe))
        events = Events(folder.events_path, progress.on_event)
    page = LivePage(folder)
    events.listen(page.on_event)
    if job.recipe.wants_training:
        terminal.say(f"follow it in a browser: {folder.path / REPORT_PAGE}")
    trackers = Trackers(job.recipe, folder, terminal.warn)
    events.listen(trackers.on_event)
    if start is not None:
        events.emit("resumed", step=start.step, changes=list(changes.applied if changes else ()))
    try:
        trackers.open(start.step if start else 0 if folder.resumes else None)
        yield events
    except BaseException as error:
        progress.stop()
        status = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        with suppress(OSError):  # a full disk refuses this too
            events.emit(status, error=type(error).__name__)
            folder.update(status=status)
            page.end()
        resume = f"To continue: pippin resume {shlex.quote(str(folder.path))}"
        if isinstance(error, KeyboardInterrupt):
            words = f"{str(error) or 'stopped at once'}. {resume}"
            raise Interrupted(words, getattr(error, "signal", signal.SIGINT)) from None
        if isinstance(error, LostProcess):
            raise LostProcess(f"{error} {resume}", error.is_explained) from None
        raise
    finally:
        progress.stop()
        trackers.close()
        with suppress(OSError):
            events.close()
