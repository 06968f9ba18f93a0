"""Labels: what the classes are, and each row's class as a number. Values are compared as plain words."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from pippin.errors import PippinError

_WHOLE_FLOAT = re.compile(r"([-+]?\d+)\.0+")
_FRACTION = re.compile(r"[-+]?\d*\.\d+([eE][-+]?\d+)?")


@dataclass(frozen=True)
class Labels:
    """The classes in the order of the model's outputs; none for regression."""

    names: tuple[str, ...]
    regression: bool = False

    @property
    def outputs(self) -> int:
        """How many numbers the model's head gives."""
        return 1 if self.regression else len(self.names)


def label_word(value: Any) -> str | None:
    """A label as a plain word: stripped, whole numbers without a decimal point; None where it is missing.

    >>> [label_word(value) for value in (" yes ", 1, 1.0, "1.0", True, "", None)]
    ['yes', '1', '1', '1', 'true', None, None]
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    word = str(value).strip()
    whole = _WHOLE_FLOAT.fullmatch(word)
    return (whole[1] if whole else word) or None


def label_number(value: Any) -> float | None:
    """A label as a number to predict; None where it is missing or no number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def find_classes(words: list[str], origin: str, column: str) -> Labels:
    """The classes of the training rows, with the mistakes that would train a wrong model silently."""
    counts = Counter(words)
    where = f"{origin}, column {column!r}"
    if len(counts) == 1:
        raise PippinError(
            f"{where}: every row has the label {words[0]!r}, so there is nothing to tell apart. "
            "Add rows of other classes, or name another column with --label_column."
        )
    numbers = all(re.fullmatch(r"[-+]?\d+", word) for word in counts)
    if any(_FRACTION.fullmatch(word) for word in counts) and all(label_number(word) is not None for word in counts):
        raise PippinError(
            f"{where} holds numbers such as {next(word for word in counts if '.' in word)}. "
            "To predict numbers add --do_regression; for classes use whole numbers or words."
        )
    if len(counts) > max(20, len(words) // 2):
        hint = "To predict numbers add --do_regression." if numbers else "Is it the right column? Use --label_column."
        raise PippinError(f"{where} has {len(counts)} different labels in {len(words)} rows. {hint}")
    if numbers and 0 < counts.get("-1", 0) < 0.05 * len(words):
        row = words.index("-1") + 1
        raise PippinError(
            f"{where}, row {row}: the label is -1 in {counts['-1']} of {len(words)} rows, which usually marks rows "
            "without a label. Give them a label or remove them."
        )
    return Labels(tuple(sorted(counts, key=int) if numbers else sorted(counts)))


def look_alikes(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Classes that differ only in case, which is mostly a slip of the pen."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(name.casefold(), []).append(name)
    return [tuple(group) for group in groups.values() if len(group) > 1]
