"""The runs of a folder as a table in the terminal."""

from __future__ import annotations

from datetime import datetime

from rich.table import Table
from rich.text import Text

from pippin.report.listing import ListedRun, Listing
from pippin.report.page.metric_names import figure, metric_title
from pippin.report.terminal import Terminal, escape
from pippin.text import clock_time, visible

_COLOURS = {"finished": "green", "running": "cyan"}
#: Narrower terminals show neither the model nor the data.
_WIDE = 110


def show_runs(listing: Listing, terminal: Terminal) -> None:
    """The newest run first; how those go on that did not finish stands below."""
    if not listing.runs:
        terminal.line(escape(f"There are no runs in {listing.folder}. Make one: pippin train FILE"))
        return
    with_all = terminal.console.width >= _WIDE
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for head in ("run", "status", "score", *(("model", "data") if with_all else ()), "started", "time"):
        right = head == "time"
        table.add_column(
            head, no_wrap=True, overflow="ellipsis", justify="right" if right else "left",
            min_width=None if head in ("run", "model", "data") else 4, ratio=None,
        )  # fmt: skip
    for run in listing.runs:
        cells = [
            Text(visible(run.name)),
            Text(visible(run.status), _COLOURS.get(run.status, "yellow")),
            Text(visible(_score(run))),
            *([Text(visible(run.model)), Text(visible(run.data))] if with_all else []),
            Text(visible(_when(run.started))),
            Text("–" if run.seconds is None else clock_time(run.seconds)),
        ]
        table.add_row(*cells)
    terminal.console.print(table)
    unfinished = [run for run in listing.runs if run.resume]
    if unfinished:
        terminal.line("\nTo continue:")
        for run in unfinished:
            terminal.line(f"  {escape(run.resume)}", whole=True)


def _score(run: ListedRun) -> str:
    """The first metric, and what it was measured on."""
    name = next(iter(run.scores), None)
    if name is None:
        return "–"
    at = run.scored_on if run.scored_at is None else f"step {run.scored_at}"
    return f"{metric_title(name)} {figure(run.scores[name])} ({at})"


def _when(started: str) -> str:
    """In local time."""
    try:
        return datetime.fromisoformat(started).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return started
