"""`pippin report RUN …`: the web page of a run, or of several beside each other."""

from __future__ import annotations

import sys
from pathlib import Path

from pippin.cli.command_line import CommandLine
from pippin.cli.flags import ReportFlags
from pippin.errors import PippinError
from pippin.text import visible


def run(line: CommandLine) -> int:
    """Run the command; returns the exit code."""
    line.refuse()
    flags: ReportFlags = line.flags
    output = Path(flags.output) if flags.output else None
    print(write_report([Path(name) for name in line.words], output, flags.overwrite))
    return 0


def write_report(folders: list[Path], output: Path | None, overwrite: bool = False) -> Path:
    """Write the page of one run into its folder, or of several into a file; returns its path."""
    from pippin.cli.output_file import output_problem
    from pippin.files import write_text
    from pippin.report.page.compare_page import ComparedRun, compare_page
    from pippin.report.page.run_page import NAME, read_records, run_page
    from pippin.runs.folder import EVENTS, is_page

    records = [read_records(folder) for folder in folders]
    for folder, (run, history, report) in zip(folders, records, strict=True):
        if history.unreadable:
            lines = "1 line" if history.unreadable == 1 else f"{history.unreadable} lines"
            _warn(f"{lines} of {folder / EVENTS} cannot be read and {'is' if lines == '1 line' else 'are'} left out.")
        if run.is_finished and report is None:
            _warn(f"{folder / 'report.json'} cannot be read, so the page has no figures by class.")
    path = output or (folders[0] / NAME if len(folders) == 1 else Path("runs.html"))
    problem = output_problem("--output", path, overwrite or is_page(path))
    if problem:
        raise PippinError(problem)
    if len(folders) == 1:
        text = run_page(*records[0], str(folders[0]))
    else:
        text = compare_page([ComparedRun(name, *record) for name, record in zip(_names(folders), records, strict=True)])
    write_text(path, text)
    return path


def _warn(text: str) -> None:
    print(f"warning: {visible(text)}", file=sys.stderr)


def _names(folders: list[Path]) -> list[str]:
    """The last part of each path where that tells them apart, else the whole."""
    short = [folder.resolve().name for folder in folders]
    return short if len(set(short)) == len(short) else [str(folder) for folder in folders]
