"""The parts of a run's page that are words and tables."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pippin.recipe.command import train_command
from pippin.report.page.charts import Chart
from pippin.report.page.frame import figures_of
from pippin.report.page.history import History
from pippin.report.page.markup import Html, capital, html, joined, language, sentence, theirs, unbroken, with_flags
from pippin.report.page.metric_names import figure, is_no_better, loss_last, metric_title
from pippin.report.page.parts import part_of
from pippin.report.page.tables import Look, histogram, table
from pippin.report.plan_words import plan_rows
from pippin.report.report import Report
from pippin.report.usage import use_line
from pippin.runs.data_card import DataCard
from pippin.runs.record import Run
from pippin.text import duration, epochs, local_time, memory, time_taken

_MOST_HAPPENINGS = 60
#: Answers to one prompt that are shown.
_MOST_ANSWERS = 6
_DRAG = Html(
    '<p class="soft screen drag">Drag across a chart to zoom in, double-click to see all of it again. '
    "Click a name in a legend to hide its line.</p>"
)
#: How a run that is not finished stands, in words.
_STOPPED = {
    "interrupted": "The run was interrupted after step {} of {}.",
    "failed": "The run failed after step {} of {}.",
    "killed": "The run was stopped from outside after step {} of {}: no process is working on it.",
}


def header(run: Run, history: History, report: Report | None, folder: str) -> Html:
    """Which run this is, how it stands, and what nobody should miss."""
    return html(
        "<header><h1>{name}</h1><p>{data} ({rows} rows) · {model} · {device}</p>"
        '<p>{status} {place}<span class="soft">started {started}</span></p>{more}{remarks}</header>',
        name=theirs(run_title(run, folder)),
        model=theirs(run.model),
        data=theirs(run.data.name),
        rows=row_counts(run.data),
        device=device_words(run),
        status=status_mark("running" if run.status == "started" else run.status),
        place=_progress_words(history) if run.status == "started" else "",
        started=moment(run.started),
        more=_running(history, folder) if run.status == "started" else _stopped(run, history, folder),
        remarks=joined(warning(capital(words)) for words in report.remarks) if report else "",
    )


def run_title(run: Run, folder: str) -> str:
    """The run's own name, else its folder's."""
    return run.recipe.run_name or os.path.basename(os.path.abspath(folder)) or run.data.name


def row_counts(card: DataCard) -> str:
    """How many rows each split has: `90 training, 10 validation`."""
    names = {"train": "training"}
    return ", ".join(f"{count} {names.get(name, name).replace('_', ' ')}" for name, count in card.rows.items())


def status_mark(status: str) -> Html:
    return html('<span class="status {0}">{0}</span>', status)


def warning(words: str) -> Html:
    return html('<p class="warning">{}</p>', sentence(words))


def command(line: str) -> Html:
    """A line to type; the script adds a button that copies it."""
    return html('<div class="command"><pre><code>{}</code></pre></div>', unbroken(line))


def _progress_words(history: History) -> Html:
    left = f", about {duration(history.seconds_left)} left" if history.seconds_left else ""
    place = html("step {} of {}{} · ", history.step, history.steps, left) if history.steps else ""
    return html('{}<span class="soft screen">updated <span id="age">just now</span> · </span>', place)


def _running(history: History, folder: str) -> Html:
    bar = '<progress aria-label="Progress" value="{}" max="{}"></progress>'
    silent = '<div id="silent" hidden>{}{}</div>'
    words = "There has been no news for some time: the run may have been stopped from outside. To continue it:"
    return joined(
        [
            html(bar, history.step, history.steps) if history.steps else "",
            html(silent, warning(words), command(f"pippin resume {shlex.quote(folder)}")),
        ]
    )


def _stopped(run: Run, history: History, folder: str) -> Html:
    """Why a run ended early, and how it goes on."""
    if run.status not in _STOPPED:
        return html("")
    why = next((each.words for each in reversed(history.happenings) if each.name == "failed"), "")
    words = _STOPPED[run.status].format(history.step, history.steps)
    reason = html("<br>{}", capital(why)) if why and run.status == "failed" else ""
    resume = command(f"pippin resume {shlex.quote(folder)}")
    return html('<div class="warning"><p>{}{}</p><p>To continue it:</p>{}</div>', words, reason, resume)


def result(run: Run, history: History, report: Report | None) -> Html:
    """The figures that people look for first."""
    results = report.results if report else {}
    scored = [*_scores(run, results, "test", "test rows"), *_scores(run, results, "eval", "validation rows")]
    if not scored and history.evaluations:
        last = history.evaluations[-1]
        scored = _scores(run, last, "eval", f"validation rows, step {figure(last.get('step'), 'g')}")
    cards = [*scored, *_training(history, report)]
    if not cards:
        return html('<p class="soft">Nothing to show yet.</p>')
    if scored and not cards[0].kind:
        cards[0] = replace(cards[0], kind="main")
    shown = joined(
        html('<div class="card {}"><b>{}</b>{}<small>{}</small></div>', each.kind, each.value, each.name, each.about)
        for each in cards
    )
    has_baseline = any("baseline" in each.about for each in scored)
    note = html('<p class="soft">Baseline: {}.</p>', sentence(run.data.baseline_answer)) if has_baseline else ""
    return html('<div class="figures">{}</div>{}', shown, note)


@dataclass(frozen=True)
class _Tile:
    value: str
    name: str
    about: str
    kind: str = ""
    """`poor` for a score that the simplest answer reaches too."""


def _scores(run: Run, results: Mapping[str, Any], split: str, rows: str) -> list[_Tile]:
    """The metrics of a split, each beside what the simplest answer would score."""
    tiles = []
    for name, value in loss_last(results, split).items():
        baseline = run.data.baselines.get(f"{split}_{name}")
        is_poor = is_no_better(name, value, baseline)
        words = "no better than the baseline," if is_poor else "baseline"
        about = rows if baseline is None else f"{rows} · {words} {figure(baseline)}"
        tiles.append(_Tile(figure(value), metric_title(name), about, "poor" if is_poor else ""))
    return tiles


def _training(history: History, report: Report | None) -> Iterator[_Tile]:
    """What the training took, and where it stands while there are no results."""
    results = report.results if report else {}
    if not results and history.logs and "loss" in history.logs[-1]:
        last = history.logs[-1]
        yield _Tile(figure(last["loss"]), "Training loss", f"step {figure(last.get('step'), 'g')}")
    if "train_runtime" in results:
        yield _Tile(time_taken(results["train_runtime"]), "Training time", epochs(results.get("epoch", 0.0)))
    elif not report and history.seconds:
        yield _Tile(time_taken(history.seconds), "Training time", "so far")
    if "train_samples_per_second" in results:
        yield _Tile(figure(results["train_samples_per_second"], ".0f"), "Rows per second", "training")
    if report and report.peak_memory:
        yield _Tile(memory(report.peak_memory), "Peak memory", "training")


def curves_of(charts: Sequence[Chart]) -> Html:
    """Places for the curves, where there are any."""
    if not charts:
        return html("")
    return section("Curves", html('{}<div class="curves">{}</div>', _DRAG, figures_of(charts)))


def samples(history: History) -> Html:
    """What a language model answered to the same prompts as it learnt, the first and the last and some between."""
    if not history.samples:
        return html("")
    parts = []
    for prompt in dict.fromkeys(each.prompt for each in history.samples):
        own = [each for each in history.samples if each.prompt == prompt]
        places = sorted({round(at * (len(own) - 1) / (_MOST_ANSWERS - 1)) for at in range(_MOST_ANSWERS)})
        rows = [(html("{}", own[place].step), _text(own[place].answer)) for place in places]
        rows.append((html('<span class="soft">expected</span>'), _text(own[-1].expected)))
        parts.append(html("<h3>{}</h3>{}", theirs(prompt), table(["Step", "Answer"], rows, Look(cards="cards bare"))))
    return section("Samples", joined(parts))


def _text(words: str) -> Html:
    return html('<div class="text" dir="auto"{}>{}</div>', language(words), words)


def happenings(history: History, report: Report | None) -> Html:
    """What came in between, what ran on the CPU, and what a comparison with it found."""
    items = [
        html("{} <small>step {}, after {}</small>", sentence(capital(each.words)), each.step, time_taken(each.seconds))
        for each in history.happenings
        if each.name != "saved"
    ][-_MOST_HAPPENINGS:]
    if report:
        words = "{} ran on the CPU {} times, {:.1%} of the time: the device has no kernel for it"
        items += [html(words, name, use.calls, use.share) for name, use in report.fallbacks.items()]
    verification = (report.verification if report else "") or history.verification
    if verification:
        items.append(html("The device compared with the CPU, before training: {}", verification))
    saves = sum(each.name == "saved" for each in history.happenings)
    if saves:
        items.append(html("{} checkpoint{} saved", saves, "s" * (saves > 1)))
    told = joined(html("<li>{}</li>", item) for item in items)
    return section("What happened", html("<ul>{}</ul>", told)) if items else html("")


def plan(run: Run) -> Html:
    """Every choice with its reason."""
    rows = ([capital(name), html("<b>{}</b>", value), with_flags(why)] for name, value, why in plan_rows(run.plan))
    return section("The plan", table(["Setting", "Value", "Reason"], rows, Look(cards="cards bare")))


def data(card: DataCard) -> Html:
    """Lengths of the training rows, and what the task has to show of them."""
    parts = [html("<p>{}</p>", sentence(capital(card.columns_reason)))]
    if card.lengths:
        exact = card.lengths[0].shortest == card.lengths[0].longest
        stretches = [(str(each.shortest) + f"–{each.longest}" * (not exact), each.rows) for each in card.lengths]
        cut = f"; {card.cut} texts were longer than the longest input and were cut" if card.cut else ""
        padding = f"{card.padding:.0%} of an epoch's tokens are padding" if card.padding else "Nothing is padded"
        words = "<div><h3>Length of the training rows</h3>{}<p>{}{}.</p></div>"
        parts.append(html(words, histogram(stretches, "tokens"), padding, cut))
    parts += [html("<div><h3>{}</h3>{}</div>", part.title, part_of(part)) for part in card.parts]
    return section("The data", html('{}<div class="beside">{}</div>', parts[0], joined(parts[1:])))


def commands(run: Run, folder: str) -> Html:
    """What to type next."""
    shown, card = shlex.quote(folder), run.data
    use = use_line(card.command, folder, card.text_columns) if run.status == "finished" else ""
    lines = {
        "Run it again": train_command(replace(run.recipe, output_dir=None, overwrite_output_dir=False)),
        "Resume": "" if run.status in ("finished", "started") else f"pippin resume {shown}",
        card.command.partition(" ")[0].capitalize(): use,
        "Rebuild this page": f"pippin report {shown}",
    }
    told = joined(html("<p>{}</p>{}", name, command(line)) for name, line in lines.items() if line)
    return section("Commands", told)


def versions(run: Run) -> Html:
    """What it ran on."""
    machine = run.machine
    facts = {
        "Computer": f"{machine.chip or machine.architecture}, {machine.cpu_cores} cores, "
        f"{memory(machine.memory_bytes or 0)}, {machine.system} {machine.release}",
        "Devices": ", ".join(f"{each.name} ({each.kind})" for each in machine.devices),
        "Pippin": run.pippin,
        "Python": machine.python,
        "PyTorch": machine.torch,
        "Transformers": machine.transformers,
        "Resumed": "; ".join(run.resumed),
    }
    return section("Versions", table(["", ""], ([name, value] for name, value in facts.items() if value)))


def section(title: str, body: Html) -> Html:
    return html("<section><h2>{}</h2>{}</section>", title, body)


def moment(written: str) -> Html:
    """A time as run.json has it, by this computer's clock until the script puts the reader's own in its place."""
    return html('<time datetime="{}">{}</time>', written, local_time(written))


def device_words(run: Run) -> str:
    """Where it ran, and in which precision: `cpu (AMD EPYC), fp32`."""
    device, precision = run.plan.execution.device.value, run.plan.execution.precision.value
    kind = device.partition(":")[0]
    named = next((each.name for each in run.machine.devices if each.kind == kind), "")
    return f"{device} ({named}), {precision}" if named and named != device else f"{device}, {precision}"
