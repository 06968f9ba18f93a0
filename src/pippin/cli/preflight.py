"""`pippin preflight`: will this job run, will it fit, how long will it take, here or on another computer?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pippin.cli.doctor import load_machine
from pippin.cli.flags import split_words
from pippin.cli.output_file import output_problem
from pippin.cli.resume import settings_of_run
from pippin.cli.train import read_command
from pippin.errors import Mistakes, PippinError
from pippin.machine.drivers import check_device_name, prepare_environment
from pippin.recipe.reading import Reading, read_recipe

if TYPE_CHECKING:
    from pippin.commands.planning import PlannedJob
    from pippin.report.terminal import Terminal

HELP = """
Usage: pippin preflight [FILE|FOLDER|RUN] [--flag value ...] [--chip NAME ... | --machine FILE] [--compare]
                        [--measure] [--json]

Takes the words of `pippin train` (or the folder of a run) and answers before anything starts: will it run, will it
fit, how long will it take? One training step and one evaluation of the real model are run with fake tensors, which
have shapes and no contents; the model's weights are neither loaded nor downloaded. Nothing is written but the files
named below.

  pippin preflight reviews.csv                                          on this computer
  pippin preflight reviews.csv --chip m1 --memory 8                     on a small Mac
  pippin preflight reviews.csv --machine machine.json                   on a computer that `pippin doctor --json` saw
  pippin preflight --model_name_or_path google-bert/bert-base-cased --chip m3-max --compare --page macs.html

  --chip NAME       A Mac: m1, m1-pro … m5-max. Without it: this computer.
  --gpu_cores N     If it has fewer than the chip's most.
  --memory GB       Of the whole Mac. Default: the least that it is sold with.
  --macos VERSION   Default: the oldest that torch runs on.
  --torch VERSION   Default: the installed one.
  --machine FILE    A computer with any GPU or none, as `pippin doctor --json` described it there.
  --compare         The same job on every chip, by batch size.
  --chart FILE      That comparison as a picture (.png, .svg or .pdf).
  --page FILE       That comparison as a web page (.html).
  --overwrite       Replace the files of --chart and --page if they are there already.
  --measure         On this computer: run one real step in a process of its own, and say what it took.
  --json            The answer as JSON.

Exit code 0 when it runs and fits, 1 when not, 2 when the question cannot be answered. Times on Macs are estimates from
published runs, not measured by us; how far they are off is said with them.
"""
_VALUES = {
    "chip": str, "gpu_cores": int, "memory": int, "macos": str, "torch": str, "machine": str,
    "chart": str, "page": str,
}  # fmt: skip
_SWITCHES = ("compare", "measure", "json", "overwrite")
_DESCRIBES = ("chip", "gpu_cores", "memory", "macos", "torch")
_NAMES = {"gpu_cores": "cores"}


def run(arguments: list[str]) -> int:
    """Run the command; returns the exit code."""
    if any(word in ("-h", "--help") for word in arguments):
        print(HELP.strip())
        return 0
    asked, rest = _take(arguments)
    reading = _read(rest)
    if "chip" in asked and (reading.recipe.use_cpu or reading.recipe.device):
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
    mac: dict[str, Any] = {_NAMES.get(name, name): asked[name] for name in _DESCRIBES if name in asked}
    if mac:
        target = some_mac(here=here, **mac)
    elif "machine" in asked:
        target = target_of(load_machine(str(asked["machine"])), is_here=False)
    else:
        target = target_of(here, is_here=True)
    terminal = Terminal(quiet=True)
    job = plan_job(reading.recipe, terminal, None if target.is_here else target.machine, needs_weights=False)
    if {"compare", "chart", "page"} & asked.keys():
        _compare(job, asked, terminal)
        return 0
    answer = preflight(job, target, measures="measure" in asked)
    if "json" in asked:
        print(json.dumps({"will": answer.will, **to_json(answer)}, indent=2, ensure_ascii=False))
    else:
        show_answer(answer, terminal)
    return 0 if answer.will else 1


def _take(arguments: list[str]) -> tuple[dict[str, object], list[str]]:
    """This command's own words, and those that are left for `pippin train`."""
    own: dict[str, object] = {}
    rest: list[str] = []
    mistakes: list[str] = []
    words = iter(arguments)
    for word in words:
        typed, equals, value = word.partition("=")
        name = typed.removeprefix("--").replace("-", "_") if typed.startswith("--") else ""
        if name in _SWITCHES and not equals:
            own[name] = True
        elif name in _VALUES:
            found = value if equals else next(words, None)
            if found is None or found.startswith("--"):
                mistakes.append(f"{typed} needs a value after it.")
                continue
            try:
                own[name] = _VALUES[name](found)
            except ValueError:
                mistakes.append(f"{typed} {found}: a whole number is wanted.")
        else:
            rest.append(word)
    mistakes += _contradictions(own)
    if mistakes:
        raise Mistakes(mistakes)
    return own, rest


def _contradictions(own: dict[str, object]) -> list[str]:
    lone = [f"--{name} describes a Mac: name its chip, as in --chip m2." for name in _DESCRIBES[1:] if name in own]
    found = lone if lone and "chip" not in own else []
    found += [
        f"--measure runs on this computer: leave out --{name}."
        for name in ("chip", "machine")
        if "measure" in own and name in own
    ]
    if "chip" in own and "machine" in own:
        found.append("--chip and --machine exclude each other.")
    for name, endings in (("chart", (".png", ".svg", ".pdf")), ("page", (".html",))):
        if name in own and Path(str(own[name])).suffix.lower() not in endings:
            found.append(f"--{name} {own[name]}: the name must end in {' or '.join(endings)}.")
        elif name in own and (problem := output_problem(f"--{name}", Path(str(own[name])), "overwrite" in own)):
            found.append(problem)
    return found


def _read(words: list[str]) -> Reading:
    """The recipe that the words ask for; a run's folder stands for its own."""
    plain = split_words(words)
    if len(plain.positional) == 1 and Path(plain.positional[0], "run.json").is_file() and not plain.mistakes:
        settings = [*settings_of_run(plain.positional[0]), *plain.settings]
        return read_recipe(settings, checks={"device": check_device_name})
    return read_command(words)


def _compare(job: PlannedJob, asked: dict[str, object], terminal: Terminal) -> None:
    from pippin.commands.preflight.compare import compare
    from pippin.commands.preflight.views.words import show_comparison
    from pippin.records import to_json

    comparison = compare(job)
    if "json" in asked:
        print(json.dumps(to_json(comparison), indent=2, ensure_ascii=False))
    else:
        show_comparison(comparison, terminal)
    if "chart" in asked:
        from pippin.commands.preflight.views.chart import write_chart

        write_chart(comparison, Path(str(asked["chart"])))
    if "page" in asked:
        from pippin.commands.preflight.views.page import write_page

        write_page(comparison, Path(str(asked["page"])))
