"""The known tasks: GLUE's nine and TREC, with their columns, classes and metrics."""

from __future__ import annotations

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


def find_known(name: str) -> SequenceTask | None:
    """A task by its name, also in GLUE's own spelling (SST-2, STS-B)."""
    return TASKS.get(name.lower().replace("-", "").replace("_", ""))


def known_task(name: str) -> SequenceTask:
    """The same for a name that was checked."""
    task = find_known(name)
    assert task is not None
    return task
