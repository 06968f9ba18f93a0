"""JSON and JSONL text into columns. Read with the standard library: pyarrow would turn texts that look like dates.

One object per line is read line by line, and can be of any size; all other JSON is read whole.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterator
from typing import Any

from pippin.data.chunks import in_chunks
from pippin.data.tables import Table, TableStream, listed, stream_of
from pippin.data.text_files import EndlessLine, lines_of
from pippin.errors import PippinError, shown
from pippin.plain_files import parse_json

_WANTED = 'Write a list of objects like [{"text": …, "label": …}], or one object per line.'

#: What messages name those by who speak.
_SPEAKERS = {"role", "from"}
#: Rows of one kind have the same keys; more than this are no columns, and each takes up room in every row.
_MOST_KEYS = 4096

Lines = Callable[[], Iterator[str]]


class _TwiceError(ValueError):
    """An object with a key that stands in it twice: of its two values the first would be lost without a word."""


class _Twice(dict[str, Any]):
    """Such an object, where it is to be found again."""


def open_json(blocks: Callable[[], Iterator[str]], origin: str) -> TableStream:
    """An array of objects, an object of columns, an object with `data`, or one object per line."""

    def lines() -> Iterator[str]:
        return lines_of(blocks(), origin)

    if _has_objects_in_lines(lines()):
        return _open_lines(lines, origin)
    text = "".join(blocks())
    try:
        whole = _parse(text)
    except _TwiceError as error:
        raise PippinError(f"{origin}{_row_of_twice(text)}: {error}.") from None
    except json.JSONDecodeError as error:
        # Lines were meant, and the first is wrong.
        first = text.strip().split("\n", 1)[0].strip()
        if first.startswith("{") and len(first) > 1:
            return _open_lines(lines, origin)
        raise PippinError(
            f"{origin}, line {error.lineno}: not valid JSON ({error.msg} at character {error.colno}). {_WANTED}"
        ) from None
    except ValueError as error:
        raise PippinError(f"{origin}: {error}, which is not read. {_WANTED}") from None
    return stream_of(_from_value(whole, origin))


def _has_objects_in_lines(lines: Iterator[str]) -> bool:
    """Whether the first line is a whole object and another line follows: then the text is no single value."""
    filled = (line for line in lines if line.strip())
    try:
        first, second = next(filled, ""), next(filled, None)
        if second is None or not first.lstrip().startswith("{"):
            return False
        _parse(first)
    except _TwiceError:
        return True
    except (EndlessLine, ValueError):  # all of it may stand on one line
        return False
    return True


def _open_lines(lines: Lines, origin: str) -> TableStream:
    names: dict[str, None] = {}
    rows = 0
    stray: str | None = None
    for rows, (row, number, _) in enumerate(_objects(lines(), origin), 1):
        if isinstance(row, dict):
            _add_keys(names, row, origin)
        else:
            stray = stray or _no_object(origin, f"row {rows} (line {number})", row)
    if stray:
        raise PippinError(stray)

    def parts() -> Iterator[Table]:
        for first, chunk in in_chunks(_objects(lines(), origin), lambda row: row[2]):
            columns = {name: [row.get(name) for row, _, _ in chunk] for name in names}
            yield Table(columns, origin, lines=array("q", (number for _, number, _ in chunk)), first=first)

    return TableStream(origin, tuple(names), parts, rows)


def _objects(lines: Iterator[str], origin: str) -> Iterator[tuple[Any, int, int]]:
    """The value of each line that has one, with the line's number and length."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        line = line.removesuffix("\n")
        try:
            yield _parse(line), number, len(line)
        except json.JSONDecodeError as error:
            raise PippinError(
                f"{origin}, line {number}: not valid JSON ({error.msg} at character {error.colno}): {line[:60]!r}. "
                "Each line must hold one object."
            ) from None
        except ValueError as error:
            raise PippinError(f"{origin}, line {number}: {error}, in {shown(line)}.") from None


def _parse(text: str) -> Any:
    return parse_json(text, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _TwiceError(f"the key {shown(max(names, key=names.count))} stands twice in one object. Keep one")
    return found


def _row_of_twice(text: str) -> str:
    """The first row that holds such an object, for a message; nothing where that is no row."""

    def mark(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        return found if len(found) == len(pairs) else _Twice(found)

    try:
        whole = parse_json(text, object_pairs_hook=mark)
    except ValueError:  # something else is wrong further on
        return ""
    rows = whole.get("data") if isinstance(whole, dict) else whole
    for number, row in enumerate(rows if isinstance(rows, list) else [], 1):
        waiting = [row]
        while waiting:
            item = waiting.pop()
            if isinstance(item, _Twice):
                return f", row {number}"
            waiting += item.values() if isinstance(item, dict) else item if isinstance(item, list) else []
    return ""


def _add_keys(names: dict[str, None], row: dict[str, Any], origin: str) -> None:
    names.update(dict.fromkeys(row))
    if len(names) > _MOST_KEYS:
        raise PippinError(f"{origin}: its rows have more than {_MOST_KEYS} different keys. {_WANTED}")


def _from_value(whole: Any, origin: str) -> Table:
    if isinstance(whole, list):
        return _from_rows(whole, origin)
    if not isinstance(whole, dict):
        raise PippinError(f"{origin}: expected rows, found {shown(whole)}. {_WANTED}")
    if isinstance(whole.get("data"), list):
        return _from_rows(whole["data"], origin)
    if whole and all(isinstance(values, list) for values in whole.values()) and not _is_chat(whole):
        return _from_columns(whole, origin)
    if whole and all(isinstance(values, dict) for values in whole.values()):
        raise PippinError(
            f"{origin}: objects within an object ({listed(whole, 3)}) are not rows. {_WANTED} "
            'With pandas: frame.to_json(path, orient="records").'
        )
    return _from_rows([whole], origin)


def _is_chat(row: dict[str, list[Any]]) -> bool:
    """Whether an object is a single row that holds the messages of a chat, rather than columns."""
    return any(values and all(isinstance(value, dict) and _SPEAKERS & value.keys() for value in values)
               for values in row.values())  # fmt: skip


def _from_columns(whole: dict[str, list[Any]], origin: str) -> Table:
    if all(isinstance(value, dict) for values in whole.values() for value in values):
        raise PippinError(
            f"{origin} holds several lists of rows ({listed(whole)}). Write each to a file of its own, "
            "and name them with --train_file, --validation_file and --test_file."
        )
    if len({len(values) for values in whole.values()}) > 1:
        sizes = listed(f"{name[:40]} {len(values)}" for name, values in whole.items())
        raise PippinError(f"{origin}: its columns differ in length ({sizes}). Make them equal.")
    return Table(whole, origin)


def _from_rows(rows: list[Any], origin: str) -> Table:
    names: dict[str, None] = {}
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise PippinError(_no_object(origin, f"row {number}", row))
        _add_keys(names, row, origin)
    return Table({name: [row.get(name) for row in rows] for name in names}, origin)


def _no_object(origin: str, row: str, value: Any) -> str:
    return f"{origin}, {row}: expected an object, found {shown(value)}. {_WANTED}"
