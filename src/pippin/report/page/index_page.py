"""All runs of a folder on one page, each with a link to its own."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from urllib.parse import quote

from pippin.report.listing import ListedRun, Listing
from pippin.report.page.frame import page
from pippin.report.page.markup import Html, html, joined, theirs
from pippin.report.page.metric_names import figure, metric_title
from pippin.report.page.sections import command, moment, section, status_mark, warning
from pippin.report.page.tables import Cell, Look, table
from pippin.text import clock_time

#: The page's name in the folder of the runs.
NAME = "index.html"


def index_page(listing: Listing, path: Path) -> Html:
    """The page; ``path`` is where it will be, as links start from there."""
    names = dict.fromkeys(name for run in listing.runs for name in run.scores if not name.startswith("loss"))
    heads = ["Run", "Status", *map(metric_title, names), "Scored on", "Model", "Data", "Started", "Training time"]
    rows = (
        [
            _link(run, path),
            status_mark(run.status),
            *(_score(run, name) for name in names),
            _scored_on(run),
            theirs(run.model),
            html("{} <small>{} rows</small>", theirs(run.data), run.rows),
            Cell(moment(run.started), run.started),
            Cell(clock_time(run.seconds), run.seconds) if run.seconds is not None else "–",
        ]
        for run in listing.runs
    )
    numbers = frozenset({*range(2, 2 + len(names)), len(heads) - 1})
    look = Look(numbers, sorts=True, what="runs", cards="cards")
    found = table(heads, rows, look) if listing.runs else html('<p class="soft">There are no runs here yet.</p>')
    count = f"{len(listing.runs)} run{'s' * (len(listing.runs) != 1)}"
    rebuild = command(f"pippin report {shlex.quote(listing.folder)}")
    parts = [
        html("<header><h1>{}</h1><p>{} in {}</p></header>", "Runs", count, theirs(listing.folder)),
        joined(warning(each.problem) for each in listing.unreadable),
        found,
        _unfinished(listing),
        section("Commands", html("<p>Rebuild this page</p>{}", rebuild)),
    ]
    return page(f"Runs in {listing.folder}", parts)


def _link(run: ListedRun, page: Path) -> Html:
    if not run.page:
        return theirs(run.name)
    # From the page's own folder and marked as a path, so that no name can be an address of another kind.
    target = Path(os.path.relpath(run.page, page.absolute().parent)).as_posix()
    return html('<a href="./{}">{}</a>', quote(os.fsencode(target)), theirs(run.name))


def _score(run: ListedRun, name: str) -> Cell | str:
    value = run.scores.get(name)
    return Cell(figure(value), value) if value is not None else "–"


def _scored_on(run: ListedRun) -> str:
    at = f", step {run.scored_at}" if run.scored_at is not None else ""
    return f"{run.scored_on or '–'}{at}"


def _unfinished(listing: Listing) -> Html:
    """How each that did not finish goes on."""
    lines = [(run, run.resume) for run in listing.runs if run.resume]
    words = "<p>{} <small>{}, step {} of {}</small></p>{}"
    told = joined(
        html(words, theirs(run.name), run.status, run.step or 0, run.steps, command(line)) for run, line in lines
    )
    return section("Unfinished runs", told) if lines else html("")
