"""JSON and JSONL text into columns. Read with the standard library: pyarrow would turn texts that look like dates."""

from __future__ import annotations

import json
from typing import Any

from pippin.data.tables import Table
from pippin.errors import PippinError


def parse_json(text: str, origin: str) -> Table:
    """An array of objects, an object of columns, an object with `data`, or one object per line."""
    start = text.lstrip()[:1]
    if start == "[":
        return _from_rows(_whole(text, origin), origin)
    try:
        whole = json.loads(text)
    except ValueError:
        return _from_rows(_lines(text, origin), origin)
    if isinstance(whole, dict) and isinstance(whole.get("data"), list):
        return _from_rows(whole["data"], origin)
    if isinstance(whole, dict) and whole and all(isinstance(values, list) for values in whole.values()):
        if len({len(values) for values in whole.values()}) > 1:
            sizes = ", ".join(f"{name} {len(values)}" for name, values in whole.items())
            raise PippinError(f"{origin}: its columns differ in length ({sizes}).")
        return Table(whole, origin)
    return _from_rows([whole], origin)


def _whole(text: str, origin: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise PippinError(f"{origin}, line {error.lineno}: not valid JSON ({error.msg}).") from None


def _lines(text: str, origin: str) -> list[Any]:
    rows = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError as error:
            raise PippinError(
                f"{origin}, line {number}: not valid JSON ({error.msg} at character {error.colno}). "
                "Each line must hold one object."
            ) from None
    return rows


def _from_rows(rows: list[Any], origin: str) -> Table:
    names: dict[str, None] = {}
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise PippinError(f"{origin}, row {number}: expected an object like {{'text': …}}, found {row!r:.60}.")
        names.update(dict.fromkeys(row))
    return Table({name: [row.get(name) for row in rows] for name in names}, origin)
