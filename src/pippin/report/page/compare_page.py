"""Several runs on one page: their results beside each other, their curves over each other, and where they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pippin.recipe.command import given_settings
from pippin.report.page.charts import Chart, Series, metric_series, points, with_points
from pippin.report.page.frame import page
from pippin.report.page.history import History
from pippin.report.page.markup import Html, html
from pippin.report.page.sections import curves_of, loss_last, section, table
from pippin.report.plan_words import plan_rows
from pippin.report.report import Report
from pippin.runs.record import Run
from pippin.text import clock_time, memory

#: What is another in every run.
_OWN = {"output_dir", "overwrite_output_dir", "run_name", "resume", "resume_from_checkpoint"}


@dataclass(frozen=True)
class ComparedRun:
    name: str
    run: Run
    history: History
    report: Report | None


def compare_page(runs: Sequence[ComparedRun]) -> Html:
    """The page of runs that were made on the same or on different computers."""
    charts = _charts(runs)
    names = ", ".join(each.name for each in runs)
    plans = [{name: value for name, value, _ in plan_rows(each.run.plan)} for each in runs]
    parts = [
        html("<header><h1>{} runs</h1><p>{}</p></header>", len(runs), names),
        section("Results", _results(runs)),
        curves_of(charts),
        _differences("Settings that differ", runs, [_settings(each.run) for each in runs]),
        _differences("Plans that differ", runs, plans),
    ]
    return page(f"{len(runs)} runs: {names}", parts, charts)


def _results(runs: Sequence[ComparedRun]) -> Html:
    columns: dict[str, list[str]] = {}
    for place, each in enumerate(runs):
        for name, value in _figures(each).items():
            columns.setdefault(name, [""] * len(runs))[place] = value
    rows = (
        [each.name, each.run.status, *(values[place] for values in columns.values())] for place, each in enumerate(runs)
    )
    return table(["run", "", *columns], rows, numbers=range(2, 2 + len(columns)))


def _figures(each: ComparedRun) -> dict[str, str]:
    results = each.report.results if each.report else {}
    found: dict[str, str] = {
        f"{name}, {title}": html("{:.4f}", value)
        for split, title in (("test", "test"), ("eval", "validation"))
        for name, value in loss_last(results, split).items()
    }
    if "train_runtime" in results:
        found["training"] = clock_time(results["train_runtime"])
    if "train_samples_per_second" in results:
        found["rows/s"] = html("{:.0f}", results["train_samples_per_second"])
    if each.report and each.report.peak_memory:
        found["memory"] = memory(each.report.peak_memory)
    return found


def _charts(runs: Sequence[ComparedRun]) -> list[Chart]:
    def over(x: str, y: str, source: str) -> tuple[Series, ...]:
        return tuple(Series(each.name, points(getattr(each.history, source), x, y)) for each in runs)

    charts = [
        Chart("loss", "Training loss", "step", over("step", "loss", "logs"), log=True),
        Chart("validation", "Validation loss", "step", over("step", "eval_loss", "evaluations"), log=True),
    ]
    metrics = dict.fromkeys(series.name for each in runs for series in metric_series(each.history.evaluations))
    charts += [
        Chart(f"metric{place}", name, "step", over("step", f"eval_{name}", "evaluations"))
        for place, name in enumerate(metrics)
    ]
    charts += [
        Chart("time", "Training loss by time", "minute", over("minute", "loss", "logs"), log=True),
        Chart("speed", "Speed in tokens", "minute", over("minute", "tokens_per_second", "logs"), unit="/s", zero=True),
    ]
    return with_points(charts)


def _settings(run: Run) -> dict[str, str]:
    own = {f"--{name}": str(value) for name, value in given_settings(run.recipe).items() if name not in _OWN}
    return {"model": run.model, "rows": run.fingerprint[:8], "torch": run.machine.torch, "pippin": run.pippin, **own}


def _differences(title: str, runs: Sequence[ComparedRun], facts: Sequence[dict[str, str]]) -> Html:
    names = dict.fromkeys(name for each in facts for name in each)
    differing = [name for name in names if len({each.get(name) for each in facts}) > 1]
    if not differing:
        return html("")
    rows = ([name, *(each.get(name, "–") for each in facts)] for name in differing)
    return section(title, table(["", *(each.name for each in runs)], rows))
