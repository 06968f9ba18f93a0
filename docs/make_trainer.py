"""Writes docs/trainer_arguments.md from the drop-in Trainer's table, so that the page cannot fall behind the code.

python docs/make_trainer.py
"""

from __future__ import annotations

from pathlib import Path

from pippin.drop_in.fields import ENGINE, GROUPS, IDLE, REFUSED, REMOVED, SINCE, TODAY, Treatment

PAGE = Path(__file__).parent / "trainer_arguments.md"
INTRO = """# Settings of the Trainer

What becomes of the settings of Hugging Face's `TrainingArguments` when a script uses Pippin's Trainer:

```
from pippin import Trainer, TrainingArguments
```

transformers' own code runs underneath, so what it can do it still does: {honoured} of the {fields} settings of today
are honoured on every device. *By Pippin's engine* means that Pippin's code does the work in place of transformers'.
*Refused* settings stop at once with a message, but only under the condition that is given; otherwise they are honoured.

Names that transformers removed work again: by keyword, on the command line of a script that uses `HfArgumentParser`,
and in its JSON files. They are turned into today's names, and scripts can read both. Where a former name and today's
contradict each other, both are named and nothing starts. A release of transformers that still has a former name treats
it as it always did.

They exist only where they are used: `to_dict()`, `fields()`, the printed settings and `--help` show transformers' own
names, and a former one only where it was given. A script that declares such a name itself, in a class beside
`TrainingArguments` or in a subclass of it, has a setting of its own: it means what the script makes of it.
"""


def page() -> str:
    """The whole page."""
    honoured = sum(treatment.status not in (REFUSED, IDLE) for treatment in TODAY.values())
    parts = [INTRO.format(honoured=honoured, fields=len(TODAY))]
    for title, group in GROUPS.items():
        parts.append(f"## {title}\n\n| setting | under Pippin |\n|---|---|")
        parts += [f"| `{name}` | {_cell(treatment, _since(name))} |" for name, treatment in group.items()]
        parts.append("")
    parts.append("## Names that transformers removed\n\n| setting | gone since | under Pippin |\n|---|---|---|")
    parts += [f"| `{name}` | {former.gone} | {_cell(former.treatment)} |" for name, former in sorted(REMOVED.items())]
    return "\n".join(parts) + "\n"


def _since(name: str) -> str:
    return f" Since transformers {SINCE[name]}." if name in SINCE else ""


def _cell(treatment: Treatment, since: str = "") -> str:
    marks = {
        ENGINE: "*By Pippin's engine.* ",
        IDLE: "*Without meaning here.* ",
        REFUSED: f"*Refused {treatment.when}.* ",
    }
    return marks.get(treatment.status, "") + treatment.words + since


if __name__ == "__main__":
    PAGE.write_text(page())
