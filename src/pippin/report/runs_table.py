"""The runs of a folder as a table in the terminal."""

from __future__ import annotations

from typing import Literal

from rich.table import Table
from rich.text import Text

from pippin.report.listing import ListedRun, Listing
from pippin.report.page.metric_names import figure, is_no_better, short_title
from pippin.report.terminal import Terminal, escape
from pippin.text import local_time, time_taken, visible

_COLOURS = {"finished": "green", "running": "cyan"}
#: Narrower terminals show neither the model nor the data, and still narrower ones not when a run was started.
_WIDE, _NARROW = 120, 90
#: Names are cut to so many characters; the run's own gets what is left, and so many at least.
_LONGEST, _SHORTEST_NAME, _BETWEEN = {"model": 28, "data": 20}, 8, 2


def show_runs(listing: Listing, terminal: Terminal) -> None:
    """The newest run first; how those go on that did not finish stands below."""
    if not listing.runs:
        terminal.line(escape(f"There are no runs in {listing.folder}. Make one: pippin train FILE"))
        return
    width = terminal.console.width
    columns = _columns(listing, width)
    widths = {head: max(cell.cell_len for cell in [Text(head), *cells]) for head, cells in columns.items()}
    widths = {head: min(each, _LONGEST.get(head, each)) for head, each in widths.items()}
    left = width - sum(each + _BETWEEN for head, each in widths.items() if head != "run") - _BETWEEN
    widths["run"] = max(min(widths["run"], left), _SHORTEST_NAME)
    table = Table(box=None, padding=(0, _BETWEEN, 0, 0), pad_edge=False)
    for head in columns:
        justify: Literal["left", "right"] = "right" if head in ("baseline", "time") else "left"
        table.add_column(head, no_wrap=True, overflow="ellipsis", justify=justify, width=widths[head])
    for row in zip(*columns.values(), strict=True):
        table.add_row(*row)
    terminal.console.print(table)
    unfinished = [run for run in listing.runs if run.resume]
    if unfinished:
        terminal.line("\nTo continue:")
        for run in unfinished:
            terminal.line(f"  {escape(run.resume)}", whole=True)


def _columns(listing: Listing, width: int) -> dict[str, list[Text]]:
    """What there is room for."""
    runs = listing.runs
    columns = {
        "run": [Text(visible(run.name)) for run in runs],
        "status": [Text(visible(run.status), _COLOURS.get(run.status, "yellow")) for run in runs],
        "score": [Text(visible(_score(run))) for run in runs],
        "baseline": list(map(_baseline, runs)),
        "model": [Text(visible(run.model)) for run in runs],
        "data": [Text(visible(run.data)) for run in runs],
        "started": [Text(visible(local_time(run.started))) for run in runs],
        "time": [Text("–" if run.seconds is None else time_taken(run.seconds)) for run in runs],
    }
    left_out = [*["model", "data"] * (width < _WIDE), *["started"] * (width < _NARROW)]
    return {head: cells for head, cells in columns.items() if head not in left_out}


def _score(run: ListedRun) -> str:
    """The first metric, and what it was measured on."""
    name = next(iter(run.scores), None)
    return "–" if name is None else f"{short_title(name)} {figure(run.scores[name])} ({run.scored_words})"


def _baseline(run: ListedRun) -> Text:
    """What the simplest answer would score, marked where that is as good."""
    name = next(iter(run.scores), "")
    baseline = run.baselines.get(name)
    return Text(figure(baseline), "yellow" if is_no_better(name, run.scores.get(name), baseline) else "")
