"""Writes docs/hugging_face.md from the recipe's own tables, so that the page cannot fall behind the code.

python docs/make_hugging_face.py
"""

from __future__ import annotations

from pathlib import Path

from pippin.recipe.fields import recipe_fields
from pippin.recipe.foreign import ALIASES, NOT_NEEDED, REFUSED

PAGE = Path(__file__).parent / "hugging_face.md"
INTRO = """# From Hugging Face's run_glue.py

The commands that people have work word for word, those that newer releases of transformers broke included:

```
pippin train --model_name_or_path google-bert/bert-base-cased --task_name mrpc --do_train --do_eval \\
    --max_seq_length 128 --per_device_train_batch_size 32 --learning_rate 2e-5 --num_train_epochs 3 \\
    --output_dir runs/mrpc --overwrite_output_dir
```

Naming `--do_train`, `--do_eval` or `--do_predict` means: exactly those, with Hugging Face's defaults (learning rate
5e-5, 3 epochs, batch 8, no warm-up). Without them Pippin chooses.

What differs, on purpose:

- Batches are padded to their longest row, not to 128, and hold rows of like length; `--pad_to_max_length` and
  `--train_sampling_strategy random` bring the old ways back.
- Accumulated micro-batches give the gradient of the whole batch. (Hugging Face's Trainer sums them for BERT's heads, so
  clipping acts on a gradient that is too large.)
- Text labels in CSV files work; a test file needs no label column; metrics need no network.
- The loss is logged in short runs too, about twenty times a run instead of every 500 steps.
- Checkpoints are called `checkpoints/step-N` rather than `checkpoint-N`, are written every few minutes and when the run
  is interrupted, and go when it is finished; `--save_strategy` and `--save_steps` make them stay. The newest one is
  kept, and the best, unless `--save_total_limit` says otherwise. They hold safetensors and JSON only.
- An output folder is never mixed with an earlier run, and never touched when Pippin did not write it.
- A NaN stops the run.
"""


def page() -> str:
    """The whole page."""
    parts = [INTRO, "\n## Other spellings that work\n\n| flag | is |\n|---|---|"]
    parts += [f"| `--{name}` | `--{field}` |" for name, field in sorted(ALIASES.items())]
    parts.append("\n## Accepted, not needed\n\n| flag | why |\n|---|---|")
    parts += [f"| `--{name}` | {why} |" for name, why in sorted(NOT_NEEDED.items())]
    parts.append("\n## Refused, with the reason\n\nGiven their off value or Hugging Face's default they are fine.")
    parts.append("\n| flag | why |\n|---|---|")
    parts += [f"| `--{name}` | {why}. {instead} |" for name, (why, instead) in sorted(REFUSED.items())]
    parts.append(f"\nAll other flags of run_glue.py are honoured: Pippin has {len(recipe_fields())} settings.\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page())
