"""Writes docs/hugging_face.md from the recipe's own tables, so that the page cannot fall behind the code.

python docs/make_hugging_face.py
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TypeVar

from pippin.recipe.fields import recipe_fields
from pippin.recipe.foreign import ALIASES, NOT_NEEDED, REFUSED

_FLAG, _AS_CODE = re.compile(r"--\w+"), r"`\g<0>`"
Answer = TypeVar("Answer", str, tuple[str, str])
PAGE = Path(__file__).parent / "hugging_face.md"
INTRO = """# run_glue.py

Commands for Hugging Face's `run_glue.py` work unchanged, including those that use flags which transformers has removed:

```bash
pippin train --model_name_or_path google-bert/bert-base-cased --task_name mrpc --do_train --do_eval \\
    --max_seq_length 128 --per_device_train_batch_size 32 --learning_rate 2e-5 --num_train_epochs 3 \\
    --output_dir runs/mrpc --overwrite_output_dir
```

If you use `--do_train`, `--do_eval` or `--do_predict`, Pippin does exactly what you name, with Hugging Face's defaults:
a learning rate of 5e-5, 3 epochs, batches of 8, and no warm-up. Without these flags, [Pippin chooses](defaults.md).

If you want to run the script itself, use [`pippin exec run_glue.py`](trainer.md).

## What is different {#differences}

- **Padding.** Pippin packs rows, or pads each batch to its longest row, and puts rows of similar length together.
  `--pad_to_max_length` and `--train_sampling_strategy random` do it the old way.
- **Gradient accumulation.** The gradient is that of the whole batch. (Hugging Face's Trainer adds up the losses of
  micro-batches for BERT's heads, so the gradient is too large when it is clipped.)
- **Data.** Text labels in CSV files work, a test file needs no labels, and metrics need no network.
- **Logging.** Pippin logs the loss about twenty times per run, not every 500 steps.
- **Checkpoints.** They are called `checkpoints/step-N` instead of `checkpoint-N`. Pippin writes one every few minutes
  and when the run is interrupted, and deletes them when the run is finished. With `--save_strategy` or `--save_steps`,
  they stay: the newest one and the best one, unless `--save_total_limit` says otherwise. They hold safetensors and JSON
  only.
- **The output folder.** Pippin never mixes it with an earlier run, and doesn't touch a folder that it didn't write.
- **NaN** stops the run.
"""
REFUSED_INTRO = """
## Refused flags {#refused}

Pippin stops with the reason if a command asks for one of these. It accepts them if they are switched off or have
Hugging Face's default value.

| flags | reason | instead |
|---|---|---|"""


def page() -> str:
    """The whole page."""
    parts = [INTRO, "## Other spellings {#spellings}\n\n| flag | same as |\n|---|---|"]
    parts += [f"| `--{name}` | `--{field}` |" for name, field in sorted(ALIASES.items())]
    parts.append("\n## Flags that have no effect {#ignored}\n\n| flags | reason |\n|---|---|")
    parts += [f"| {flags} | {why} |" for why, flags in _by_answer(NOT_NEEDED)]
    parts.append(REFUSED_INTRO)
    for (why, instead), flags in _by_answer(REFUSED):
        parts.append(f"| {flags} | {why} | {_FLAG.sub(_AS_CODE, instead)} |")
    parts.append(
        f"\nAll other flags of `run_glue.py` do what they do there. Pippin has {len(recipe_fields())} settings in all; "
        "the [command reference](commands.md#settings) lists them.\n"
    )
    return "\n".join(parts)


def _by_answer(answers: dict[str, Answer]) -> list[tuple[Answer, str]]:
    """Each answer with all flags that get it."""
    flags: dict[Answer, list[str]] = {}
    for name, answer in sorted(answers.items()):
        flags.setdefault(answer, []).append(f"`--{name}`")
    return [(answer, ", ".join(names)) for answer, names in flags.items()]


if __name__ == "__main__":
    PAGE.write_text(page())
