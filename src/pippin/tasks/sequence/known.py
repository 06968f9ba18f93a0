"""The known tasks: GLUE's nine and TREC, with their columns, classes and metrics."""

from __future__ import annotations

from pippin.errors import PippinError, nearest
from pippin.tasks.sequence.task import SequenceTask

OWN_CLASSES = SequenceTask()
OWN_NUMBERS = SequenceTask(metrics=("mse", "mae", "rmse", "r2", "pearson", "spearmanr"), regression=True)

_ENTAILMENT = ("entailment", "not_entailment")
_PAIR = ("sentence1", "sentence2")

TASKS = {
    str(task.name): task
    for task in (
        SequenceTask("cola", ("sentence",), "label", ("unacceptable", "acceptable"), ("matthews_correlation",)),
        SequenceTask(
            "mnli",
            ("premise", "hypothesis"),
            "label",
            ("entailment", "neutral", "contradiction"),
            ("accuracy",),
        ),
        SequenceTask("mrpc", _PAIR, "label", ("not_equivalent", "equivalent"), ("accuracy", "f1"), combined=True),
        SequenceTask("qnli", ("question", "sentence"), "label", _ENTAILMENT, ("accuracy",)),
        SequenceTask(
            "qqp",
            ("question1", "question2"),
            "label",
            ("not_duplicate", "duplicate"),
            ("accuracy", "f1"),
            combined=True,
        ),
        SequenceTask("rte", _PAIR, "label", _ENTAILMENT, ("accuracy",)),
        SequenceTask("sst2", ("sentence",), "label", ("negative", "positive"), ("accuracy",)),
        SequenceTask("stsb", _PAIR, "label", (), ("pearson", "spearmanr"), regression=True, combined=True),
        SequenceTask("wnli", _PAIR, "label", ("not_entailment", "entailment"), ("accuracy",)),
        SequenceTask(
            "trec",
            ("text",),
            "coarse_label",
            ("ABBR", "ENTY", "DESC", "HUM", "LOC", "NUM"),  # in the order of the Hub's numbers
            ("accuracy", "f1_macro"),
        ),
    )
}


def known_task(name: str) -> SequenceTask:
    """A task by its name, also in GLUE's own spelling (SST-2, STS-B)."""
    wanted = name.lower().replace("-", "").replace("_", "")
    if wanted not in TASKS:
        known = ", ".join(TASKS)
        raise PippinError(f"--task_name {name}: there is no such task. Known: {known}.{nearest(wanted, list(TASKS))}")
    return TASKS[wanted]
