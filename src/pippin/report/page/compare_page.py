"""Several runs on one page: their results beside each other, their curves over each other, and where they differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pippin.recipe.command import given_settings, typed
from pippin.report.page.charts import Chart, Clock, Series, metric_curves, points, whole_windows, with_points
from pippin.report.page.frame import page
from pippin.report.page.history import History
from pippin.report.page.markup import Html, capital, html, joined, shortened, theirs, with_flags
from pippin.report.page.metric_names import (
    figure,
    is_no_better,
    loss_last,
    lower_is_better,
    metric_title,
    short_title,
)
from pippin.report.page.sections import curves_of, section, status_mark
from pippin.report.page.tables import Cell, Look, table
from pippin.report.plan_words import plan_rows
from pippin.report.report import Report
from pippin.runs.record import Run
from pippin.text import memory, time_taken

#: What is another in every run, or changes nothing about its result.
_NO_DIFFERENCE = {
    "output_dir", "overwrite_output_dir", "run_name", "resume", "resume_from_checkpoint", "quiet", "token",
    "disable_tqdm", "log_level", "logging_dir", "logging_strategy", "logging_steps", "logging_first_step", "report_to",
    "project", "overwrite_cache", "cache_dir", "keep_awake", "force", "save_minutes", "save_total_limit", "verify",
}  # fmt: skip

#: So many have room beside each other.
_FEW_RUNS, _LONGEST_NAME = 6, 24
_POOR = Html('<p class="soft">Red: the same answer to every row, the baseline, scores as well.</p>')
_OTHER_ROWS = Html('<p class="soft">Not all of these runs have the same rows: mind that when you compare scores.</p>')


@dataclass(frozen=True)
class ComparedRun:
    name: str
    run: Run
    history: History
    report: Report | None


@dataclass(frozen=True)
class _Kind:
    """What a figure is: its name for the head of a column, and in full."""

    short: str
    title: str
    split: str = ""
    lower_is_better: bool = False


@dataclass(frozen=True)
class _Figure:
    """A result of one run."""

    value: float
    shown: str
    about: str = ""
    is_poor: bool = False
    """Whether the simplest answer to every row reaches it."""


def compare_page(runs: Sequence[ComparedRun]) -> Html:
    """The page of runs that were made on the same or on different computers."""
    charts = _charts(runs)
    names = ", ".join(each.name for each in runs)
    plans = [{capital(name): value for name, value, _ in plan_rows(each.run.plan)} for each in runs]
    parts = [
        html(
            "<header><h1>{} runs</h1><p>{}</p></header>", len(runs), joined((theirs(each.name) for each in runs), ", ")
        ),
        section("Results", _results(runs)),
        curves_of(charts),
        _differences("Settings that differ", runs, [_settings(each.run) for each in runs]),
        _differences("Plans that differ", runs, plans),
    ]
    return page(f"{len(runs)} runs: {names}", parts, charts)


def _results(runs: Sequence[ComparedRun]) -> Html:
    """A line for each run; where there are few runs and many figures, a column for each."""
    found = [_figures(each) for each in runs]
    kinds = sorted(dict.fromkeys(kind for each in found for kind in each), key=lambda kind: not kind.split)
    same_rows = len({each.run.fingerprint for each in runs}) == 1
    best = {
        kind: _best(kind, [each[kind] for each in found if kind in each]) if same_rows or not kind.split else math.nan
        for kind in kinds
    }
    heads = [html('<abbr title="{}">{}</abbr> <small>{}</small>', each.title, each.short, each.split) for each in kinds]
    rows: list[list[object]] = [
        [
            shortened(each.name, _LONGEST_NAME),
            _status(each),
            *(_cell(figures.get(kind), best[kind]) for kind in kinds),
        ]
        for each, figures in zip(runs, found, strict=True)
    ]
    numbers, is_turned = frozenset(range(2, 2 + len(kinds))), len(runs) <= min(len(kinds), _FEW_RUNS)
    if is_turned:
        names, *lines = zip(*rows, strict=True)
        turned = ([head, *line] for head, line in zip(["Status", *heads], lines, strict=True))
        shown = table(["", *names], turned, Look(frozenset(range(1, 1 + len(runs))), sticky=True))
    else:
        shown = table(["Run", "Status", *heads], rows, Look(numbers, sorts=True, what="runs", sticky=True))
    is_marked, line = any(map(_is_known, best.values())), "line" if is_turned else "column"
    note = html('<p class="soft">★ marks the best figure of a {}.</p>', line) if is_marked else ""
    poor = _POOR if any(figure.is_poor for each in found for figure in each.values()) else ""
    return html("{}{}{}{}", shown, note, poor, "" if same_rows else _OTHER_ROWS)


def _status(each: ComparedRun) -> Html:
    """How a run stands, and how far one came that did not finish."""
    status = "running" if each.run.status == "started" else each.run.status
    return html(
        "{}{}",
        status_mark(status),
        "" if each.report else html('<small class="name">step {}</small>', each.history.step),
    )


def _figures(each: ComparedRun) -> dict[_Kind, _Figure]:
    results = each.report.results if each.report else {}
    seconds = results.get("train_runtime")
    if not each.report:  # what a run that was cut short had reached
        seconds = each.history.seconds or None
        results = each.history.evaluations[-1] if each.history.evaluations else {}
    found = {}
    for split, title in (("test", "test"), ("eval", "validation")):
        for place, (name, value) in enumerate(loss_last(results, split).items()):
            baseline = each.run.data.baselines.get(f"{split}_{name}")
            is_poor = is_no_better(name, value, baseline)
            about = f"baseline {figure(baseline)}" if baseline is not None and (is_poor or not place) else ""
            kind = _Kind(short_title(name), f"{metric_title(name)}, {title}", title, lower_is_better(name))
            found[kind] = _Figure(value, figure(value), about, is_poor)
    if seconds is not None:
        so_far, known = ("", seconds) if each.report else ("so far", math.nan)
        found[_Kind("Time", "Training time", lower_is_better=True)] = _Figure(known, time_taken(seconds), so_far)
    if "train_samples_per_second" in results:
        speed = results["train_samples_per_second"]
        found[_Kind("Rows/s", "Rows per second while training")] = _Figure(speed, figure(speed, ".0f"))
    if each.report and each.report.peak_memory:
        peak = each.report.peak_memory
        found[_Kind("Memory", "Peak memory", lower_is_better=True)] = _Figure(peak, memory(peak))
    return found


def _best(kind: _Kind, figures: Sequence[_Figure]) -> float:
    """The best value of a kind; NaN where there is none to mark, as all are the same."""
    values = [each.value for each in figures if _is_known(each.value) and not each.is_poor]
    if len({each.shown for each in figures}) < 2 or not values:
        return math.nan
    return min(values) if kind.lower_is_better else max(values)


def _cell(found: _Figure | None, best: float) -> Cell | str:
    if found is None:
        return "–"
    about = html('<br><small class="{}">{}</small>', "poor" * found.is_poor, found.about) if found.about else ""
    is_best = found.value == best
    return Cell(html("{}{}{}", "★ " * is_best, found.shown, about), found.value, "best" * is_best)


def _is_known(value: object) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def _charts(runs: Sequence[ComparedRun]) -> list[Chart]:
    logs = [whole_windows(each.history.logs) for each in runs]
    evaluations = [each.history.evaluations for each in runs]
    clock = Clock(max((each.history.seconds for each in runs), default=0.0))
    steps = max((each.history.step for each in runs), default=0)

    def over_steps(
        id: str, title: str, y: str, name: str, source: Sequence[Any] = evaluations, log: bool = False
    ) -> Chart:
        series = (Series(each.name, points(rows, "step", name)) for each, rows in zip(runs, source, strict=True))
        return Chart(id, title, "Step", y, tuple(series), until=steps, log=log)

    def over_time(id: str, title: str, y: str, name: str, **more: Any) -> Chart:
        series = (Series(each.name, clock.points(rows, name)) for each, rows in zip(runs, logs, strict=True))
        return Chart(id, title, clock.axis, y, tuple(series), until=clock.at(clock.longest), **more)

    metrics = dict.fromkeys(name for each in evaluations for name in metric_curves(each))
    charts = [
        over_steps("loss", "Training loss", "Loss", "loss", logs, log=True),
        over_steps("validation", "Validation loss", "Loss", "eval_loss", log=True),
        *(
            over_steps(f"metric{place}", f"{metric_title(name)}, validation", metric_title(name), f"eval_{name}")
            for place, name in enumerate(metrics)
        ),
        over_time("time", "Training loss by time", "Loss", "loss", log=True),
        over_time("speed", "Speed", "Tokens per second", "tokens_per_second", unit=" tokens/s", zero=True),
    ]
    return with_points(charts)


def _settings(run: Run) -> dict[str, str]:
    given = given_settings(run.recipe).items()
    own = {
        "FILE" if name == "data" else f"--{name}": typed(value) for name, value in given if name not in _NO_DIFFERENCE
    }
    facts = {"Model": run.model, "Rows": run.fingerprint[:8], "PyTorch": run.machine.torch, "Pippin": run.pippin}
    return facts | own


def _differences(title: str, runs: Sequence[ComparedRun], facts: Sequence[dict[str, str]]) -> Html:
    names = dict.fromkeys(name for each in facts for name in each)
    differing = [name for name in names if len({each.get(name) for each in facts}) > 1]
    if not differing:
        return html("")
    rows = ([with_flags(name), *(each.get(name, "–") for each in facts)] for name in differing)
    return section(
        title, table(["Setting", *(shortened(each.name, _LONGEST_NAME) for each in runs)], rows, Look(sticky=True))
    )
