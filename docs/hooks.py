"""What mkdocs does to each page of the guide beside its theme's work (`hooks` in mkdocs.yml)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

#: Most characters of code that stay on one line: of a phone's width, and of a table's cell.
LINE, CELL = 34, 16
_CODE = re.compile(r"(<pre\b[^>]*>(?:<span></span>)?)?(<code\b[^>]*>)(.*?)</code>", re.DOTALL)
_WORD = re.compile(r"[^\s<>]+")


def on_page_content(html: str, **_: Any) -> str:
    """Keep code on one line where it is short: browsers would break a flag after its hyphens."""
    return _CODE.sub(_unbroken, html)


def _unbroken(code: re.Match[str]) -> str:
    block, tag, text = code[1] or "", code[2], code[3]
    if not block and tag == "<code>" and len(text) <= LINE:
        tag = '<code class="cell">' if len(text) <= CELL else '<code class="line">'
    whole = _whole_in_block if block else _whole
    parts = re.split(r"(<[^>]*>)", text)
    words = (part if part.startswith("<") else _WORD.sub(whole, part) for part in parts)
    return f"{block}{tag}{''.join(words)}</code>"


def _whole_in_block(word: re.Match[str]) -> str:
    return f'<span class="cell">{word[0]}</span>' if "-" in word[0] and len(word[0]) <= LINE else word[0]


def _whole(word: re.Match[str]) -> str:
    """A word on one line, or where it is too long for that, broken between its parts, a flag's hyphens at the first."""
    if len(word[0]) <= CELL:
        return f'<span class="cell">{word[0]}</span>' if "-" in word[0] else word[0]
    parts = re.sub(r"([_/.=])(?=\w)", r"\1<wbr>", word[0])
    return re.sub(r"^-+\w+", lambda start: f'<span class="cell">{start[0]}</span>', parts)


def on_post_page(output: str, **_: Any) -> str:
    """Without links to other languages in the head: the theme's script would look for a sitemap beside each."""
    return re.sub(r'\s*<link rel="alternate"[^>]*>', "", output)


def on_post_build(config: Any, **_: Any) -> None:
    """No sitemap and no page of errors: both would have to know where the site lies."""
    for name in ("404.html", "sitemap.xml", "sitemap.xml.gz"):
        Path(config.site_dir, name).unlink(missing_ok=True)
