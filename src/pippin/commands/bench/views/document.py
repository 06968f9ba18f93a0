"""What a reader gets to see of a benchmark, or of several, whatever it is shown with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pippin.commands.bench.results import Bench
from pippin.commands.bench.views.panels import BarChart, charts_of
from pippin.commands.bench.views.sentence import compared_sentence, sentence
from pippin.commands.bench.views.series import machine_words, software_words
from pippin.commands.bench.views.sheets import Sheet, compared_sheets, sheets

#: Spread of the repeats from which on figures are not to be trusted.
_UNSTEADY = 0.5


@dataclass(frozen=True)
class Document:
    title: str
    answer: str
    """The sentence for those who read no further."""
    machines: tuple[str, ...]
    charts: tuple[BarChart, ...]
    sheets: tuple[Sheet, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]


def bench_document(bench: Bench) -> Document:
    machine = (machine_words(bench), software_words(bench))
    return Document(
        f"How fast is {bench.model} here?",
        sentence(bench),
        machine,
        tuple(charts_of([bench])),
        tuple(sheets(bench)),
        (),
        tuple(notes(bench)),
    )


def comparison_document(benches: Sequence[Bench]) -> Document:
    numbered = list(enumerate(benches, 1))
    return Document(
        f"{len(benches)} machines side by side",
        compared_sentence(benches),
        tuple(f"{number}: {machine_words(b)} · {b.model} · {software_words(b)}" for number, b in numbered),
        tuple(charts_of(benches)),
        tuple(compared_sheets(benches)),
        tuple(differences(benches)),
        tuple(f"{number}: {words}" for number, bench in numbered for words in notes(bench)),
    )


def notes(bench: Bench) -> list[str]:
    """What a reader of the figures has to know."""
    once = any(len(point.seconds) == 1 for point in bench.points)
    spread = max((point.spread for point in bench.points), default=0.0)
    emulated, left_out = ", ".join(bench.emulated), "; ".join(bench.left_out)
    found = {
        f"{emulated} is emulated: the CPU does the computing, so these are not the times of a real one.": emulated,
        "The model's weights are random, so only the speed means anything.": bench.random_weights,
        "The benchmark was interrupted: these are the results up to that point.": not bench.complete,
        "Some settings were measured only once, so their figures may be off.": once,
        f"Repeats differ by up to {spread:.0%}: the machine was busy, or got hot.": spread > _UNSTEADY,
        f"Not measured for lack of time (--minutes gives more): {left_out}.": left_out,
    }
    return [words for words, holds in found.items() if holds]


def differences(benches: Sequence[Bench]) -> list[str]:
    """Why machines may not be comparable."""
    values = {
        "models": {bench.model for bench in benches},
        "data": {bench.data for bench in benches},
        "numbers of training rows": {f"{bench.training_rows:,}" for bench in benches},
    }
    return [
        f"The machines were measured with different {what}: {' / '.join(sorted(found))}."
        for what, found in values.items()
        if len(found) > 1
    ]
