"""Rows that Python holds (a DataFrame, a list of dicts, a Dataset …) as a file, or a clear word on why they are none.

pandas and datasets are never imported here: who hands in an object of theirs has done it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pippin.data.folders import split_name
from pippin.data.kept_rows import BATCH, ArrowRows, store
from pippin.data.tables import listed
from pippin.errors import PippinError, shown

_FOR_TEXTS = "Give texts and labels: pippin.train(texts=[…], labels=[…])."
_KINDS = (
    "a path, a pandas DataFrame, a list of dicts, a dict of columns, a Dataset of the package datasets, or texts= and "
    "labels="
)


@dataclass(frozen=True)
class Kept:
    """Where rows are kept, and what a person should know of it."""

    path: Path
    notes: tuple[str, ...] = ()


def keep(data: Any, role: str = "", origin: str = "") -> Kept:
    """Write rows where they can be read again; ``role`` is "validation" or "test", and nothing for training rows.

    ``origin`` is what messages call them, where that is not their class.
    """
    splits = _splits(data)
    if splits is not None and role:
        raise PippinError(f"{role} is a {_class(data)} of {listed(map(str, splits))}: give one of them.")
    notes: list[str] = []
    if splits is None:
        tables = {f"{_name_of(data)}.parquet": _rows(data, origin or _noun(data, role), labels_optional=role == "test")}
    else:
        used = {str(name): split_name(str(name)) for name in splits}
        if unused := [name for name, split in used.items() if split is None]:
            notes.append(f"not used: the split {', '.join(unused)}.")
        first = next(iter(splits.values()), None)
        tables = {
            f"{_name_of(first)}/{used[str(name)]}.parquet": _rows(table, f"the {name} split of the {_class(data)}")
            for name, table in splits.items()
            if used[str(name)]
        }
        if not any(file.endswith("/train.parquet") for file in tables):
            raise PippinError(f"the {_class(data)} has no split named train, only: {listed(map(str, splits))}.")
    entry, note = store(tables)
    return Kept(entry / next(iter(tables)).split("/")[0], (*notes, *([note] if note else [])))


def of_texts(texts: Any, labels: Any) -> dict[str, list[Any]]:
    """Texts, or pairs of texts, and their labels as columns."""
    for given, name in ((texts, "texts"), (labels, "labels")):
        if given is None:
            raise PippinError(f"{name} is missing: give texts and labels together, one label for each text.")
        if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
            raise PippinError(f"{name} is {shown(given)}: give a list, one for each row.")
    texts, labels = (given.tolist() if hasattr(given, "tolist") else list(given) for given in (texts, labels))
    if len(texts) != len(labels):
        raise PippinError(f"texts has {len(texts)} entries but labels has {len(labels)}: give one label for each text.")
    columns = _text_columns(texts)
    return {**columns, "label": labels}


def _text_columns(texts: list[Any]) -> dict[str, list[Any]]:
    sizes = [len(text) if isinstance(text, (tuple, list)) else 1 for text in texts]
    if set(sizes) <= {1} and not any(isinstance(text, (tuple, list)) for text in texts):
        return {"text": texts}
    odd = next((place for place, size in enumerate(sizes) if size != 2), None)
    if odd is not None:
        raise PippinError(f"texts[{odd}] is {shown(texts[odd])}, not a pair of texts as others are.")
    first, second = zip(*texts, strict=True)
    return {"text": list(first), "text_pair": list(second)}


def _splits(data: Any) -> Mapping[Any, Any] | None:
    """The tables of a DatasetDict, or of a dict of tables; None for a single table."""
    if not isinstance(data, Mapping) or not data:
        return None
    if _is_a(data, "datasets", "IterableDatasetDict"):
        raise _streamed(data)
    tables = [_is_table(value) or _is_a(value, "datasets", "IterableDataset") for value in data.values()]
    return data if all(tables) else None


def _is_table(value: Any) -> bool:
    return (
        _is_a(value, "pandas", "DataFrame")
        or _is_a(value, "datasets", "Dataset")
        or (isinstance(value, (list, tuple)) and bool(value) and all(isinstance(row, Mapping) for row in value))
        or (hasattr(value, "__arrow_c_stream__") and hasattr(value, "columns"))
    )


def _is_a(value: Any, package: str, kind: str) -> bool:
    """Whether a value is of a class of another package. Who hands one in has imported it."""
    module = sys.modules.get(package)
    return module is not None and isinstance(value, getattr(module, kind, ()))


def _class(data: Any) -> str:
    return type(data).__name__


def _noun(data: Any, role: str) -> str:
    return f"the {role} {_class(data)}" if role else f"the {_class(data)}"


def _name_of(data: Any) -> str:
    """What the run's folder is called after."""
    name = getattr(getattr(data, "info", None), "dataset_name", None)
    if isinstance(name, str):
        plain = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in name)[:60]
        if plain.strip("-"):
            return plain
    return "rows" if type(data).__module__ == "builtins" else _class(data).lower()


