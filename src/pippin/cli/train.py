"""`pippin train`: words to a Recipe, then the job."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pippin.cli.flags import help_page, split_words
from pippin.machine.drivers import check_device_name, prepare_environment
from pippin.recipe.files import settings_from_file
from pippin.recipe.reading import Given, Reading, read_recipe
from pippin.report.trackers.installed import check_installed
from pippin.tasks.registry import check_task_name

INTRO = """
Usage: pippin train [FILE|FOLDER] [--flag value ...] [--config FILE]

Fine-tune a model for text classification (or regression) and save it as transformers does.

  pippin train                          the built-in questions with the built-in model
  pippin train reviews.csv              your own rows: CSV, TSV, JSON, JSONL or Parquet
  pippin train reviews.csv --label_column stars --text_column title,body
  pippin train --task_name mrpc --data_dir glue_data --model_name_or_path google-bert/bert-base-cased \\
      --do_train --do_eval --learning_rate 2e-5 --num_train_epochs 3 --output_dir runs/mrpc

What is left out is chosen from the model, the data and the machine, and printed with its reason before
training. Flags may be written --like_this or --like-this; a YAML or JSON file of the same names goes in
with --config, and flags win over it. Hugging Face's run_glue.py flags work under their own names.
"""

#: What only other packages can judge, asked before any of them does work.
CHECKS: dict[str, Callable[[Any], object]] = {
    "device": check_device_name,
    "task_name": check_task_name,
    "report_to": check_installed,
}


def run(arguments: list[str]) -> int:
    """Run the command; returns the exit code."""
    if any(word in ("-h", "--help") for word in arguments):
        print(help_page(INTRO))
        return 0
    return carry_out(read_command(arguments))


def carry_out(reading: Reading) -> int:
    """Do the job that was read; returns the exit code."""
    prepare_environment(reading.recipe.mps_fallback == "on")
    from pippin.commands.train import run_job
    from pippin.report.terminal import Terminal

    terminal = Terminal.for_recipe(reading.recipe)
    for note in reading.notes:
        terminal.note(note)
    run_job(reading.recipe, terminal)
    return 0


def read_command(arguments: list[str]) -> Reading:
    """The Recipe that a command line asks for: defaults < --config file < flags."""
    words = split_words(arguments)
    mistakes = list(words.mistakes)
    from_files: list[Given] = []
    flags: list[Given] = []
    for given in words.settings:
        if given.name == "config":
            from_files += settings_from_file(str(given.value), mistakes)
        else:
            flags.append(given)
    if words.positional:
        data = words.positional[0]
        if data.endswith((".yaml", ".yml")) and Path(data).is_file():
            mistakes.append(f"{data} looks like a settings file: use --config {shlex.quote(data)}")
        else:
            flags.insert(0, Given("data", data, f"FILE {data or repr(data)}"))
    if len(words.positional) > 1:
        mistakes.append(
            f"one FILE or FOLDER at a time, but {len(words.positional)} were named: {', '.join(words.positional)}. "
            "For separate splits use --train_file, --validation_file and --test_file."
        )
    return read_recipe([*from_files, *flags], mistakes, CHECKS)
