"""Trackio: figures on this computer; TRACKIO_SPACE_ID, which it reads itself, sends them to a Space."""

from __future__ import annotations

from typing import Any

from pippin.report.trackers.names import with_sections
from pippin.report.trackers.tracker import Beginning, Figures


def start(run: Beginning) -> Trackio:
    """A new run, or the one from before, which it knows by its name."""
    import trackio

    resume = "allow" if run.before else "never"
    opened = trackio.init(project=run.project, name=run.before or run.name, config=run.settings, resume=resume)
    return Trackio(trackio, opened.name)


class Trackio:
    def __init__(self, library: Any, name: str):
        self.library, self.id = library, name

    def log(self, figures: Figures, step: int) -> None:
        self.library.log({**with_sections(figures), "train/global_step": step}, step=step)

    def close(self, ending: str) -> None:
        self.library.finish()
