"""A benchmark as bench.md, beside its charts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pippin.commands.bench.views.document import Document
from pippin.commands.bench.views.sheets import Sheet
from pippin.report.card import prose


def markdown(document: Document, pictures: Sequence[str]) -> str:
    """The answer first, then charts and tables."""
    return "\n".join(_lines(document, pictures))


def _lines(document: Document, pictures: Sequence[str]) -> Iterator[str]:
    yield from (f"# {prose(document.title)}", "", f"**{prose(document.answer)}**", "")
    for words in document.machines:
        yield from (prose(words), "")
    for name in pictures:
        yield from (f"![{name.partition('.')[0].replace('_', ' ')}]({name})", "")
    for sheet in document.sheets:
        yield from _table(sheet)
    if remarks := (*document.warnings, *document.notes):
        yield from (*(f"- {prose(words)}" for words in remarks), "")


def _table(sheet: Sheet) -> Iterator[str]:
    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(map(prose, cells))} |"

    numbers = sheet.numbers
    rule = "".join("|---:" if place in numbers else "|---" for place in range(len(sheet.heads)))
    yield from (f"## {prose(sheet.title)}", "", line(sheet.heads), f"{rule}|", *map(line, sheet.rows), "")
