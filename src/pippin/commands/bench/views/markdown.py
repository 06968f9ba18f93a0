"""A benchmark as bench.md, beside its charts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pippin.commands.bench.results import Bench
from pippin.commands.bench.views.sentence import sentence
from pippin.commands.bench.views.series import machine_words, software_words
from pippin.commands.bench.views.sheets import Sheet, compared_sheets, sheets
from pippin.commands.bench.views.table import differences, notes
from pippin.report.card import prose


def page(bench: Bench, charts: Sequence[str]) -> str:
    """The sentence first, then charts and tables."""
    lines = [f"# {prose(bench.model)}: how fast here?", "", prose(sentence(bench)), ""]
    made = f"{software_words(bench)} · {bench.date} · {bench.seconds:.0f} s"
    lines += [prose(machine_words(bench)), "", prose(made), ""]
    return "\n".join([*lines, *_figures(charts, sheets(bench), notes(bench))])


def compared_page(benches: Sequence[Bench], charts: Sequence[str]) -> str:
    """Machines side by side."""
    lines = [f"# {len(benches)} machines side by side", ""]
    lines += [
        prose(f"{number}. {machine_words(bench)} · {bench.model} · {bench.date[:10]} · {software_words(bench)}")
        for number, bench in enumerate(benches, 1)
    ]
    remarks = [*differences(benches), *(f"{n}: {words}" for n, b in enumerate(benches, 1) for words in notes(b))]
    return "\n".join([*lines, "", *_figures(charts, compared_sheets(benches), remarks)])


def _figures(charts: Sequence[str], tables: Sequence[Sheet], remarks: Sequence[str]) -> Iterator[str]:
    for name in charts:
        yield from (f"![{name.partition('.')[0]}]({name})", "")
    for sheet in tables:
        yield from _table(sheet)
    if remarks:
        yield from (*(f"- {prose(text[:1].upper() + text[1:])}" for text in remarks), "")


def _table(sheet: Sheet) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(map(prose, cells))} |"

    title = f"## {prose(sheet.title[:1].upper() + sheet.title[1:])}"
    rule = f"|---|{'---:|' * (len(sheet.heads) - 1)}"
    return [title, "", line(sheet.heads), rule, *map(line, sheet.rows), ""]
