"""All runs of a folder on one page, each with a link to its own."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from urllib.parse import quote

from pippin.report.listing import ListedRun, Listing
from pippin.report.page.frame import page
from pippin.report.page.markup import Html, html, joined, shortened, theirs
from pippin.report.page.metric_names import figure, is_no_better, short_title
from pippin.report.page.sections import command, moment, section, status_mark, warning
from pippin.report.page.tables import Cell, Look, table
from pippin.text import time_taken

#: The page's name in the folder of the runs.
NAME = "index.html"
_LONGEST_MODEL = 30


def index_page(listing: Listing, path: Path) -> Html:
    """The page; ``path`` is where it will be, as links start from there."""
    rows = (
        [
            _link(run, path),
            status_mark(run.status),
            _score(run),
            shortened(run.model, _LONGEST_MODEL),
            html('{} <small class="name">{} rows</small>', theirs(run.data), run.rows),
            Cell(time_taken(run.seconds), run.seconds) if run.seconds is not None else "–",
            Cell(moment(run.started), run.started, "name"),
        ]
        for run in listing.runs
    )
    heads = ["Run", "Status", "Score", "Model", "Data", "Time", "Started"]
    look = Look(frozenset({5}), sorts=True, what="runs", cards="cards bare")
    found = table(heads, rows, look) if listing.runs else html('<p class="soft">There are no runs here yet.</p>')
    title = f"{len(listing.runs)} run{'s' * (len(listing.runs) != 1)} in {os.path.join(listing.folder, '')}"
    rebuild = command(f"pippin report {shlex.quote(listing.folder)}")
    parts = [
        html("<header><h1>{}</h1></header>", theirs(title)),
        joined(warning(each.problem) for each in listing.unreadable),
        found,
        _unfinished(listing),
        section("Commands", html("<p>Rebuild this page</p>{}", rebuild)),
    ]
    return page(title, parts)


def _link(run: ListedRun, page: Path) -> Html:
    if not run.page:
        return theirs(run.name)
    # From the page's own folder and marked as a path, so that no name can be an address of another kind.
    target = Path(os.path.relpath(run.page, page.absolute().parent)).as_posix()
    return html('<a href="./{}">{}</a>', quote(os.fsencode(target)), theirs(run.name))


def _score(run: ListedRun) -> Cell | str:
    """The first metric, what it was measured on, and what the simplest answer would score."""
    if not run.scores:
        return "–"
    name, value = next(iter(run.scores.items()))
    baseline = run.baselines.get(name)
    shown = html("{} <b>{}</b> <small>({})</small>", short_title(name), figure(value), run.scored_words)
    if is_no_better(name, value, baseline):
        shown = html('{} <br><small class="poor">no better than the baseline, {}</small>', shown, figure(baseline))
    elif baseline is not None:
        shown = html("{} <br><small>baseline {}</small>", shown, figure(baseline))
    return Cell(shown, value, "score")


def _unfinished(listing: Listing) -> Html:
    """How each that did not finish goes on."""
    lines = [(run, run.resume) for run in listing.runs if run.resume]
    words = "<p>{} <small>{}, step {} of {}</small></p>{}"
    told = joined(
        html(words, theirs(run.name), run.status, run.step or 0, run.steps, command(line)) for run, line in lines
    )
    return section("Unfinished runs", told) if lines else html("")
