"""HTML put together so that no text in it ever acts: everything is escaped but what was put together here."""

from __future__ import annotations

import html as escaping
import re
import string
from collections.abc import Iterable
from typing import Any

from pippin.text import visible

#: Behind these a long name may go on in the next line.
_JOINTS = re.compile(r"(?<=[^\s/])[_/]+")
#: What a browser would break behind its hyphens, and nobody could read then.
_FLAG = re.compile(r"(?<![\w-])--?[a-z]\w*")
#: A word of a line to type: spaces in quotes are part of it.
_WORD = re.compile(r"(?:'[^']*'|\S)+")
#: What a sentence of ours quotes, as it is when it is escaped.
_QUOTED = re.compile(r"(&quot;|&#x27;)((?:(?!\1).)+)\1")
_KOREAN = re.compile("[\uac00-\ud7a3]")


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


def sentence(text: str) -> Html:
    """The same, and what it quotes in another script does not turn round what stands beside it.

    >>> sentence('leave out --epochs: no rows of "قطط"')
    'leave out <span class="flag">--epochs</span>: no rows of &quot;<bdi>قطط</bdi>&quot;'
    """

    def apart(found: re.Match[str]) -> str:
        return found[0] if found[2].isascii() else f"{found[1]}<bdi>{found[2]}</bdi>{found[1]}"

    return Html(_QUOTED.sub(apart, with_flags(text)))


def unbroken(line: str) -> Html:
    """A line to type, that a browser breaks between its words and nowhere else, and whose words stay in their order.

    >>> unbroken("pippin train قطط.csv --epochs 3")
    'pippin train <bdi dir="ltr">قطط.csv</bdi> <span>--epochs</span> 3'
    >>> unbroken("pippin predict 'القطط الصغيرة'")
    'pippin predict <bdi dir="ltr">&#x27;القطط الصغيرة&#x27;</bdi>'
    """

    def whole(word: str) -> Html:
        if not word.isascii():
            return html('<bdi dir="ltr">{}</bdi>', word)
        return html("<span>{}</span>", word) if "-" in word else escaped(word)

    words, between = _WORD.findall(line), _WORD.split(line)
    return joined(part for pair in zip(between, map(whole, [*words, ""]), strict=True) for part in pair)


def language(text: str) -> Html:
    """For a tag around a text: Korean is to break between its words."""
    return Html(' lang="ko"' if _KOREAN.search(text) else "")


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
