"""`pippin exec SCRIPT words…`: somebody's own script with Pippin's Trainer in place of transformers'."""

from __future__ import annotations

import os
import shlex

from pippin.errors import PippinError, nearest
from pippin.machine.drivers import FALLBACK_VARIABLE, is_fallback_value, prepare_environment

HELP = """
Usage: pippin exec [--data_dir FOLDER] SCRIPT [words of the script ...]

Runs a script written for Hugging Face's Trainer as `python SCRIPT ...` would, without an edit, with Pippin's Trainer
and TrainingArguments in place of transformers': faster, and with checkpoints that cannot be half written.

  pippin exec train.py --epochs 3                     your own script; everything after its name is its own
  pippin exec run_glue.py --model_name_or_path google-bert/bert-base-cased --task_name mrpc --do_train --do_eval \\
      --max_seq_length 128 --per_device_train_batch_size 32 --learning_rate 2e-5 --num_train_epochs 3 \\
      --output_dir runs/mrpc --overwrite_output_dir --use_mps_device
  pippin exec --data_dir glue_data run_glue.py --task_name mrpc ...

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


def run(arguments: list[str]) -> int:
    """Run the command; returns the exit code. What the script raises is not caught."""
    if not arguments:
        raise PippinError("name the script to run: pippin exec SCRIPT.py …. `pippin exec --help` explains it.")
    if arguments[0] in ("-h", "--help"):
        print(HELP.strip())
        return 0
    data_dir, script, words = _taken_apart(arguments)
    _prepare_environment()
    from pippin.drop_in.script.run import run_script

    run_script(script, words, data_dir)
    return 0


def _taken_apart(arguments: list[str]) -> tuple[str | None, str, list[str]]:
    """Our flag, the script, and the script's words."""
    data_dir, rest = None, list(arguments)
    while rest and rest[0].startswith("-"):
        flag, equals, value = rest.pop(0).partition("=")
        if flag.replace("-", "_") != "__data_dir":
            raise PippinError(
                f"pippin exec {flag}: there is no such flag before the script.{nearest(flag, ['--data_dir'])} "
                "The script's own go behind it: pippin exec SCRIPT.py …"
            )
        if not equals:
            value = rest.pop(0) if rest else ""
        if not os.path.isdir(value):
            raise PippinError(f"--data_dir {value}: there is no such folder.")
        data_dir = os.path.abspath(value)
    if not rest:
        raise PippinError("name the script to run: pippin exec [--data_dir FOLDER] SCRIPT.py …")
    script, *words = rest
    if script.rpartition("/")[2] in ("python", "python3") and words and not os.path.exists(script):
        raise PippinError(f"leave out {script}: pippin exec {shlex.join(words[:1])} …")
    return data_dir, script, words


def _prepare_environment() -> None:
    """What torch reads when it is imported; the user's own setting stays."""
    found = os.environ.get(FALLBACK_VARIABLE) or "1"
    threads = os.environ.get("TOKENIZERS_PARALLELISM")
    prepare_environment(int(found) != 0 if is_fallback_value(found) else True)
    if threads is None:
        # A script may fork workers, where tokenizers itself must find out that its threads are gone.
        del os.environ["TOKENIZERS_PARALLELISM"]
