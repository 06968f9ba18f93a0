"""TensorBoard: files in a folder, written by torch's own writer."""

from __future__ import annotations

import json
from typing import Any

from pippin.report.trackers.names import with_sections
from pippin.report.trackers.tracker import Beginning, Figures


def start(run: Beginning) -> TensorBoard:
    """Write into the folder; a run that goes on hides what was logged after its checkpoint."""
    from torch.utils.tensorboard import SummaryWriter

    purged = None if run.step is None else run.step + 1 if run.step else 0
    writer = SummaryWriter(str(run.logging_dir), purge_step=purged)
    writer.add_text("args", f"```json\n{json.dumps(run.settings, indent=2)}\n```", run.step or 0)
    return TensorBoard(writer)


class TensorBoard:
    def __init__(self, writer: Any):
        self.writer = writer
        self.id = None  # the folder is the run's own

    def log(self, figures: Figures, step: int) -> None:
        for name, value in with_sections(figures).items():
            self.writer.add_scalar(name, value, step)
        self.writer.flush()

    def close(self, ending: str) -> None:
        self.writer.close()
