"""Shared by the tests of data: from settings to a Dataset, or to the one message that stops the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pippin.errors import PippinError
from pippin.recipe.reading import recipe_from
from pippin.tasks.sequence.dataset import Dataset, prepare
from pippin.tasks.sequence.sources import find_source

WORDS = ["alpha", "bravo", "delta", "gamma", "kilo", "lima", "mike", "oscar", "papa", "romeo", "sierra", "tango"]


def load(**settings: Any) -> Dataset:
    """What a job does with its data before it loads a model."""
    recipe = recipe_from(settings).recipe
    return prepare(find_source(recipe), recipe)


def refusal(*parts: str, **settings: Any) -> str:
    """The message with which the data are refused: one line, with these parts in it."""
    with pytest.raises(PippinError) as caught:
        load(**settings)
    message = str(caught.value)
    assert "\n" not in message
    for part in parts:
        assert part in message, message
    return message


def text(number: int) -> str:
    """A short text that differs for each number."""
    return f"{WORDS[number % 12]} number {number} says {WORDS[(number * 7 + 3) % 12]}"


def lines(count: int, labels: tuple[str, ...] = ("pos", "neg"), start: int = 0, separator: str = ",") -> list[str]:
    """Lines of a good file, without header: text and label."""
    return [f"{text(start + number)}{separator}{labels[number % len(labels)]}" for number in range(count)]


def write(path: str | Path, *parts: str | list[str], encoding: str = "utf-8", end: str = "\n") -> str:
    """Write lines to a file in the test's folder; returns its name."""
    flat = [line for part in parts for line in ([part] if isinstance(part, str) else part)]
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes("".join(line + end for line in flat).encode(encoding))
    return str(path)


def changed(rows: list[str], row: int, line: str) -> list[str]:
    """The same rows with another line in place of row `row` (from 1)."""
    return [*rows[: row - 1], line, *rows[row:]]
