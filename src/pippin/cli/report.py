"""`pippin report RUN …`: the web page of a run, or of several beside each other."""

from __future__ import annotations

import sys
from pathlib import Path

from pippin.cli.flags import split_words
from pippin.errors import Mistakes, PippinError, nearest
from pippin.text import visible

HELP = """
Usage: pippin report RUN [RUN ...] [--output FILE] [--overwrite]

Every run writes RUN/report.html while it goes on: open it in a browser, and it follows the run. This command makes the
page again from the run's records, also for a run that was killed. Several runs go on one page: results beside each
other, curves over each other, and the settings in which they differ.

  pippin report runs/reviews                        RUN/report.html again
  pippin report runs/a runs/b --output both.html    default: runs.html here

A file that is not such a page is replaced only with --overwrite.

A page needs no server and asks for nothing outside itself. It holds texts of the validation or test rows that the model
got wrong: think of that before you send it to somebody.
"""


def run(arguments: list[str]) -> int:
    """Run the command; returns the exit code."""
    if any(word in ("-h", "--help") for word in arguments):
        print(HELP.strip())
        return 0
    words = split_words(arguments)
    mistakes = list(words.mistakes)
    given = {setting.name: setting.value for setting in words.settings}
    known = ["output", "overwrite"]
    mistakes += [f"--{name}: there is no such flag.{nearest(name, known, '--')}" for name in given if name not in known]
    if given.get("output") is True:
        mistakes.append("--output needs the name of a file after it.")
    if not words.positional:
        mistakes.append("name the folder of a run: pippin report RUN")
    if mistakes:
        raise Mistakes(mistakes)
    output = Path(str(given["output"])) if "output" in given else None
    print(write_report([Path(name) for name in words.positional], output, "overwrite" in given))
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
