"""Rows that stand in training and in evaluation too: a score on them says nothing."""

from __future__ import annotations

import numpy as np

from pippin.data.examples import Examples
from pippin.errors import PippinError


def check_overlap(train: Examples, evaluated: dict[str, Examples], may_stop: bool) -> list[str]:
    """Warnings about shared texts. Stops where a split given by the user holds nothing new."""
    warnings = []
    trained = train.hashes() if evaluated else np.array([])
    for name, examples in evaluated.items():
        shared = _count_shared(train, trained, examples)
        if shared == len(examples) and may_stop:
            raise PippinError(
                f"{examples.origin}: all {shared} {name} rows are in {train.origin} too, so a score on them means "
                "nothing. Give other rows, or none: then Pippin holds some out of the training rows."
            )
        if shared:
            verdict = "means nothing" if shared == len(examples) else "will be too high"
            said = name.replace("_", " ")
            warnings.append(
                f"{shared} of {len(examples)} {said} texts are in the training rows too: the score {verdict}."
            )
    return warnings


def _count_shared(train: Examples, trained: np.ndarray, examples: Examples) -> int:
    """How many rows stand in training too. Texts are compared only where their hashes are the same."""
    hashes = examples.hashes()
    seen = set(train.inputs(np.flatnonzero(np.isin(trained, hashes))))
    return sum(inputs in seen for inputs in examples.inputs(np.flatnonzero(np.isin(hashes, trained))))
