"""`pippin exec SCRIPT words…`: somebody's own script with Pippin's Trainer in place of transformers'."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from dataclasses import dataclass, field

from pippin.errors import PippinError, nearest
from pippin.machine.drivers import FALLBACK_VARIABLE, is_fallback_value, prepare_environment

HELP = """
Usage: pippin exec [--data_dir FOLDER] [flags of Python] SCRIPT [words of the script ...]
       pippin exec [--data_dir FOLDER] [flags of Python] -m PACKAGE.MODULE [words of the module ...]

Runs a script written for Hugging Face's Trainer as `python SCRIPT ...` would, without an edit, with Pippin's Trainer
and TrainingArguments in place of transformers': faster, and with checkpoints that cannot be half written.

  pippin exec train.py --epochs 3                     your own script; everything after its name is its own
  pippin exec run_glue.py --model_name_or_path google-bert/bert-base-cased --task_name mrpc --do_train --do_eval \\
      --max_seq_length 128 --per_device_train_batch_size 32 --learning_rate 2e-5 --num_train_epochs 3 \\
      --output_dir runs/mrpc --overwrite_output_dir --use_mps_device
  pippin exec --data_dir glue_data run_glue.py --task_name mrpc ...
  pippin exec -u -m my_package.train --epochs 3       a module, and a flag of Python's (-u, -O, -W, -X and the like)

What is different for the script, and only in its process:
  - Trainer, TrainingArguments, Seq2SeqTrainer and Seq2SeqTrainingArguments are Pippin's, also for packages that build
    on them. Arguments that transformers removed are taken again, as Python keywords and as flags.
  - Names and arguments that transformers, datasets and evaluate dropped since 2023 are back, where they are gone.
  - Where the Hub cannot be reached, evaluate.load computes the usual metrics here (accuracy, f1, precision, recall,
    matthews_correlation, mse, mae, pearsonr, spearmanr, xnli, glue), and load_dataset("glue", TASK) takes the Hub's
    cache. Each is said on a line that begins with `pippin:`.
  - PYTORCH_ENABLE_MPS_FALLBACK is set before torch is imported, unless you have set it.

  --data_dir FOLDER   GLUE's files for load_dataset("glue", TASK), as for `pippin train --task_name TASK --data_dir`.

Exit codes and errors are the script's own. Exit code 2 with one line means that Pippin could not go on.
"""

#: Flags of Python's, without a value and with one. Left out: those after which nothing would be run.
_LETTERS, _WITH_VALUE = "bBdEIOPqRsSuv", "WX"


def run(arguments: list[str]) -> int:
    """Run the command; returns the exit code. What the script raises is not caught."""
    if not arguments:
        raise PippinError("name the script to run: pippin exec SCRIPT.py …. `pippin exec --help` explains it.")
    if arguments[0] in ("-h", "--help"):
        print(HELP.strip())
        return 0
    asked = _taken_apart(arguments)
    if asked.flags:
        _begin_again_with(asked)
    _prepare_environment()
    from pippin.drop_in.script.run import run_module, run_script

    (run_module if asked.is_module else run_script)(asked.target, asked.words, asked.data_dir)
    return 0


@dataclass
class _Asked:
    """What stands on the command line: our flag, Python's, the script or module, and the words that are its own."""

    data_dir: str | None = None
    flags: list[str] = field(default_factory=list)
    target: str = ""
    is_module: bool = False
    words: list[str] = field(default_factory=list)


def _taken_apart(arguments: list[str]) -> _Asked:
    asked, rest = _Asked(), list(arguments)
    while rest and rest[0].startswith("-") and not asked.is_module:
        word = rest.pop(0)
        if word.startswith("--"):
            asked.data_dir = _data_dir(word, rest)
        else:
            _take_letters(word, rest, asked)
    if asked.is_module:
        asked.words = rest
        return asked
    if not rest:
        raise PippinError("name the script to run: pippin exec [--data_dir FOLDER] SCRIPT.py …")
    asked.target, *asked.words = rest
    if asked.target.rpartition("/")[2] in ("python", "python3") and asked.words and not os.path.exists(asked.target):
        raise PippinError(f"leave out {asked.target}: pippin exec {shlex.join(asked.words[:1])} …")
    return asked


def _data_dir(word: str, rest: list[str]) -> str:
    flag, equals, value = word.partition("=")
    if flag.replace("-", "_") != "__data_dir":
        raise PippinError(
            f"pippin exec {flag}: there is no such flag before the script.{nearest(flag, ['--data_dir'])} "
            "The script's own go behind it: pippin exec SCRIPT.py …"
        )
    if not equals:
        value = rest.pop(0) if rest else ""
    if not os.path.isdir(value):
        raise PippinError(f"--data_dir {value}: there is no such folder.")
    return os.path.abspath(value)


def _take_letters(word: str, rest: list[str], asked: _Asked) -> None:
    """Flags in Python's own spelling: letters that may stand together, the last with a value."""
    for place, letter in enumerate(word[1:], 2):
        value = word[place:]
        if letter in _LETTERS:
            asked.flags.append(f"-{letter}")
        elif letter in _WITH_VALUE:
            if not value and not rest:
                raise PippinError(f"-{letter} needs a value: pippin exec -{letter} VALUE SCRIPT.py …")
            asked.flags += [f"-{letter}", value or rest.pop(0)]
            return
        elif letter == "m":
            if not value and not rest:
                raise PippinError("name the module: pippin exec -m PACKAGE.MODULE …")
            asked.target, asked.is_module = value or rest.pop(0), True
            return
        elif letter == "c":
            raise PippinError("-c: only scripts and modules can be run. Put the lines into a file: pippin exec FILE.py")
        else:
            raise PippinError(f"pippin exec -{letter}: Python has no such flag, or none that makes sense here.")


def _begin_again_with(asked: _Asked) -> None:
    """Python reads its flags when it starts: this process becomes one that has them."""
    ours = ["--data_dir", asked.data_dir] if asked.data_dir else []
    target = ["-m", asked.target] if asked.is_module else [asked.target]
    before = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    sys.stdout.flush()
    words = [sys.executable, *before, *asked.flags, "-m", "pippin", "exec", *ours, *target, *asked.words]
    os.execv(sys.executable, words)


def _prepare_environment() -> None:
    """What torch reads when it is imported; the user's own setting stays."""
    found = os.environ.get(FALLBACK_VARIABLE) or "1"
    threads = os.environ.get("TOKENIZERS_PARALLELISM")
    prepare_environment(int(found) != 0 if is_fallback_value(found) else True)
    if threads is None:
        # A script may fork workers, where tokenizers itself must find out that its threads are gone.
        del os.environ["TOKENIZERS_PARALLELISM"]
