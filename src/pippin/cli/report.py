"""`pippin report`: the web page of a run, of several beside each other, or an index of all."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pippin.cli.command_line import CommandLine
from pippin.cli.flags import ReportFlags
from pippin.errors import PippinError, not_a_run
from pippin.text import visible

if TYPE_CHECKING:
    from pippin.report.listing import Listing


def run(line: CommandLine) -> int:
    """Run the command; returns the exit code."""
    line.refuse()
    flags: ReportFlags = line.flags
    output = Path(flags.output) if flags.output else None
    folders = [Path(name) for name in line.words]
    if len(folders) < 2 and not _is_run(folders):
        from pippin.cli.runs import FOLDER
        from pippin.report.listing import list_runs

        listing = list_runs(folders[0] if folders else Path(FOLDER))
        if folders and not listing.runs and not listing.unreadable:
            raise not_a_run(folders[0])
        print(write_index(listing, output, flags.overwrite))
    else:
        print(write_report(folders, output, flags.overwrite))
    return 0


def write_index(listing: Listing, output: Path | None, overwrite: bool = False) -> Path:
    """Write the page of all runs in a folder; returns its path."""
    from pippin.report.page.index_page import NAME, index_page

    for each in listing.unreadable:
        _warn(each.problem)
    path = output or Path(listing.folder, NAME)
    _write(path, overwrite, lambda: index_page(listing, path))
    return path


def write_report(folders: list[Path], output: Path | None, overwrite: bool = False) -> Path:
    """Write the page of one run into its folder, or of several into a file; returns its path."""
    from pippin.report.page.compare_page import ComparedRun, compare_page
    from pippin.report.page.run_page import NAME, read_records, run_page
    from pippin.runs.folder import EVENTS

    records = [read_records(folder) for folder in folders]
    for folder, (run, history, report) in zip(folders, records, strict=True):
        if history.unreadable:
            lines = "1 line" if history.unreadable == 1 else f"{history.unreadable} lines"
            _warn(f"{lines} of {folder / EVENTS} cannot be read and {'is' if lines == '1 line' else 'are'} left out.")
        if run.is_finished and report is None:
            _warn(f"{folder / 'report.json'} cannot be read, so the page has no tables of results.")
    path = output or (folders[0] / NAME if len(folders) == 1 else Path("runs.html"))

    def text() -> str:
        if len(folders) == 1:
            return run_page(*records[0], str(folders[0]))
        named = zip(_names(folders), records, strict=True)
        return compare_page([ComparedRun(name, *record) for name, record in named])

    _write(path, overwrite, text)
    return path


def _write(path: Path, overwrite: bool, text: Callable[[], str]) -> None:
    """A page in the place of one of ours, or where there is nothing yet."""
    from pippin.cli.output_file import output_problem
    from pippin.files import write_text
    from pippin.runs.folder import is_page

    problem = output_problem("--output", path, overwrite or is_page(path))
    if problem:
        raise PippinError(problem)
    write_text(path, text())


def _is_run(folders: list[Path]) -> bool:
    """Whether the only folder is a run, or names nothing that could hold some."""
    return bool(folders) and (not folders[0].is_dir() or os.path.lexists(folders[0] / "run.json"))


def _warn(text: str) -> None:
    print(f"warning: {visible(text)}", file=sys.stderr)


def _names(folders: list[Path]) -> list[str]:
    """The last part of each path where that tells them apart, else the whole."""
    short = [folder.resolve().name for folder in folders]
    return short if len(set(short)) == len(short) else [str(folder) for folder in folders]
