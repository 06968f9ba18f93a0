"""The known tasks: GLUE's nine and TREC, with their columns, classes and metrics."""

from __future__ import annotations

from dataclasses import dataclass

from pippin.errors import PippinError, nearest


@dataclass(frozen=True)
class Task:
    """What is to be learnt. Empty columns and classes are found in the data."""

    name: str | None = None
    text_columns: tuple[str, ...] = ()
    label_column: str | None = None
    classes: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ("accuracy", "f1_macro")
    regression: bool = False
    combined: bool = False
    """Whether the mean of the metrics is the task's score, as for GLUE's tasks with two."""

    @property
    def main_metric(self) -> str:
        """The metric that decides which model is best."""
        return "combined_score" if self.combined else self.metrics[0]


OWN_CLASSES = Task()
OWN_NUMBERS = Task(metrics=("pearson", "spearmanr", "mse"), regression=True)

_ENTAILMENT = ("entailment", "not_entailment")
_PAIR = ("sentence1", "sentence2")

TASKS = {
    str(task.name): task
    for task in (
        Task("cola", ("sentence",), "label", ("unacceptable", "acceptable"), ("matthews_correlation",)),
        Task(
            "mnli",
            ("premise", "hypothesis"),
            "label",
            ("entailment", "neutral", "contradiction"),
            ("accuracy",),
        ),
        Task("mrpc", _PAIR, "label", ("not_equivalent", "equivalent"), ("accuracy", "f1"), combined=True),
        Task("qnli", ("question", "sentence"), "label", _ENTAILMENT, ("accuracy",)),
        Task(
            "qqp",
            ("question1", "question2"),
            "label",
            ("not_duplicate", "duplicate"),
            ("accuracy", "f1"),
            combined=True,
        ),
        Task("rte", _PAIR, "label", _ENTAILMENT, ("accuracy",)),
        Task("sst2", ("sentence",), "label", ("negative", "positive"), ("accuracy",)),
        Task("stsb", _PAIR, "label", (), ("pearson", "spearmanr"), regression=True, combined=True),
        Task("wnli", _PAIR, "label", ("not_entailment", "entailment"), ("accuracy",)),
        Task(
            "trec",
            ("text",),
            "coarse_label",
            ("ABBR", "ENTY", "DESC", "HUM", "LOC", "NUM"),  # in the order of the Hub's numbers
            ("accuracy", "f1_macro"),
        ),
    )
}


def known_task(name: str) -> Task:
    """A task by its name, also in GLUE's own spelling (SST-2, STS-B)."""
    wanted = name.lower().replace("-", "").replace("_", "")
    if wanted not in TASKS:
        known = ", ".join(TASKS)
        raise PippinError(f"--task_name {name}: there is no such task. Known: {known}.{nearest(wanted, list(TASKS))}")
    return TASKS[wanted]
