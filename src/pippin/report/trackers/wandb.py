"""Weights & Biases. Its own environment variables (WANDB_PROJECT, WANDB_MODE …) hold here too."""

from __future__ import annotations

import os
from typing import Any

from pippin.report.trackers.names import with_sections
from pippin.report.trackers.tracker import Beginning, Figures

#: Said once at the end; Hugging Face's Trainer puts them into the summary, under these names.
_IN_SUMMARY = {"train_runtime", "train_samples_per_second", "train_steps_per_second", "train_loss", "total_flos"}


def start(run: Beginning) -> Wandb:
    """A new run, the one from before, or the one that the calling program has open."""
    import wandb

    opened, is_ours = wandb.run, wandb.run is None
    if is_ours:
        opened = wandb.init(
            project=os.environ.get("WANDB_PROJECT", run.project),
            name=run.name,
            id=run.before,
            resume="allow" if run.before else None,
        )
    opened.config.update(run.settings, allow_val_change=True)
    # wandb's own count of steps cannot go back, as a run does that goes on from a checkpoint.
    opened.define_metric("train/global_step")
    opened.define_metric("*", step_metric="train/global_step", step_sync=True)
    return Wandb(opened, is_ours)


class Wandb:
    def __init__(self, run: Any, is_ours: bool):
        self.run, self.is_ours = run, is_ours
        self.id = run.id if is_ours else None

    def log(self, figures: Figures, step: int) -> None:
        for name in _IN_SUMMARY & figures.keys():
            self.run.summary[name] = figures[name]
        curves = {name: value for name, value in figures.items() if name not in _IN_SUMMARY}
        self.run.log({**with_sections(curves), "train/global_step": step})

    def close(self, ending: str) -> None:
        if self.is_ours:
            self.run.finish(exit_code=0 if ending == "finished" else 1)