def _rows(data: Any, origin: str, labels_optional: bool = False) -> ArrowRows:
    """Any kind of rows as Arrow has them; refused where they are none, or where there are none."""
    if _is_a(data, "datasets", "IterableDataset"):
        raise _streamed(data)
    if _is_a(data, "datasets", "Dataset"):
        rows = _of_dataset(data, origin)
    elif _is_a(data, "pandas", "DataFrame"):
        rows = _of_columns([(name, data.iloc[:, place]) for place, name in enumerate(data.columns)], origin)
    elif labels_optional and _is_a(data, "pandas", "Series"):
        rows = _of_columns([(data.name if isinstance(data.name, str) else "text", data)], origin)
    elif _is_a(data, "pandas", "Series") or _is_a(data, "pandas", "Index"):
        raise PippinError(
            f"{origin} is one column, and rows have a text and a label. Give a DataFrame with both, or "
            "pippin.train(texts=df['text'], labels=df['label'])."
        )
    elif isinstance(data, Mapping):
        rows = _of_mapping(data, origin)
    elif hasattr(data, "__arrow_c_stream__"):  # polars, pyarrow, DuckDB …
        rows = _of_arrow(data, origin)
    elif isinstance(data, Iterable) and not isinstance(data, (str, bytes)):
        rows = _of_list(list(data), origin, labels_optional)
    else:
        raise PippinError(f"{shown(data)} is not a kind of rows that Pippin reads. Give {_KINDS}.")
    if not rows.schema.names:
        raise PippinError(f"{origin} has no columns. Give rows with a text and a label.")
    names = rows.schema.names
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise PippinError(f"{origin} has two columns named {listed(twice)}. Rename one.")
    return rows


def _streamed(data: Any) -> PippinError:
    return PippinError(
        f"an {type(data).__name__} is streamed, and training reads rows more than once. Load it without streaming=True."
    )


def _of_dataset(data: Any, origin: str) -> ArrowRows:
    """Features carry the names of the classes along, in the schema's metadata."""
    if not len(data):
        raise _no_rows(origin)
    return ArrowRows(origin, data.features.arrow_schema, data.with_format("arrow").iter(BATCH))


def _of_arrow(data: Any, origin: str) -> ArrowRows:
    import pyarrow as pa

    try:
        table = pa.table(data)
    except (TypeError, ValueError, pa.ArrowException):
        raise PippinError(f"{origin} is not a table. Give {_KINDS}.") from None
    return _of_columns([(name, table.column(place)) for place, name in enumerate(table.column_names)], origin)


def _of_mapping(data: Mapping[Any, Any], origin: str) -> ArrowRows:
    for name, cells in data.items():
        if isinstance(cells, (str, bytes, Mapping)) or not isinstance(cells, Iterable):
            raise PippinError(
                f"the column {shown(name)} is {shown(cells)}: give a list for each column, such as "
                '{"text": [...], "label": [...]}.'
            )
    columns = {name: cells if hasattr(cells, "__len__") else list(cells) for name, cells in data.items()}
    sizes = {str(name): len(cells) for name, cells in columns.items()}
    if len(set(sizes.values())) > 1:
        lengths = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise PippinError(f"the columns have different lengths: {lengths}. Every row needs a cell in each.")
    return _of_columns(list(columns.items()), origin)


def _of_list(data: list[Any], origin: str, labels_optional: bool) -> ArrowRows:
    if not data:
        raise _no_rows(origin)
    if all(isinstance(row, Mapping) for row in data):
        names = dict.fromkeys(name for row in data for name in row)
        return _of_columns([(name, [row.get(name) for row in data]) for name in names], origin)
    if labels_optional and all(isinstance(row, (str, tuple, list)) for row in data):
        return _of_columns(list(_text_columns(data).items()), origin)
    odd = next(place for place, row in enumerate(data) if not isinstance(row, Mapping))
    if all(isinstance(row, str) for row in data):
        raise PippinError(f"{origin} holds texts without labels. {_FOR_TEXTS}")
    raise PippinError(f"row {odd + 1} of {origin} is {shown(data[odd])}, not a dict such as "
                      f'{{"text": "…", "label": "…"}}. {_FOR_TEXTS}')  # fmt: skip


def _of_columns(columns: list[tuple[Any, Any]], origin: str) -> ArrowRows:
    """Columns of any sequences as one table; a cell of NaN, None or NA is empty."""
    import pyarrow as pa

    if columns and not len(columns[0][1]):
        raise _no_rows(origin)
    arrays = [_array(cells, str(name), origin) for name, cells in columns]
    table = pa.table(arrays, names=[str(name) for name, _ in columns]) if columns else pa.table({})
    return ArrowRows(origin, table.schema, [table])


def _no_rows(origin: str) -> PippinError:
    return PippinError(f"{origin} has no rows. Give rows with a text and a label.")


def _array(cells: Any, name: str, origin: str) -> Any:
    import pyarrow as pa

    try:
        array = cells if isinstance(cells, pa.ChunkedArray) else pa.array(cells, from_pandas=True)
        if pa.types.is_dictionary(array.type):
            array = pa.chunked_array([array]) if isinstance(array, pa.Array) else array
            array = pa.chunked_array([chunk.dictionary_decode() for chunk in array.chunks], array.type.value_type)
        if not isinstance(array.type, pa.BaseExtensionType):
            return array
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # cells of several kinds, or of none it knows
        pass
    words = [_word(cell, f"{origin}, row {place}, column {name!r}") for place, cell in enumerate(cells, 1)]
    return pa.array(words, pa.large_string())


def _word(cell: Any, where: str) -> str | None:
    """A cell of a column with several kinds, as text. Lists and the like would pass for a text that nobody wrote."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)) or type(cell).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(cell, (list, tuple, dict, set, bytes)) or bool(getattr(cell, "shape", None)):
        raise PippinError(f"{where} holds {shown(cell)}, beside cells of other kinds. Give one kind in each column.")
    text = str(cell)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise PippinError(f"{where} holds half of a character ({shown(text)}). Correct it or remove the row.") from None
    return text
