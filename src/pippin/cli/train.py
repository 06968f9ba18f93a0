"""`pippin train`: words to a Recipe, then the job."""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pippin.cli.command_line import CommandLine
from pippin.errors import PippinError
from pippin.machine.drivers import check_device_name, prepare_environment
from pippin.machine.launch import OWN_LAUNCHER, TOLD, place_here
from pippin.recipe.files import settings_from_file
from pippin.recipe.reading import Given, Reading, read_recipe
from pippin.report.trackers.installed import check_installed
from pippin.tasks.registry import check_task_name

#: What only other packages can judge, asked before any of them does work.
CHECKS: dict[str, Callable[[Any], object]] = {
    "device": check_device_name,
    "task_name": check_task_name,
    "report_to": check_installed,
}


def run(line: CommandLine) -> int:
    """Run the command; returns the exit code."""
    return carry_out(read_job(line))


def carry_out(reading: Reading) -> int:
    """Do the job that was read; returns the exit code."""
    place, recipe = place_here(), reading.recipe
    if not place.launcher:
        if recipe.hosts:
            from pippin.commands.hosts import launch_on_hosts

            return launch_on_hosts(recipe)
        if recipe.processes:
            from pippin.commands.launch import launch

            return launch(recipe)
    prepare_environment(recipe.mps_fallback == "on")
    from pippin.commands.processes import take_part
    from pippin.report.terminal import Terminal

    terminal = Terminal.for_recipe(recipe)
    if not place.is_first:
        return _quietly(lambda: take_part(recipe, terminal, place))
    for note in reading.notes:
        terminal.note(note)
    try:
        return 0 if take_part(recipe, terminal, place) else 1
    except PippinError as error:
        if os.environ.get(OWN_LAUNCHER) and getattr(error, "is_explained", True) is False:
            return 1  # the launcher knows how the other process ended
        raise


def _quietly(work: Callable[[], object]) -> int:
    """The exit code of a process that takes part: what goes wrong in all of them is said by the first."""
    try:
        return 0 if work() else TOLD
    except PippinError as error:
        if type(error).__name__ == "FailedProcess":
            raise
        return TOLD
    except KeyboardInterrupt as error:
        return 128 + getattr(error, "signal", signal.SIGINT)


def read_job(line: CommandLine, of_run: Iterable[Given] = (), more_mistakes: Iterable[str] = ()) -> Reading:
    """The Recipe that a command line asks for: defaults < a run's settings < --config file < flags."""
    mistakes = [*line.mistakes, *more_mistakes]
    in_files = [given for path in line.flags.config or () for given in settings_from_file(path, mistakes)]
    rows = []
    if line.words and not of_run:
        data = line.words[0]
        if data.endswith((".yaml", ".yml")) and Path(data).is_file():
            mistakes.append(f"{data} looks like a settings file: use --config {shlex.quote(data)}")
        else:
            rows.append(Given("data", data, f"FILE {data or repr(data)}"))
    return read_recipe([*of_run, *in_files, *rows, *line.settings], mistakes, CHECKS)
