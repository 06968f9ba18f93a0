"""How to use a trained model on the command line."""

from __future__ import annotations

import shlex


def use_line(command: str, folder: str, columns: tuple[str, ...], first: str = "…", second: str = "…") -> str:
    """What to type for a model that is used with this command and has so many texts a row.

    >>> use_line("predict", "runs/a", ("one", "two"))
    'pippin predict runs/a --text "…" --text2 "…"'
    >>> use_line("predict", "runs/a", ("one", "two", "three")), use_line("chat", "my chats", ("messages",))
    ('pippin predict runs/a --file FILE', "pippin chat 'my chats'")
    """
    name, *flags = command.split()
    words = ["pippin", name, shlex.quote(folder), *flags]
    if name == "predict":
        words.append(_text_flags(columns, first, second))
    return " ".join(words)


def _text_flags(columns: tuple[str, ...], first: str, second: str) -> str:
    if len(columns) > 2:
        return "--file FILE"
    return f'--text "{first}"' + (f' --text2 "{second}"' if len(columns) == 2 else "")
