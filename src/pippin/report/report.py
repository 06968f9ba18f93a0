"""The Report: what came out of a run, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pippin.machine.fallbacks import Fallback
from pippin.plain_files import read_json
from pippin.recipe.signature import in_python
from pippin.records import from_json
from pippin.tasks.base import Command
from pippin.tasks.parts import Part

#: The report's name in the folder of a run.
NAME = "report.json"


@dataclass(frozen=True)
class Report:
    """Results under Hugging Face's keys, and what they were made of."""

    folder: str
    """The run's folder."""
    results: dict[str, float]
    """All of train_, eval_ and test_ figures."""
    main_metric: str
    """The task's main metric, such as `accuracy`."""
    text_columns: tuple[str, ...] = ()
    """The columns that the text came from."""
    best_step: int | None = None
    """The step of the model that was kept; None if nothing was trained."""
    stopped_early: bool = False
    """Whether early stopping ended the training."""
    peak_memory: int = 0
    """Most bytes held on the device while training."""
    saving_seconds: float = 0.0
    """Time that training waited for checkpoints."""
    fallbacks: dict[str, Fallback] = field(default_factory=dict)
    """Operators that ran on the CPU since the device has no kernel for them, the costliest first."""
    verification: str = ""
    """What a comparison with the CPU before training found, in a sentence; empty where the CPU did the training."""
    baselines: dict[str, float] = field(default_factory=dict)
    """What the simplest answer to every row would score, under the keys of the results: `eval_accuracy`."""
    baseline_answer: str = ""
    """That answer in words: `always answering "common"`."""
    remarks: tuple[str, ...] = ()
    """Sentences that nobody should miss, such as that the model gives one answer to all rows."""
    parts: tuple[Part, ...] = ()
    """What the task shows, of the test rows where they have labels, else of the validation rows."""
    command: Command = "predict"
    """Pippin's command that uses the model, with its flags."""

    def __repr__(self) -> str:
        from pippin.report.summary import in_a_line

        return f"Report({', '.join(filter(None, [repr(self.folder), in_a_line(self)]))})"

    def _repr_html_(self) -> str:
        from pippin.report.summary import as_html

        return as_html(self)

    @property
    def path(self) -> Path:
        return Path(self.folder)


def for_python(report: Report) -> Report:
    """The same for Python's user: remarks name keywords, not flags."""
    return replace(report, remarks=tuple(map(in_python, report.remarks)))


def scores(results: Mapping[str, Any], split: str) -> dict[str, Any]:
    """The metrics of a split (eval or test) by their plain names: not its rows, nor how long they took."""
    return {
        key.removeprefix(f"{split}_"): value
        for key, value in results.items()
        if key.startswith(f"{split}_") and not key.endswith(("runtime", "per_second", "samples"))
    }


def read_report(folder: Path) -> Report | None:
    """What came out of the run in a folder; None where it is not finished, or the report cannot be read."""
    try:
        return from_json(Report, read_json(folder / NAME))
    except (OSError, ValueError):
        return None
