"""The runs of a folder as a table in the terminal."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from pippin.report.listing import ListedRun, Listing
from pippin.report.page.metric_names import figure, is_no_better, metric_title
from pippin.report.terminal import Terminal, escape
from pippin.text import clock_time, local_time, visible

_COLOURS = {"finished": "green", "running": "cyan"}
#: Narrower terminals show neither the model nor the data, and still narrower ones not when a run was started.
_WIDE, _NARROW = 120, 90


def show_runs(listing: Listing, terminal: Terminal) -> None:
    """The newest run first; how those go on that did not finish stands below."""
    if not listing.runs:
        terminal.line(escape(f"There are no runs in {listing.folder}. Make one: pippin train FILE"))
        return
    width = terminal.console.width
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    heads = [
        "run", "status", "score", "baseline", *["model", "data"] * (width >= _WIDE), *["started"] * (width >= _NARROW),
        "time",
    ]  # fmt: skip
    for head in heads:
        right = head in ("baseline", "time")
        table.add_column(
            head, no_wrap=True, overflow="ellipsis", justify="right" if right else "left",
            min_width=None if head in ("run", "model", "data") else 4, ratio=None,
        )  # fmt: skip
    for run in listing.runs:
        score, baseline = _score(run)
        cells = {
            "run": Text(visible(run.name)),
            "status": Text(visible(run.status), _COLOURS.get(run.status, "yellow")),
            "score": score,
            "baseline": baseline,
            "model": Text(visible(run.model)),
            "data": Text(visible(run.data)),
            "started": Text(visible(local_time(run.started))),
            "time": Text("–" if run.seconds is None else clock_time(run.seconds)),
        }
        table.add_row(*(cells[head] for head in heads))
    terminal.console.print(table)
    unfinished = [run for run in listing.runs if run.resume]
    if unfinished:
        terminal.line("\nTo continue:")
        for run in unfinished:
            terminal.line(f"  {escape(run.resume)}", whole=True)


def _score(run: ListedRun) -> tuple[Text, Text]:
    """The first metric and what it was measured on; what the simplest answer would score, marked where it is as good."""
    name = next(iter(run.scores), None)
    if name is None:
        return Text("–"), Text("–")
    value, baseline = run.scores[name], run.baselines.get(name)
    score = Text(visible(f"{metric_title(name)} {figure(value)} ({run.scored_words})"))
    return score, Text(figure(baseline), "yellow" if is_no_better(name, value, baseline) else "")
