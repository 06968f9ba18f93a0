"""Labels that are still text when they reach the Trainer, as numbers.

Rows of a CSV file keep a column's kind when a script replaces its texts by numbers: `datasets` turns them into texts
again, and transformers' collator stops with "too many dimensions 'str'".
"""

from __future__ import annotations

from typing import Any

from pippin.drop_in.errors import Refusal

_COLUMNS = ("label", "labels", "label_ids")
_TEXT = ("string", "large_string", "string_view")


def with_numbers(dataset: Any, config: Any) -> Any:
    """The same rows of `datasets` with numbers for text labels; other rows as they are."""
    column = next((name for name in _COLUMNS if name in dataset.column_names), None)
    if column is None or config is None or getattr(dataset.features[column], "dtype", None) not in _TEXT:
        return dataset
    texts = list(dataset[column])
    numbers = {text: _number(text, config) for text in set(texts)}
    unknown = sorted(str(text) for text, number in numbers.items() if number is None)
    if unknown:
        raise Refusal(
            f"the column {column} holds text, and the model has no label {', '.join(map(repr, unknown[:3]))}. It has "
            f"{', '.join(map(repr, list(config.label2id)[:6]))}: load it with label2id=… and id2label=…, or use "
            "numbers in the column."
        )
    return dataset.remove_columns(column).add_column(column, [numbers[text] for text in texts])


def _number(text: str | None, config: Any) -> int | float | None:
    """A label's number: by the model's own names first, else the number that the text itself writes."""
    if text is None:
        return None
    names = getattr(config, "label2id", None) or {}
    if text in names:
        return int(names[text])
    try:
        if getattr(config, "num_labels", 0) == 1:
            return float(text)
        number = int(text)
    except ValueError:
        return None
    return number if -1 <= number < config.num_labels else None
