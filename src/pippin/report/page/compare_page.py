"""Several runs on one page: their results beside each other, their curves over each other, and where they differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pippin.recipe.command import given_settings
from pippin.report.page.charts import Chart, Clock, Series, metric_curves, points, with_points
from pippin.report.page.frame import page
from pippin.report.page.history import History
from pippin.report.page.markup import Html, capital, html, theirs
from pippin.report.page.metric_names import figure, loss_last, lower_is_better, metric_title
from pippin.report.page.sections import curves_of, section, status_mark
from pippin.report.page.tables import Cell, Look, table
from pippin.report.plan_words import plan_rows
from pippin.report.report import Report
from pippin.runs.record import Run
from pippin.text import clock_time, memory

#: What is another in every run, or changes nothing about its result.
_NO_DIFFERENCE = {
    "output_dir", "overwrite_output_dir", "run_name", "resume", "resume_from_checkpoint", "quiet", "token",
    "disable_tqdm", "log_level", "logging_dir", "logging_strategy", "logging_steps", "logging_first_step", "report_to",
    "project", "overwrite_cache", "cache_dir", "keep_awake", "force", "save_minutes", "save_total_limit", "verify",
}  # fmt: skip

_OTHER_ROWS = Html('<p class="soft">Not all of these runs have the same rows: mind that when you compare scores.</p>')


@dataclass(frozen=True)
class ComparedRun:
    name: str
    run: Run
    history: History
    report: Report | None


@dataclass(frozen=True)
class _Figure:
    """A result of one run."""

    value: float
    shown: str
    lower_is_better: bool = False
    about: str = ""


def compare_page(runs: Sequence[ComparedRun]) -> Html:
    """The page of runs that were made on the same or on different computers."""
    charts = _charts(runs)
    names = ", ".join(each.name for each in runs)
    plans = [{capital(name): value for name, value, _ in plan_rows(each.run.plan)} for each in runs]
    parts = [
        html('<header><h1>{} runs</h1><p dir="auto">{}</p></header>', len(runs), names),
        section("Results", _results(runs)),
        curves_of(charts),
        _differences("Settings that differ", runs, [_settings(each.run) for each in runs]),
        _differences("Plans that differ", runs, plans),
    ]
    return page(f"{len(runs)} runs: {names}", parts, charts)


def _results(runs: Sequence[ComparedRun]) -> Html:
    found = [_figures(each) for each in runs]
    columns = list(dict.fromkeys(name for each in found for name in each))
    best = {name: _best([each[name] for each in found if name in each]) for name in columns}
    rows = (
        [
            theirs(each.name),
            status_mark("running" if each.run.status == "started" else each.run.status),
            *(_cell(figures.get(name), best[name]) for name in columns),
        ]
        for each, figures in zip(runs, found, strict=True)
    )
    look = Look(frozenset(range(2, 2 + len(columns))), sorts=True, what="runs", sticky=True)
    is_marked = any(map(_is_known, best.values()))
    note = html('<p class="soft">★ marks the best figure of a column.</p>') if is_marked else ""
    others = _OTHER_ROWS if len({each.run.fingerprint for each in runs}) > 1 else ""
    return html("{}{}{}", table(["Run", "Status", *columns], rows, look), note, others)


def _figures(each: ComparedRun) -> dict[str, _Figure]:
    results = each.report.results if each.report else {}
    at = ""
    if not results and each.history.evaluations:  # what a run that was cut short had reached
        results = each.history.evaluations[-1]
        at = f"at step {figure(results.get('step'), 'g')}"
    found = {
        f"{metric_title(name)}, {title}": _Figure(value, figure(value), lower_is_better(name), at)
        for split, title in (("test", "test"), ("eval", "validation"))
        for name, value in loss_last(results, split).items()
    }
    if "train_runtime" in results:
        seconds = results["train_runtime"]
        found["Training time"] = _Figure(seconds, clock_time(seconds), lower_is_better=True)
    if "train_samples_per_second" in results:
        speed = results["train_samples_per_second"]
        found["Rows/s"] = _Figure(speed, figure(speed, ".0f"))
    if each.report and each.report.peak_memory:
        peak = each.report.peak_memory
        found["Peak memory"] = _Figure(peak, memory(peak), lower_is_better=True)
    return found


def _best(figures: Sequence[_Figure]) -> float:
    """The best value of a column; NaN where there is none to mark, as all are the same."""
    values = [each.value for each in figures if _is_known(each.value)]
    if len({each.shown for each in figures}) < 2 or not values:
        return math.nan
    return min(values) if figures[0].lower_is_better else max(values)


def _cell(found: _Figure | None, best: float) -> Cell | str:
    if found is None:
        return "–"
    about = html("<br><small>{}</small>", found.about) if found.about else ""
    is_best = found.value == best
    return Cell(html("{}{}{}", "★ " * is_best, found.shown, about), found.value, "best" * is_best)


def _is_known(value: object) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def _charts(runs: Sequence[ComparedRun]) -> list[Chart]:
    def over(y: str, source: str) -> tuple[Series, ...]:
        return tuple(Series(each.name, points(getattr(each.history, source), "step", y)) for each in runs)

    def over_time(y: str) -> tuple[Series, ...]:
        return tuple(Series(each.name, clock.points(each.history.logs, y)) for each in runs)

    clock = Clock(max((each.history.seconds for each in runs), default=0.0))
    metrics = dict.fromkeys(name for each in runs for name in metric_curves(each.history.evaluations))
    charts = [
        Chart("loss", "Training loss", "Step", "Loss", over("loss", "logs"), log=True),
        Chart("validation", "Validation loss", "Step", "Loss", over("eval_loss", "evaluations"), log=True),
        *(
            Chart(f"metric{place}", f"{metric_title(name)}, validation", "Step", metric_title(name),
                  over(f"eval_{name}", "evaluations"))
            for place, name in enumerate(metrics)
        ),
        Chart("time", "Training loss by time", clock.axis, "Loss", over_time("loss"), log=True),
        Chart("speed", "Speed", clock.axis, "Tokens per second", over_time("tokens_per_second"), unit=" tokens/s",
              zero=True),
    ]  # fmt: skip
    return with_points(charts)


def _settings(run: Run) -> dict[str, str]:
    given = given_settings(run.recipe).items()
    own = {f"--{name}": str(value) for name, value in given if name not in _NO_DIFFERENCE}
    facts = {"Model": run.model, "Rows": run.fingerprint[:8], "PyTorch": run.machine.torch, "Pippin": run.pippin}
    return facts | own


def _differences(title: str, runs: Sequence[ComparedRun], facts: Sequence[dict[str, str]]) -> Html:
    names = dict.fromkeys(name for each in facts for name in each)
    differing = [name for name in names if len({each.get(name) for each in facts}) > 1]
    if not differing:
        return html("")
    rows = ([name, *(each.get(name, "–") for each in facts)] for name in differing)
    return section(title, table(["Setting", *(theirs(each.name) for each in runs)], rows, Look(sticky=True)))
