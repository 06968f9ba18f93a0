"""HTML put together so that no text in it ever acts: everything is escaped but what was put together here."""

from __future__ import annotations

import html as escaping
import string
from collections.abc import Iterable
from typing import Any

from pippin.text import visible


class Html(str):
    """A piece of a page. What is not of this class is text, whatever it looks like."""


def html(template: str, *values: object, **named: object) -> Html:
    """A template that stands in our source, filled in as ``str.format`` does it, with every value escaped.

    >>> html("<b>{:.1f}</b> {}", 0.25, "<script>")
    '<b>0.2</b> &lt;script&gt;'
    """
    return Html(_FORMATTER.vformat(template, values, named))


def joined(parts: Iterable[object], between: str = "") -> Html:
    """Pieces one after another; those that are no Html are escaped."""
    return Html(between.join(map(escaped, parts)))


def escaped(value: object) -> Html:
    """Words from anywhere as words: no tags, and no characters that turn the writing round."""
    return value if isinstance(value, Html) else Html(escaping.escape(visible(str(value))))


class _Escaping(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        try:
            text = value if isinstance(value, Html) else format(value, format_spec)
        except (ValueError, TypeError):  # no number, though one was wanted: shown as it is
            text = str(value)
        return escaped(text)


_FORMATTER = _Escaping()
