"""The page of one run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pippin.errors import not_a_run
from pippin.report.page import sections
from pippin.report.page.charts import run_charts
from pippin.report.page.frame import page
from pippin.report.page.history import History, read_history
from pippin.report.page.markup import Html
from pippin.report.page.parts import parts_of, scatter_charts
from pippin.report.report import Report, read_report
from pippin.runs.checkpoints.lock import is_in_use
from pippin.runs.folder import EVENTS
from pippin.runs.record import Run, read_record

#: The page's name in the folder of a run.
NAME = "report.html"


def run_page(run: Run, history: History, report: Report | None, folder: str) -> Html:
    """The result first, then the curves, then what it was made of."""
    running = run.status == "started"
    charts = run_charts(history, running, run.data.baselines)
    parts = [
        sections.header(run, history, report, folder),
        sections.result(run, history, report),
        sections.curves_of(charts),
        sections.samples(history),
        parts_of(report),
        sections.happenings(history, report),
        sections.plan(run),
        sections.data(run.data),
        sections.commands(run, folder),
        sections.versions(run),
    ]
    return page(sections.run_title(run, folder), parts, [*charts, *scatter_charts(report)], running)


def read_records(folder: Path) -> tuple[Run, History, Report | None]:
    """All that a run's folder tells; the report is missing where the run is not finished."""
    run = read_record(folder)
    if run is None:
        raise not_a_run(folder)
    if run.status == "started" and not is_in_use(folder):
        run = replace(run, status="killed")
    return run, read_history(folder / EVENTS), read_report(folder)
