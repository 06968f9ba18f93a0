"""Labels: what the classes are, and each row's class as a number. Values are compared as plain words."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection
from typing import Any

from pippin.errors import PippinError, shown

_WHOLE_FLOAT = re.compile(r"([-+]?\d+)\.0+")
_WHOLE = re.compile(r"[-+]?\d+")
_FRACTION = re.compile(r"[-+]?\d*[.,]\d+([eE][-+]?\d+)?")
#: What programs write for a value that is missing.
_MISSING_MARKS = {"nan", "none", "null", "n/a", "na", "<na>", "undefined", "#n/a", "?"}
#: Letters of Greek and Cyrillic that nobody can tell from a Latin one.
_LOOK_LIKE_LATIN = str.maketrans(
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0405\u0406\u0408"  # Cyrillic capitals
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0455\u0456\u0458\u04bb\u0501"  # and small letters
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"  # Greek capitals
    "\u03bf\u03bd",  # and small letters
    "ABEKMHOPCTXSIJaeopcyxsijhdABEZHIKMNOPTYXov",
)
#: The model's own numbers, float32, go no further.
LARGEST_NUMBER = 3.4028234e38
#: Classes, or groups of them, that a warning names.
_MOST_SHOWN = 5
#: A label of more digits is an identifier rather than a number.
_MOST_DIGITS = 100
#: Up to so many classes are believed without asking whether the column is the right one.
_FEW_CLASSES = 20


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
    except (TypeError, ValueError, OverflowError):
        return None
    return number if abs(number) <= LARGEST_NUMBER else None


def flaw(value: Any) -> str | None:
    """What keeps a label from being written down, or a text from being read, if anything."""
    if not isinstance(value, str):
        return None
    if "\x00" in value:
        return f"holds a NUL byte ({shown(value)})"
    try:
        value.encode()
    except UnicodeEncodeError:
        return f"holds half of a character ({shown(value)})"
    return None


def find_classes(words: list[str], column: str, where: Callable[[int], str], certain: bool) -> tuple[str, ...]:
    """The classes of the training rows, or the mistake that would train a wrong model silently.

    `column` says file and column, `where(place)` file and row; `certain` that the user named the column.
    """
    counts = Counter(words)
    numbers = all(_WHOLE.fullmatch(word) and len(word) <= _MOST_DIGITS for word in counts)
    if all(label_number(word.replace(",", ".")) is not None for word in counts):
        fraction = next((word for word in counts if _FRACTION.fullmatch(word)), None)
        if fraction:
            several = "; for several labels in a cell add --several_labels on" if "," in fraction else ""
            raise PippinError(
                f"{column} holds numbers such as {fraction}. "
                f"To predict numbers add --do_regression; for classes use whole numbers or words{several}."
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
    return in_order(counts)


def in_order(words: Collection[str]) -> tuple[str, ...]:
    """Whole numbers by their size, words by their letters."""
    numbers = all(_WHOLE.fullmatch(word) and len(word) <= _MOST_DIGITS for word in words)
    return tuple(sorted(words, key=int) if numbers else sorted(words))


def refuse_single_class(words: list[str], column: str) -> None:
    """Stop where every training row has the same class."""
    if len(set(words)) == 1:
        raise PippinError(
            f"{column}: every row has the label {words[0]!r}, so there is nothing to learn. "
            "Add rows of other classes, or name another column with --label_column."
        )


def doubts_about_classes(names: tuple[str, ...], words: list[str]) -> list[str]:
    """What may be a slip in the classes, as sentences: it can be meant, so it does not stop the run."""
    counts = Counter(words)
    alike = look_alikes(names)
    doubts = [f"the classes {_joined(group)} {why}" for group, why in alike[:_MOST_SHOWN]]
    if len(alike) > _MOST_SHOWN:
        doubts.append(f"{len(alike) - _MOST_SHOWN} more groups of classes differ by as little")
    marks = [name for name in names if name.lower() in _MISSING_MARKS]
    if marks:
        doubts.append(f"the class {marks[0]!r} ({counts[marks[0]]} rows) may stand for a missing label")
    if "-1" in counts and "0" in counts:
        doubts.append(f"the label -1 ({counts['-1']} rows) is treated as a class like the others")
    numbers = sorted(number for name in names if (number := label_number(name)) is not None)
    if len(numbers) == len(names) > _FEW_CLASSES and numbers[-1] - numbers[0] >= len(names):
        doubts.append(
            f"the labels are {len(names)} different numbers, taken as classes: to predict numbers, add --do_regression"
        )
    for count, what in ((1, "only one training row"), (0, "no training row")):
        rare = [name for name in names if counts[name] == count]
        if rare:
            more = f" and {len(rare) - _MOST_SHOWN} more" if len(rare) > _MOST_SHOWN else ""
            few = ", ".join(rare[:_MOST_SHOWN]) + more
            doubts.append(f"{len(rare)} of {len(names)} classes {'have' if len(rare) > 1 else 'has'} {what}: {few}")
    return doubts


def look_alikes(names: tuple[str, ...]) -> list[tuple[tuple[str, ...], str]]:
    """Classes that are told apart by a program and by nobody else, mostly a slip of the pen; and what it is."""
    found: list[tuple[tuple[str, ...], str]] = []
    told: dict[str, int] = {}
    for key, why in (
        (_without_case, "differ only in case, in invisible characters or in how a character is written"),
        (_as_number, "are the same number"),
        (_as_seen, "look alike"),
    ):
        groups: dict[str, list[str]] = {}
        for name in names:
            groups.setdefault(key(name), []).append(name)
        for group in groups.values():
            if len(group) > 1 and (group[0] not in told or len({told.get(name) for name in group}) > 1):
                told.update(dict.fromkeys(group, len(found)))
                found.append((tuple(group), why + (_foreign_letters(group) if key is _as_seen else "")))
    return found


def _without_case(name: str) -> str:
    seen = "".join(letter for letter in name if unicodedata.category(letter) != "Cf")
    return " ".join(unicodedata.normalize("NFKC", seen).casefold().split())


def _as_number(name: str) -> str:
    """The number that a name writes, else the name itself."""
    number = label_number(name) if len(name) <= _MOST_DIGITS else None
    return name if number is None else repr(number + 0.0)


def _as_seen(name: str) -> str:
    return unicodedata.normalize("NFKC", name).translate(_LOOK_LIKE_LATIN)


def _foreign_letters(group: list[str]) -> str:
    """Which letter is not the Latin one that it looks like."""
    letters = dict.fromkeys(letter for name in group for letter in name if ord(letter) in _LOOK_LIKE_LATIN)
    return f", but for {', '.join(unicodedata.name(letter) for letter in list(letters)[:3])}" if letters else ""


def _joined(names: tuple[str, ...]) -> str:
    return f"{', '.join(map(repr, names[:-1]))} and {names[-1]!r}"
