"""Write src/pippin/recipe/settings.py: every setting with its type and its help, for editors and type checkers.

    python tools/make_settings.py

The fields of the Recipe are the source; `tests/recipe/test_settings.py` fails where the file is behind them.
"""

from __future__ import annotations

import json
import textwrap
import types
import typing
from pathlib import Path
from typing import Any, Literal, Union

from pippin.recipe.foreign import SHORT_NAMES
from pippin.recipe.signature import in_python, python_settings, python_type

TARGET = Path(__file__).parents[1] / "src" / "pippin" / "recipe" / "settings.py"
_HEAD = '''"""What `pippin.train` takes by keyword. Made by tools/make_settings.py; do not edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict


class Settings(TypedDict, total=False):
'''


def source() -> str:
    """The file's content."""
    fields = python_settings()
    entries = [_entry(name, name, field.help) for name, field in fields.items()]
    entries += [_entry(short, name, f"Short for {name}.") for short, name in SHORT_NAMES.items()]
    return _HEAD + "".join(entries)


def _entry(name: str, typed_as: str, help_text: str) -> str:
    words = in_python(help_text).replace("\\", "\\\\")
    text = textwrap.wrap(f'"""{words}"""', 116, break_long_words=False, break_on_hyphens=False)
    return "\n".join([_annotation(name, python_type(typed_as)), *(f"    {line}" for line in text)]) + "\n"


def _annotation(name: str, hint: Any) -> str:
    line = f"    {name}: {_words(hint)}"
    if len(line) <= 120:
        return line
    inside = typing.get_args(hint)  # one Literal that is too long for a line, as the formatter would break it
    return "\n".join([f"    {name}: Literal[", *(f"        {json.dumps(each)}," for each in inside), "    ]"])


def _words(hint: Any) -> str:
    """A type as a person writes it.

    >>> _words(Literal["a", "b"] | None)
    'Literal["a", "b"] | None'
    """
    if hint is type(None):
        return "None"
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        return " | ".join(map(_words, arguments))
    if origin is Literal:
        return f"Literal[{', '.join(map(json.dumps, arguments))}]"
    name = getattr(origin or hint, "__name__", str(hint))
    return f"{name}[{', '.join(map(_words, arguments))}]" if arguments else name


if __name__ == "__main__":
    TARGET.write_text(source(), encoding="utf-8")
