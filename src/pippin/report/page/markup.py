"""HTML put together so that no text in it ever acts: everything is escaped but what was put together here."""

from __future__ import annotations

import html as escaping
import re
import string
from collections.abc import Iterable
from typing import Any

from pippin.text import visible

#: Behind these a long name may go on in the next line.
_JOINTS = re.compile(r"[_/]+")
#: What a browser would break behind its hyphens, and nobody could read then.
_FLAG, _WORD = re.compile(r"(?<![\w-])--?[a-z]\w*"), re.compile(r"\S+")


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


def theirs(text: object) -> Html:
    """The user's words beside ours: they may run from right to left, and be long names that break where they may.

    >>> theirs("card_lost")
    '<bdi dir="auto">card_<wbr>lost</bdi>'
    """
    if isinstance(text, Html):
        return text
    return html('<bdi dir="auto">{}</bdi>', Html(_JOINTS.sub(r"\g<0><wbr>", escaped(text))))


def shortened(text: str, most: int) -> Html:
    """The user's name with its middle left out where it is long; the whole of it shows under the pointer.

    >>> shortened("google-bert/bert-base-cased", 14)
    '<bdi dir="auto" class="name" title="google-bert/bert-base-cased">google-…-cased</bdi>'
    """
    cut = text if len(text) <= most else f"{text[: most // 2]}…{text[len(text) - (most - 1) // 2 :]}"
    return html('<bdi dir="auto" class="name" title="{}">{}</bdi>', text, cut)


def with_flags(text: object) -> Html:
    """A sentence of ours, in which no flag is broken at its hyphens.

    >>> with_flags("leave out --epochs")
    'leave out <span class="flag">--epochs</span>'
    """
    return Html(_FLAG.sub(r'<span class="flag">\g<0></span>', escaped(text)))


def unbroken(line: str) -> Html:
    """A line to type, that a browser breaks between its words and nowhere else, and whose words stay in their order.

    >>> unbroken("pippin train قطط.csv --epochs 3")
    'pippin train <bdi dir="ltr">قطط.csv</bdi> <span>--epochs</span> 3'
    """

    def whole(found: re.Match[str]) -> str:
        word = found[0]
        if not word.isascii():
            return f'<bdi dir="ltr">{word}</bdi>'
        return f"<span>{word}</span>" if "-" in word else word

    return Html(_WORD.sub(whole, escaped(line)))


def capital(words: str) -> str:
    """A label or a sentence of ours, with a capital."""
    return words[:1].upper() + words[1:]


class _Escaping(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        try:
            text = value if isinstance(value, Html) else format(value, format_spec)
        except (ValueError, TypeError):  # no number, though one was wanted: shown as it is
            text = str(value)
        return escaped(text)


_FORMATTER = _Escaping()
