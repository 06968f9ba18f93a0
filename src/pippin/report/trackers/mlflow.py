"""MLflow. Where it stores runs is its own affair: MLFLOW_TRACKING_URI, MLFLOW_EXPERIMENT_NAME …"""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

from pippin.report.trackers.tracker import Beginning, Figures

#: MLflow takes no more settings at once, and (in older releases) no longer values.
_AT_ONCE, _LONGEST = 100, 250
_STATUS = {"finished": "FINISHED", "interrupted": "KILLED"}


def start(run: Beginning) -> MLflow:
    """A new run, or the one from before."""
    import mlflow

    active = mlflow.start_run(run_id=run.before, run_name=run.name)
    if run.before is None:  # a setting can be said only once
        settings = iter([(name, str(value)[:_LONGEST]) for name, value in run.settings.items()])
        while some := dict(islice(settings, _AT_ONCE)):
            mlflow.log_params(some)
    return MLflow(mlflow, active.info.run_id)


class MLflow:
    def __init__(self, library: Any, run_id: str):
        self.library, self.id = library, run_id

    def log(self, figures: Figures, step: int) -> None:
        """Under plain names (loss, eval_loss), as Hugging Face's Trainer does with this tool alone."""
        allowed = {re.sub(r"[^\w\-. :/]", "_", name, flags=re.ASCII): value for name, value in figures.items()}
        self.library.log_metrics(allowed, step=step)

    def close(self, ending: str) -> None:
        self.library.end_run(status=_STATUS.get(ending, "FAILED"))
