"""`pippin resume RUN`: go on with an unfinished run. Its folder holds all that is needed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pippin.cli.command_line import CommandLine
from pippin.cli.train import carry_out, read_job
from pippin.errors import not_a_run
from pippin.recipe.command import given_settings
from pippin.recipe.reading import Given


def run(line: CommandLine) -> int:
    """Run the command; returns the exit code."""
    if not line.words:
        line.refuse()
    return carry_out(read_job(line, [*settings_of_run(line.words[0]), Given("resume", True, "resume")]))


def settings_of_run(folder: str) -> list[Given]:
    """The settings of a run, as they were given to it."""
    from pippin.runs.opening import located
    from pippin.runs.resume import trusted_record

    run = trusted_record(Path(folder))
    if run is None:
        raise not_a_run(folder)
    recipe = replace(located(run.recipe, run.directory), output_dir=folder, overwrite_output_dir=False, quiet=False)
    return [Given(name, value, f"--{name}", folder) for name, value in given_settings(recipe).items()]
