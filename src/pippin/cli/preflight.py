"""`pippin preflight`: will this job run, will it fit, how long will it take, here or on another computer?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pippin.cli.command_line import CommandLine
from pippin.cli.doctor import load_machine
from pippin.cli.flags import PreflightFlags
from pippin.cli.output_file import output_problem
from pippin.cli.resume import settings_of_run
from pippin.cli.train import read_job
from pippin.errors import PippinError
from pippin.machine.drivers import prepare_environment

if TYPE_CHECKING:
    from pippin.commands.planning import PlannedJob
    from pippin.recipe import Recipe
    from pippin.report.terminal import Terminal

#: What describes a Mac, as the flags and as `some_mac` call it.
_DESCRIBES = {"chip": "chip", "gpu_cores": "cores", "memory": "memory", "macos": "macos", "torch": "torch"}


def run(line: CommandLine) -> int:
    """Run the command; returns the exit code."""
    flags: PreflightFlags = line.flags
    is_run = len(line.words) == 1 and Path(line.words[0], "run.json").is_file()
    reading = read_job(line, settings_of_run(line.words[0]) if is_run else (), _contradictions(flags))
    _check_processes(reading.recipe, flags)
    if flags.chip and (reading.recipe.use_cpu or reading.recipe.device):
        flag = "--use_cpu" if reading.recipe.use_cpu else f"--device {reading.recipe.device}"
        raise PippinError(f"{flag}: for a Mac that is not here, its GPU is what is looked at. Leave it out.")
    prepare_environment(reading.recipe.mps_fallback == "on")
    from pippin.commands.planning import plan_job
    from pippin.commands.preflight.run import preflight
    from pippin.commands.preflight.target import some_mac, target_of
    from pippin.commands.preflight.views.words import show_answer
    from pippin.machine.probe import probe
    from pippin.records import to_json
    from pippin.report.terminal import Terminal

    here = probe()
    mac: dict[str, Any] = {ours: getattr(flags, name) for name, ours in _DESCRIBES.items() if getattr(flags, name)}
    if mac:
        target = some_mac(here=here, **mac)
    elif flags.machine:
        target = target_of(load_machine(flags.machine), is_here=False, recipe=reading.recipe)
    else:
        target = target_of(here, is_here=True, recipe=reading.recipe)
    terminal = Terminal(quiet=True)
    job = plan_job(reading.recipe, terminal, None if target.is_here else target.machine, needs_weights=False)
    if flags.compare or flags.chart or flags.page:
        _compare(job, flags, terminal)
        return 0
    answer = preflight(job, target, measures=flags.measure, link=flags.link)
    if flags.json:
        print(json.dumps({"will": answer.will, **to_json(answer)}, indent=2, ensure_ascii=False))
    else:
        show_answer(answer, terminal)
        if job.rows.train is not None and job.rows.train.example is not None:
            Terminal().show_example(*job.rows.train.example)
    return 0 if answer.will else 1


def _contradictions(flags: PreflightFlags) -> Iterator[str]:
    for name in _DESCRIBES:
        if getattr(flags, name) is not None and not flags.chip:
            yield f"--{name} describes a Mac: name its chip, as in --chip m2."
    for name in ("chip", "machine"):
        if flags.measure and getattr(flags, name):
            yield f"--measure runs on this computer: leave out --{name}."
    if flags.chip and (flags.compare or flags.chart or flags.page):
        yield f"--compare covers every Mac: leave out --chip {flags.chip}."
    if flags.chip and flags.machine:
        yield "--chip and --machine exclude each other."
    for flag, file, endings in (
        ("--chart", flags.chart, (".png", ".svg", ".pdf")),
        ("--page", flags.page, (".html",)),
    ):
        if file and Path(file).suffix.lower() not in endings:
            yield f"{flag} {file}: the name must end in {' or '.join(endings)}."
        elif file and (problem := output_problem(flag, Path(file), flags.overwrite)):
            yield problem


def _check_processes(recipe: Recipe, flags: PreflightFlags) -> None:
    several = recipe.processes or recipe.computers > 1
    if flags.link and recipe.computers < 2:
        raise PippinError(f"--link {flags.link} is for several computers. Add --hosts 2, or their names.")
    if flags.measure and several:
        raise PippinError("--measure runs one process: leave out --processes and --hosts.")


def _compare(job: PlannedJob, flags: PreflightFlags, terminal: Terminal) -> None:
    from pippin.commands.preflight.compare import compare
    from pippin.commands.preflight.views.words import show_comparison
    from pippin.records import to_json

    comparison = compare(job)
    if flags.json:
        print(json.dumps(to_json(comparison), indent=2, ensure_ascii=False))
    else:
        show_comparison(comparison, terminal)
    if flags.chart:
        from pippin.commands.preflight.views.chart import write_chart

        write_chart(comparison, Path(flags.chart))
    if flags.page:
        from pippin.commands.preflight.views.page import write_page

        write_page(comparison, Path(flags.page))
