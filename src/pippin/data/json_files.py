"""JSON and JSONL text into columns. Read with the standard library: pyarrow would turn texts that look like dates."""

from __future__ import annotations

import json
from typing import Any

from pippin.data.tables import Table
from pippin.errors import PippinError

_WANTED = 'Write a list of objects like [{"text": …, "label": …}], or one object per line.'


def parse_json(text: str, origin: str) -> Table:
    """An array of objects, an object of columns, an object with `data`, or one object per line."""
    try:
        whole = json.loads(text)
    except json.JSONDecodeError as error:
        # An object that ends before the text does is the first of many, one per line.
        first = text.strip().split("\n", 1)[0].strip()
        if first.startswith("{") and len(first) > 1:
            return _from_lines(text, origin)
        raise PippinError(
            f"{origin}, line {error.lineno}: not valid JSON ({error.msg} at character {error.colno}). {_WANTED}"
        ) from None
    if isinstance(whole, list):
        return _from_rows(whole, origin)
    if not isinstance(whole, dict):
        raise PippinError(f"{origin}: expected rows, found {whole!r:.60}. {_WANTED}")
    if isinstance(whole.get("data"), list):
        return _from_rows(whole["data"], origin)
    if whole and all(isinstance(values, list) for values in whole.values()):
        return _from_columns(whole, origin)
    if whole and all(isinstance(values, dict) for values in whole.values()):
        raise PippinError(
            f"{origin}: objects within an object ({', '.join(list(whole)[:3])} …) are not rows. {_WANTED} "
            'With pandas: frame.to_json(path, orient="records").'
        )
    return _from_rows([whole], origin)


def _from_columns(whole: dict[str, list[Any]], origin: str) -> Table:
    if all(isinstance(value, dict) for values in whole.values() for value in values):
        raise PippinError(
            f"{origin} holds several lists of rows ({', '.join(whole)}). Write each to a file of its own, "
            "and name them with --train_file, --validation_file and --test_file."
        )
    if len({len(values) for values in whole.values()}) > 1:
        sizes = ", ".join(f"{name} {len(values)}" for name, values in whole.items())
        raise PippinError(f"{origin}: its columns differ in length ({sizes}). Make them equal.")
    return Table(whole, origin)


def _from_lines(text: str, origin: str) -> Table:
    rows, lines = [], []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError as error:
            raise PippinError(
                f"{origin}, line {number}: not valid JSON ({error.msg} at character {error.colno}): {line[:60]!r}. "
                "Each line must hold one object."
            ) from None
        lines.append(number)
    return _from_rows(rows, origin, lines)


def _from_rows(rows: list[Any], origin: str, lines: list[int] | None = None) -> Table:
    names: dict[str, None] = {}
    for place, row in enumerate(rows):
        if not isinstance(row, dict):
            line = f" (line {lines[place]})" if lines else ""
            raise PippinError(f"{origin}, row {place + 1}{line}: expected an object, found {row!r:.60}. {_WANTED}")
        names.update(dict.fromkeys(row))
    return Table({name: [row.get(name) for row in rows] for name in names}, origin, lines=lines or ())
