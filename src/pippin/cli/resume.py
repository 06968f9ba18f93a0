"""`pippin resume RUN`: go on with an unfinished run. Its folder holds all that is needed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pippin.cli.flags import split_words
from pippin.cli.train import CHECKS, carry_out
from pippin.errors import Mistakes, PippinError, not_a_run
from pippin.recipe.command import given_settings
from pippin.recipe.reading import Given, read_recipe

HELP = """
Usage: pippin resume RUN [--flag value ...]

Goes on with a run that was interrupted, killed, or stopped by a full disk. The settings are those of RUN/run.json, the
place is the newest checkpoint of which every byte verifies, and the result is the one that the run would have had,
bit for bit on the same device. (On CUDA some kernels differ from run to run by themselves: --full_determinism.)

  pippin resume runs/reviews
  pippin resume runs/reviews --num_train_epochs 5      what may change is applied and said; what may not is refused
"""


def run(arguments: list[str]) -> int:
    """Run the command; returns the exit code."""
    if any(word in ("-h", "--help") for word in arguments):
        print(HELP.strip())
        return 0
    words = split_words(arguments)
    if words.mistakes:
        raise Mistakes(words.mistakes)
    if len(words.positional) != 1:
        raise PippinError("name the folder of one run: pippin resume RUN.")
    settings = [*settings_of_run(words.positional[0]), *words.settings, Given("resume", True, "resume")]
    return carry_out(read_recipe(settings, checks=CHECKS))


def settings_of_run(folder: str) -> list[Given]:
    """The settings of a run, as they were given to it."""
    from pippin.runs.opening import located
    from pippin.runs.resume import trusted_record

    run = trusted_record(Path(folder))
    if run is None:
        raise not_a_run(folder)
    recipe = replace(located(run.recipe, run.directory), output_dir=folder, overwrite_output_dir=False, quiet=False)
    return [Given(name, value, f"--{name}") for name, value in given_settings(recipe).items()]
