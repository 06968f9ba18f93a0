"""The parts of a run's page that are words and tables. Every word of the data or the user's is escaped."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from pippin.recipe.command import train_command
from pippin.report.page.frame import escaped
from pippin.report.page.history import History
from pippin.report.plan_words import plan_rows
from pippin.report.report import Report
from pippin.report.words import clock_time, duration, memory
from pippin.runs.record import Run
from pippin.training.data_card import DataCard

#: Larger matrices are told by their most frequent confusions.
_MOST_IN_MATRIX, _MOST_CONFUSIONS, _MOST_CLASSES, _MOST_HAPPENINGS = 24, 30, 200, 60
_BEHIND = {"finished": "finished", "started": "running", "interrupted": "interrupted", "failed": "failed"}


def header(run: Run, history: History, folder: str) -> str:
    """Which run this is, and how it stands."""
    status = f'<span class="status {escaped(run.status)}">{_BEHIND.get(run.status, escaped(run.status))}</span>'
    place = ""
    if run.status == "started" and history.steps:
        left = f", about {duration(history.seconds_left)} left" if history.seconds_left else ""
        place = f"step {history.step} of {history.steps}{left}"
    elif run.status in ("interrupted", "failed"):
        place = f"after step {history.step} of {history.steps}"
    age = silent = ""
    if run.status == "started":
        age = ' <span class="soft screen">written <span id="age">just now</span></span>'
        silent = (
            '<p class="bad" id="silent" hidden>There has been no news for some time: the run may have been stopped '
            f"from outside. Go on with it: <code>pippin resume {escaped(shlex.quote(folder))}</code></p>"
        )
    rows = ", ".join(f"{count} {escaped(name.replace('_', ' '))}" for name, count in run.data.rows.items())
    began = f'<span class="soft">started {escaped(_moment(run.started))}</span>'
    return (
        f"<header><h1>{escaped(run.recipe.run_name or run.data.name)}</h1>"
        f"<p>{escaped(run.model)} on {escaped(run.data.name)} ({rows} rows) · {escaped(_device(run))}</p>"
        f"<p>{status}{place}{age} {began}</p>{silent}</header>"
    )


def result(run: Run, history: History, report: Report | None) -> str:
    """The figures that people look for first."""
    cards: list[tuple[str, str]] = []
    results = report.results if report else {}
    for prefix, title in (("test", "test"), ("eval", "validation")):
        cards += [(f"{value:.4f}", f"{name}, {title}") for name, value in scores(results, prefix).items()]
    if not cards and history.evaluations:
        last = {key: value for key, value in history.evaluations[-1].items() if isinstance(value, (int, float))}
        cards += [(f"{value:.4f}", f"{name}, validation so far") for name, value in scores(last, "eval").items()]
    if not results and history.logs:
        loss = history.logs[-1]["loss"]
        cards.append((f"{loss:.4f}" if isinstance(loss, float) else str(loss), "training loss now"))
    if "train_runtime" in results:
        cards.append((clock_time(results["train_runtime"]), f"training, {results['epoch']:g} epochs"))
        cards.append((f"{results['train_samples_per_second']:.0f}", "rows per second"))
    if report and report.peak_memory:
        cards.append((memory(report.peak_memory), "most memory held"))
    if not cards:
        return '<p class="soft">Nothing to show yet.</p>'
    return '<div class="cards">' + "".join(
        f'<div class="card{" main" if not place else ""}"><b>{escaped(value)}</b>{escaped(name)}</div>'
        for place, (value, name) in enumerate(cards)
    ) + "</div>"  # fmt: skip


def scores(results: dict[str, float], prefix: str) -> dict[str, float]:
    """The metrics of a split, the loss last."""
    found = {
        key.removeprefix(f"{prefix}_"): value
        for key, value in results.items()
        if key.startswith(f"{prefix}_") and not key.endswith(("runtime", "per_second", "samples"))
    }
    return dict(sorted(found.items(), key=lambda item: item[0].startswith("loss")))


def happenings(history: History, report: Report | None) -> str:
    """What came in between, what ran on the CPU, and what a comparison with it found."""
    items = [
        f"<li>{escaped(each.words)} <small>step {each.step}, {each.minute:.1f} min</small></li>"
        for each in history.happenings
        if each.name != "saved"
    ][-_MOST_HAPPENINGS:]
    if report:
        items += [
            f"<li>{escaped(name)} ran on the CPU {use.calls} times, {use.share:.1%} of the time: "
            "the device has no kernel for it</li>"
            for name, use in report.fallbacks.items()
        ]
    verification = (report.verification if report else "") or history.verification
    if verification:
        items.append(f"<li>The device against the CPU, before training: {escaped(verification)}</li>")
    saves = sum(each.name == "saved" for each in history.happenings)
    if saves:
        items.append(f"<li>{saves} checkpoint{'s' * (saves > 1)} saved</li>")
    return section("What happened", f"<ul>{''.join(items)}</ul>") if items else ""


def by_class(run: Run, report: Report | None) -> str:
    """How well each class does, and what it is taken for."""
    if report is None or not report.per_class:
        return ""
    names = list(report.per_class)
    rows = (
        [escaped(name), *(f"{figures[key]:.3f}" for key in ("precision", "recall", "f1")), str(int(figures["rows"]))]
        for name, figures in list(report.per_class.items())[:_MOST_CLASSES]
    )
    parts = [table(["class", "precision", "recall", "F1", "rows"], rows, numbers=range(1, 5))]
    if len(names) <= _MOST_IN_MATRIX:
        parts.append(_matrix(names, report.confusion))
    else:
        parts.append(_confusions(names, report.confusion))
    if len(names) > _MOST_CLASSES:
        parts.append(
            f'<p class="soft">The first {_MOST_CLASSES} of {len(names)} classes; report.json has them all.</p>'
        )
    return section(f"By class, on the {escaped(report.judged_on)} rows", f'<div class="beside">{"".join(parts)}</div>')


def mistakes(run: Run, report: Report | None) -> str:
    """The rows to look at first."""
    if report is None or not report.mistakes:
        return ""
    pairs = any(each.pair for each in report.mistakes)
    heads = ["row", *run.data.text_columns[: 1 + pairs], "is", "taken for", "off by" if run.data.regression else "sure"]
    rows = (
        [
            str(each.row),
            f'<div class="text">{escaped(each.text)}</div>',
            *([f'<div class="text">{escaped(each.pair)}</div>'] if pairs else []),
            escaped(each.truth),
            escaped(each.predicted),
            f"{each.score:.3g}" if run.data.regression else f"{each.score:.0%}",
        ]
        for each in report.mistakes
    )
    title = "Furthest off" if run.data.regression else "Most confident mistakes"
    return section(f"{title}, on the {escaped(report.judged_on)} rows", table(heads, rows, numbers=(0, len(heads) - 1)))


def plan(run: Run) -> str:
    """Every choice with its reason."""
    rows = ([escaped(name), f"<b>{escaped(value)}</b>", escaped(why)] for name, value, why in plan_rows(run.plan))
    return section("The plan", table(["", "choice", "why"], rows))


def data(card: DataCard) -> str:
    """Classes and lengths of the training rows."""
    parts = [f"<p>{escaped(card.columns_reason)}</p>"]
    if card.lengths:
        bars = [(f"{each.shortest}–{each.longest}", each.rows) for each in card.lengths]
        if card.lengths[0].shortest == card.lengths[0].longest:
            bars = [(str(each.shortest), each.rows) for each in card.lengths]
        cut = f"; {card.cut} texts were longer than the longest input and were cut" if card.cut else ""
        padding = f"{card.padding:.0%} of an epoch's tokens are padding" if card.padding else "nothing is padded"
        parts.append(f"<h3>Tokens of a training row</h3>{_bars(bars)}<p>{padding}{cut}.</p>")
    if card.class_rows:
        counted = sorted(zip(card.classes, card.class_rows, strict=True), key=lambda each: -each[1])
        more = f'<p class="soft">and {len(counted) - 40} classes more</p>' if len(counted) > 40 else ""
        parts.append(f"<h3>Training rows by class</h3>{_bars(counted[:40])}{more}")
    return section("The data", "".join(parts))


def commands(run: Run, folder: str) -> str:
    """What to type next."""
    shown = shlex.quote(folder)
    second = ' --text2 "…"' if len(run.data.text_columns) == 2 else ""
    lines = {
        "Do it again": train_command(run.recipe),
        "Go on with it": "" if run.status == "finished" else f"pippin resume {shown}",
        "Use the model": f'pippin predict {shown} --text "…"{second}' if run.status == "finished" else "",
        "Make this page again": f"pippin report {shown}",
    }
    return section(
        "Commands", "".join(f"<p>{name}</p><pre>{escaped(line)}</pre>" for name, line in lines.items() if line)
    )


def versions(run: Run) -> str:
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
    }
    resumed = {"taken up": "; ".join(run.resumed)} if run.resumed else {}
    rows = ([escaped(name), escaped(value)] for name, value in {**facts, **resumed}.items() if value)
    return section("Versions", table(["", ""], rows))


def section(title: str, body: str) -> str:
    return f"<section><h2>{title}</h2>{body}</section>"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[int] = ()) -> str:
    """Cells are HTML already; columns of numbers stand to the right."""
    right = set(numbers)

    def cell(tag: str, place: int, text: str) -> str:
        return f"<{tag}{' class=number' if place in right else ''}>{text}</{tag}>"

    head = "".join(cell("th", place, escaped(text)) for place, text in enumerate(heads))
    body = "".join(
        "<tr>" + "".join(cell("td", place, text) for place, text in enumerate(row)) + "</tr>" for row in rows
    )
    return f'<div class="wide"><table>{f"<tr>{head}</tr>" if any(heads) else ""}{body}</table></div>'


def _moment(written: str) -> str:
    """A time as run.json has it, for people.

    >>> _moment("2026-11-16T11:50:35+00:00")
    '2026-11-16 11:50 UTC'
    """
    return written[:16].replace("T", " ") + " UTC" if written.endswith("+00:00") else written


def _device(run: Run) -> str:
    device, precision = run.plan.device.value, run.plan.precision.value
    kind = device.partition(":")[0]
    named = next((each.name for each in run.machine.devices if each.kind == kind), "")
    return f"{device} ({named}), {precision}" if named and named != device else f"{device}, {precision}"


def _matrix(names: list[str], counts: list[list[int]]) -> str:
    heads = "".join(f"<th>{escaped(name)}</th>" for name in names)
    rows = ""
    for down, (name, row) in enumerate(zip(names, counts, strict=True)):
        total = max(sum(row), 1)
        cells = "".join(
            f'<td class="{"right " if across == down else ""}heat{-(-4 * count // total)}">{count or "·"}</td>'
            for across, count in enumerate(row)
        )
        rows += f"<tr><th>{escaped(name)}</th>{cells}</tr>"
    return (
        '<div><p class="soft">True classes down, predicted classes across.</p>'
        f'<div class="wide"><table class="matrix"><tr><th></th>{heads}</tr>{rows}</table></div></div>'
    )


def _confusions(names: list[str], counts: list[list[int]]) -> str:
    """The pairs of classes that are mixed up most."""
    wrong = [
        (count, names[down], names[across])
        for down, row in enumerate(counts)
        for across, count in enumerate(row)
        if count and down != across
    ]
    rows = (
        [escaped(truth), escaped(taken), str(count)]
        for count, truth, taken in sorted(wrong, key=lambda each: -each[0])[:_MOST_CONFUSIONS]
    )
    found = table(["is", "taken for", "times"], rows, numbers=(2,))
    return f'<div><p class="soft">Mixed up most.</p>{found}</div>'


def _bars(bars: Sequence[tuple[str, int]]) -> str:
    """Lying bars with their names and numbers, drawn at once."""
    most, wide, high = max(count for _, count in bars) or 1, 320, 20
    lines = "".join(
        f'<text class="label" x="150" y="{place * high + 14}" text-anchor="end">{escaped(_short_name(name))}</text>'
        f'<rect class="bar" x="158" y="{place * high + 4}" width="{wide * count / most:.1f}" height="13" rx="2"/>'
        f'<text x="{164 + wide * count / most:.1f}" y="{place * high + 14}">{count}</text>'
        for place, (name, count) in enumerate(bars)
    )
    return f'<svg class="bars" viewBox="0 0 {wide + 220} {len(bars) * high}" width="{wide + 220}">{lines}</svg>'


def _short_name(name: str) -> str:
    return name if len(name) <= 22 else name[:21] + "…"
