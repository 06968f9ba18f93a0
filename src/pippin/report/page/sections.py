"""The parts of a run's page that are words and tables."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from pippin.recipe.command import train_command
from pippin.report.page.charts import Chart
from pippin.report.page.frame import figures_of
from pippin.report.page.history import History
from pippin.report.page.markup import Html, html, joined
from pippin.report.plan_words import plan_rows
from pippin.report.report import Report, scores
from pippin.runs.data_card import DataCard
from pippin.runs.record import Run
from pippin.tasks.parts import Matrix, Part, TablePart
from pippin.text import clock_time, duration, memory

#: Larger matrices are told by their most frequent confusions.
_MOST_IN_MATRIX, _MOST_CONFUSIONS, _MOST_ROWS, _MOST_HAPPENINGS, _MOST_BARS = 24, 30, 200, 60, 40


def header(run: Run, history: History, folder: str) -> Html:
    """Which run this is, and how it stands."""
    place = age = silent = html("")
    if run.status == "started" and history.steps:
        left = f", about {duration(history.seconds_left)} left" if history.seconds_left else ""
        place = html("step {} of {}{}", history.step, history.steps, left)
    elif run.status in ("interrupted", "failed"):
        place = html("after step {} of {}", history.step, history.steps)
    if run.status == "started":
        age = html(' <span class="soft screen">written <span id="age">just now</span></span>')
        silent = html(
            '<p class="bad" id="silent" hidden>There has been no news for some time: the run may have been stopped '
            "from outside. Go on with it: <code>pippin resume {}</code></p>",
            shlex.quote(folder),
        )
    return html(
        "<header><h1>{name}</h1><p>{run.model} on {run.data.name} ({rows} rows) · {device}</p>"
        '<p><span class="status {run.status}">{stands}</span>{place}{age} '
        '<span class="soft">started {started}</span></p>{silent}</header>',
        run=run,
        name=run.recipe.run_name or run.data.name,
        rows=", ".join(f"{count} {name.replace('_', ' ')}" for name, count in run.data.rows.items()),
        device=_device(run),
        stands="running" if run.status == "started" else run.status,
        place=place,
        age=age,
        started=_moment(run.started),
        silent=silent,
    )


def result(history: History, report: Report | None) -> Html:
    """The figures that people look for first."""
    cards: list[tuple[Html | str, str]] = []
    results = report.results if report else {}
    for split, title in (("test", "test"), ("eval", "validation")):
        cards += [(html("{:.4f}", value), f"{name}, {title}") for name, value in loss_last(results, split).items()]
    if not cards and history.evaluations:
        last = loss_last(history.evaluations[-1], "eval")
        cards += [(html("{:.4f}", value), f"{name}, validation so far") for name, value in last.items()]
    if not results and history.logs and "loss" in history.logs[-1]:
        cards.append((html("{:.4f}", history.logs[-1]["loss"]), "training loss now"))
    if "train_runtime" in results:
        cards.append((clock_time(results["train_runtime"]), f"training, {results.get('epoch', 0):g} epochs"))
    if "train_samples_per_second" in results:
        cards.append((html("{:.0f}", results["train_samples_per_second"]), "rows per second"))
    if report and report.peak_memory:
        cards.append((memory(report.peak_memory), "most memory held"))
    if not cards:
        return html('<p class="soft">Nothing to show yet.</p>')
    shown = (
        html('<div class="card{}"><b>{}</b>{}</div>', "" if place else " main", value, name)
        for place, (value, name) in enumerate(cards)
    )
    return html('<div class="cards">{}</div>', joined(shown))


def loss_last(results: dict[str, float], split: str) -> dict[str, float]:
    """The metrics of a split, the loss last."""
    return dict(sorted(scores(results, split).items(), key=lambda item: item[0].startswith("loss")))


def curves_of(charts: Sequence[Chart]) -> Html:
    """Places for the curves, where there are any."""
    return section("Curves", html('<div class="curves">{}</div>', figures_of(charts))) if charts else html("")


def happenings(history: History, report: Report | None) -> Html:
    """What came in between, what ran on the CPU, and what a comparison with it found."""
    items = [
        html("{} <small>step {}, {:.1f} min</small>", each.words, each.step, each.minute)
        for each in history.happenings
        if each.name != "saved"
    ][-_MOST_HAPPENINGS:]
    if report:
        words = "{} ran on the CPU {} times, {:.1%} of the time: the device has no kernel for it"
        items += [html(words, name, use.calls, use.share) for name, use in report.fallbacks.items()]
    verification = (report.verification if report else "") or history.verification
    if verification:
        items.append(html("The device against the CPU, before training: {}", verification))
    saves = sum(each.name == "saved" for each in history.happenings)
    if saves:
        items.append(html("{} checkpoint{} saved", saves, "s" * (saves > 1)))
    told = joined(html("<li>{}</li>", item) for item in items)
    return section("What happened", html("<ul>{}</ul>", told)) if items else html("")


def parts_of(report: Report | None) -> Html:
    """What the task has to show."""
    return joined((section(each.title, _part(each)) for each in report.parts), between="\n") if report else html("")


def _part(part: Part) -> Html:
    found = [_table(part.table, _MOST_ROWS)] if part.table else []
    if part.matrix and len(part.matrix.names) <= _MOST_IN_MATRIX:
        found.append(_matrix(part.matrix))
    elif part.most and part.most.rows:
        found.append(_table(part.most, _MOST_CONFUSIONS))
    if part.table and len(part.table.rows) > _MOST_ROWS:
        words = '<p class="soft">The first {} of {} {}; report.json has them all.</p>'
        found.append(html(words, _MOST_ROWS, len(part.table.rows), part.table.what))
    if part.bars:
        bars = list(zip(part.bars.names, part.bars.counts, strict=False))
        more = html('<p class="soft">and {} {} more</p>', len(bars) - _MOST_BARS, part.bars.what)
        found.append(html("{}{}", _bars(bars[:_MOST_BARS]), more if len(bars) > _MOST_BARS else ""))
    return html('<div class="beside">{}</div>', joined(found)) if len(found) > 1 else joined(found)


def _table(part: TablePart, most: int) -> Html:
    """Cells as their columns want them; numbers stand to the right."""
    formats = dict(enumerate(part.formats))

    def shown_cell(cell: object, how: str) -> object:
        if how == "long":
            return html('<div class="text">{}</div>', cell)
        return html("{:" + how + "}", cell) if how else cell

    rows = ([shown_cell(cell, formats.get(place, "")) for place, cell in enumerate(row)] for row in part.rows[:most])
    shown = table(part.heads, rows, numbers=[place for place, how in formats.items() if how not in ("", "long")])
    return html('<div><p class="soft">{}</p>{}</div>', part.caption, shown) if part.caption else shown


def plan(run: Run) -> Html:
    """Every choice with its reason."""
    rows = ([name, html("<b>{}</b>", value), why] for name, value, why in plan_rows(run.plan))
    return section("The plan", table(["", "choice", "why"], rows))


def data(card: DataCard) -> Html:
    """Lengths of the training rows, and what the task has to show of them."""
    parts = [html("<p>{}</p>", card.columns_reason)]
    if card.lengths:
        exact = card.lengths[0].shortest == card.lengths[0].longest
        bars = [(str(each.shortest) + f"–{each.longest}" * (not exact), each.rows) for each in card.lengths]
        cut = f"; {card.cut} texts were longer than the longest input and were cut" if card.cut else ""
        padding = f"{card.padding:.0%} of an epoch's tokens are padding" if card.padding else "nothing is padded"
        parts.append(html("<h3>Tokens of a training row</h3>{}<p>{}{}.</p>", _bars(bars), padding, cut))
    parts += [html("<h3>{}</h3>{}", part.title, _part(part)) for part in card.parts]
    return section("The data", joined(parts))


def commands(run: Run, folder: str) -> Html:
    """What to type next."""
    shown = shlex.quote(folder)
    second = ' --text2 "…"' if len(run.data.text_columns) == 2 else ""
    lines = {
        "Do it again": train_command(run.recipe),
        "Go on with it": "" if run.status == "finished" else f"pippin resume {shown}",
        "Use the model": f'pippin predict {shown} --text "…"{second}' if run.status == "finished" else "",
        "Make this page again": f"pippin report {shown}",
    }
    told = joined(html("<p>{}</p><pre>{}</pre>", name, line) for name, line in lines.items() if line)
    return section("Commands", told)


def versions(run: Run) -> Html:
    """What it ran on."""
    machine = run.machine
    facts = {
        "computer": f"{machine.chip or machine.architecture}, {machine.cpu_cores} cores, "
        f"{memory(machine.memory_bytes or 0)}, {machine.system} {machine.release}",
        "devices": ", ".join(f"{each.name} ({each.kind})" for each in machine.devices),
        "Pippin": run.pippin,
        "Python": machine.python,
        "torch": machine.torch,
        "transformers": machine.transformers,
        "taken up": "; ".join(run.resumed),
    }
    return section("Versions", table(["", ""], ([name, value] for name, value in facts.items() if value)))


def section(title: str, body: Html) -> Html:
    return html("<section><h2>{}</h2>{}</section>", title, body)


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], numbers: Iterable[int] = ()) -> Html:
    """Cells are text, or Html; columns of numbers stand to the right."""
    right = set(numbers)

    def cells(template: str, texts: Sequence[object]) -> Html:
        return joined(
            html(template, " class=number" if place in right else "", text) for place, text in enumerate(texts)
        )

    body = joined(html("<tr>{}</tr>", cells("<td{}>{}</td>", row)) for row in rows)
    head = html("<tr>{}</tr>", cells("<th{}>{}</th>", heads)) if any(heads) else html("")
    return html('<div class="wide"><table>{}{}</table></div>', head, body)


def _moment(written: str) -> str:
    """A time as run.json has it, for people.

    >>> _moment("2026-11-16T11:50:35+00:00")
    '2026-11-16 11:50 UTC'
    """
    return written[:16].replace("T", " ") + " UTC" if written.endswith("+00:00") else written


def _device(run: Run) -> str:
    device, precision = run.plan.execution.device.value, run.plan.execution.precision.value
    kind = device.partition(":")[0]
    named = next((each.name for each in run.machine.devices if each.kind == kind), "")
    return f"{device} ({named}), {precision}" if named and named != device else f"{device}, {precision}"


def _matrix(part: Matrix) -> Html:
    lines = []
    for down, (name, row) in enumerate(zip(part.names, part.counts, strict=False)):
        total = max(sum(row), 1)
        cells = joined(
            html('<td class="{}heat{}">{}</td>', "right " * (across == down), -(-4 * count // total), count or "·")
            for across, count in enumerate(row)
        )
        lines.append(html("<tr><th>{}</th>{}</tr>", name, cells))
    return html(
        '<div><p class="soft">{}</p><div class="wide"><table class="matrix"><tr><th></th>{}</tr>{}</table></div></div>',
        part.caption,
        joined(html("<th>{}</th>", name) for name in part.names),
        joined(lines),
    )


def _bars(bars: Sequence[tuple[str, int]]) -> Html:
    """Lying bars with their names and numbers, drawn at once."""
    most, wide, high = max((count for _, count in bars), default=0) or 1, 320, 20
    lines = joined(
        html(
            '<text class="label" x="150" y="{y}" text-anchor="end">{name}</text>'
            '<rect class="bar" x="158" y="{top}" width="{width:.1f}" height="13" rx="2"/>'
            '<text x="{end:.1f}" y="{y}">{count}</text>',
            y=place * high + 14,
            top=place * high + 4,
            name=name if len(name) <= 22 else name[:21] + "…",
            width=wide * count / most,
            end=164 + wide * count / most,
            count=count,
        )
        for place, (name, count) in enumerate(bars)
    )
    across, down = wide + 220, len(bars) * high
    return html('<svg class="bars" viewBox="0 0 {} {}" width="{}">{}</svg>', across, down, across, lines)
