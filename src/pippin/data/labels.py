"""Labels: what the classes are, and each row's class as a number. Values are compared as plain words."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pippin.errors import PippinError

_WHOLE_FLOAT = re.compile(r"([-+]?\d+)\.0+")
_WHOLE = re.compile(r"[-+]?\d+")
_FRACTION = re.compile(r"[-+]?\d*[.,]\d+([eE][-+]?\d+)?")
#: What programs write for a value that is missing.
_MISSING_MARKS = {"nan", "none", "null", "n/a", "na", "<na>", "undefined", "#n/a", "?"}
#: Up to so many classes are believed without asking whether the column is the right one.
_FEW_CLASSES = 20


@dataclass(frozen=True)
class Labels:
    """The classes in the order of the model's outputs; none for regression."""

    names: tuple[str, ...]
    regression: bool = False

    @property
    def outputs(self) -> int:
        """How many numbers the model's head gives."""
        return 1 if self.regression else len(self.names)


def is_missing(value: Any) -> bool:
    """Whether a cell holds nothing: null, NaN, or blanks."""
    return (
        value is None
        or (isinstance(value, float) and math.isnan(value))
        or (isinstance(value, str) and not value.strip())
    )


def label_word(value: Any) -> str | None:
    """A label as a plain word: stripped, whole numbers without a decimal point; None where it is missing.

    Truth values are written alike, whether they come from JSON (true), Python (True) or a spreadsheet (TRUE).

    >>> [label_word(value) for value in (" yes ", 1, 1.0, "1.0", True, "TRUE", "", None)]
    ['yes', '1', '1', '1', 'true', 'true', None, None]
    """
    if is_missing(value):
        return None
    word = str(value).strip()
    if word.lower() in ("true", "false"):
        return word.lower()
    whole = _WHOLE_FLOAT.fullmatch(word)
    return whole[1] if whole else word


def label_number(value: Any) -> float | None:
    """A label as a number to predict; None where it is missing or no number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def find_classes(words: list[str], column: str, where: Callable[[int], str], certain: bool) -> tuple[str, ...]:
    """The classes of the training rows, or the mistake that would train a wrong model silently.

    `column` says file and column, `where(place)` file and row; `certain` that the user named the column.
    """
    counts = Counter(words)
    numbers = all(_WHOLE.fullmatch(word) for word in counts)
    if all(label_number(word.replace(",", ".")) is not None for word in counts):
        fraction = next((word for word in counts if _FRACTION.fullmatch(word)), None)
        if fraction:
            raise PippinError(
                f"{column} holds numbers such as {fraction}. "
                "To predict numbers add --do_regression; for classes use whole numbers or words."
            )
    too_many = len(counts) > max(_FEW_CLASSES, len(words) // 2) and not certain
    if too_many or len(counts) == len(words) > _FEW_CLASSES:
        hint = (
            "To predict numbers add --do_regression; to learn them as classes after all, name the column "
            "with --label_column."
            if numbers
            else "Is it the right column? Name it with --label_column."
        )
        raise PippinError(f"{column} has {len(counts)} different labels in {len(words)} rows. {hint}")
    if numbers and "0" in counts and 0 < counts.get("-1", 0) < 0.05 * len(words):
        raise PippinError(
            f"{where(words.index('-1'))}, {column.rpartition(', ')[2]}: the label is -1, as in {counts['-1']} of "
            f"{len(words)} rows, which usually marks a row without a label. Give these rows a label or remove them; "
            "if -1 is a class like the others, write the classes as words."
        )
    return tuple(sorted(counts, key=int) if numbers else sorted(counts))


def refuse_single_class(words: list[str], column: str) -> None:
    """Stop where every training row has the same class."""
    if len(set(words)) == 1:
        raise PippinError(
            f"{column}: every row has the label {words[0]!r}, so there is nothing to tell apart. "
            "Add rows of other classes, or name another column with --label_column."
        )


def doubts_about_classes(names: tuple[str, ...], words: list[str]) -> list[str]:
    """What may be a slip in the classes, as sentences: it can be meant, so it does not stop the run."""
    counts = Counter(words)
    doubts = [
        f"the classes {' and '.join(map(repr, group))} differ only in case or in invisible characters"
        for group in look_alikes(names)
    ]
    marks = [name for name in names if name.lower() in _MISSING_MARKS]
    if marks:
        doubts.append(f"the class {marks[0]!r} ({counts[marks[0]]} rows) may stand for a missing label")
    if "-1" in counts and "0" in counts:
        doubts.append(f"the label -1 ({counts['-1']} rows) is taken as a class like the others")
    for count, what in ((1, "only one training row"), (0, "no training row")):
        rare = [name for name in names if counts[name] == count]
        if rare:
            shown = ", ".join(rare[:5]) + (f" and {len(rare) - 5} more" if len(rare) > 5 else "")
            doubts.append(f"{len(rare)} of {len(names)} classes {'have' if len(rare) > 1 else 'has'} {what}: {shown}")
    return doubts


def look_alikes(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Classes that look the same but for case: mostly a slip of the pen."""
    groups: dict[str, list[str]] = {}
    for name in names:
        visible = "".join(letter for letter in name if unicodedata.category(letter) != "Cf")
        plain = " ".join(unicodedata.normalize("NFKC", visible).casefold().split())
        groups.setdefault(plain, []).append(name)
    return [tuple(group) for group in groups.values() if len(group) > 1]
