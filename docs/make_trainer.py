"""Writes docs/trainer_arguments.md from the drop-in Trainer's table, so that the page cannot fall behind the code.

python docs/make_trainer.py
"""

from __future__ import annotations

from pathlib import Path

from pippin.drop_in.fields import ENGINE, GROUPS, IDLE, REFUSED, REMOVED, SINCE, TODAY, Treatment

PAGE = Path(__file__).parent / "trainer_arguments.md"
INTRO = """# TrainingArguments

This page lists the settings of Hugging Face's `TrainingArguments`, and what each one does in a [script](trainer.md)
that uses Pippin's Trainer:

```py
from pippin import Trainer, TrainingArguments
```

transformers' own code runs underneath, so {honoured} of the {fields} settings do what they always do, on every device.
*By Pippin* means that Pippin's code does the work instead. *Refused* means that Pippin stops with a message under the
condition that is given, and only then.

Names that transformers has removed work again: as keywords, as flags of a script that uses `HfArgumentParser`, and in
its JSON files. Pippin turns them into the current names, and scripts can read both. If an old and a current name
contradict each other, Pippin names both and stops. If your release of transformers still has the old name, it works as
it always did.

Old names appear only where they are used. `to_dict()`, `fields()`, the printed settings and `--help` show transformers'
names. If a script declares such a name itself, in a class beside `TrainingArguments` or in a subclass, the name means
what the script makes of it.
"""


def page() -> str:
    """The whole page."""
    honoured = sum(treatment.status not in (REFUSED, IDLE) for treatment in TODAY.values())
    parts = [INTRO.format(honoured=honoured, fields=len(TODAY))]
    for title, group in GROUPS.items():
        parts.append(f"## {title}\n\n| setting | what it does |\n|---|---|")
        parts += [f"| `{name}` | {_cell(treatment, _since(name))} |" for name, treatment in group.items()]
        parts.append("")
    parts.append("## Names that transformers removed\n\n| setting | gone since | what it does |\n|---|---|---|")
    parts += [f"| `{name}` | {former.gone} | {_cell(former.treatment)} |" for name, former in sorted(REMOVED.items())]
    return "\n".join(parts) + "\n"


def _since(name: str) -> str:
    return f" Since transformers {SINCE[name]}." if name in SINCE else ""


def _cell(treatment: Treatment, since: str = "") -> str:
    marks = {
        ENGINE: "*By Pippin.* ",
        IDLE: "*No effect.* ",
        REFUSED: f"*Refused {treatment.when}.* ",
    }
    return marks.get(treatment.status, "") + treatment.words + since


if __name__ == "__main__":
    PAGE.write_text(page())
