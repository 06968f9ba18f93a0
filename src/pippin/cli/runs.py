"""`pippin runs`: all runs of a folder, in the terminal or as a page in the browser."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path

from pippin.cli.command_line import CommandLine
from pippin.cli.flags import RunsFlags

#: Where `pippin train` puts runs.
FOLDER = "runs"


def run(line: CommandLine) -> int:
    """Run the command; returns the exit code."""
    line.refuse()
    from pippin.report.listing import list_runs
    from pippin.report.runs_table import show_runs
    from pippin.report.terminal import Terminal

    flags: RunsFlags = line.flags
    folder = Path(line.words[0] if line.words else FOLDER)
    listing = list_runs(folder)
    if flags.json:
        from pippin.records import to_json

        print(json.dumps(to_json(listing), indent=2, ensure_ascii=False))
    else:
        terminal = Terminal()
        show_runs(listing, terminal)
        for each in listing.unreadable:
            terminal.warn(each.problem)
    if flags.open:
        from pippin.cli.report import write_index

        webbrowser.open(write_index(listing, None, overwrite=False).absolute().as_uri())
    return 0
