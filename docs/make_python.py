"""Writes docs/python.md from the signatures and docstrings of the package, so that it cannot fall behind the code.

python docs/make_python.py
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import textwrap
import typing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pippin
from pippin.errors import PippinError
from pippin.report.report import Report
from pippin.tasks.base import Prediction

PAGE = Path(__file__).parent / "python.md"
INTRO = """# Python API

```python
import pippin

report = pippin.train("reviews.csv", num_train_epochs=3)
report.results["eval_accuracy"]

model = pippin.load(report.folder)
model.predict(["What a lovely film"])
```

`import pippin` is quick: torch is loaded when you call a function that needs it. Errors that you can put right are
raised as `pippin.PippinError`, with the same message as on the command line.
"""
SETTINGS = """## Settings

All flags of `pippin train` are keywords of `pippin.train()`, with the same names: `--learning_rate 2e-5` becomes
`learning_rate=2e-5`. The [command reference](commands.md#settings) lists them.
"""
TRAINER = """## For scripts that use Hugging Face's Trainer

`pippin.Trainer`, `pippin.TrainingArguments`, `pippin.Seq2SeqTrainer` and `pippin.Seq2SeqTrainingArguments` replace the
classes of the same names in transformers. See [Trainer scripts](trainer.md).
"""


def page() -> str:
    model = _model_class()
    parts = [INTRO, _function(pippin.train, "pippin.train"), _function(pippin.load, "pippin.load")]
    parts.append(f"## The model {{#model}}\n\n`pippin.load` returns it.\n\n{_methods(model)}")
    parts += [_fields(Prediction, "Prediction"), _fields(Report, "Report")]
    parts.append(f"## PippinError\n\n{_words(PippinError.__doc__)}\n")
    return "\n".join([*parts, SETTINGS, TRAINER])


def _model_class() -> type:
    """What `pippin.load` returns: its annotation is a name that only type checkers import."""
    from pippin.commands import predictor

    name = str(inspect.signature(pippin.load).return_annotation).strip("'\"").rpartition(".")[2]
    return getattr(predictor, name)


def _function(function: Any, name: str) -> str:
    return f"## {name}\n\n```python\n{_signature(function, name)}\n```\n\n{_words(function.__doc__)}\n"


def _methods(owner: type) -> str:
    parts = []
    for name, member in vars(owner).items():
        if name.startswith("_") or isinstance(member, (classmethod, staticmethod)) or not _asked(member):
            continue
        title = f"### model.{name}\n"
        if isinstance(member, property):
            parts.append(f"{title}\n{_words(member.__doc__)}\n")
        else:
            parts.append(
                f"{title}\n```python\n{_signature(member, f'model.{name}')}\n```\n\n{_words(member.__doc__)}\n"
            )
    return "\n".join(parts)


def _asked(member: Any) -> bool:
    """What users call: a function or a property with a docstring that says how, by a name of the guide."""
    name = getattr(member, "__name__", None) or getattr(getattr(member, "fget", None), "__name__", "")
    return name.startswith("predict") or name in ("classes", "evaluate")


def _signature(function: Any, name: str) -> str:
    """One argument a line where it is long; `self` is what stands before the dot."""
    signature = inspect.signature(function)
    parameters = [each for each in signature.parameters.values() if each.name != "self"]
    returns = str(signature.return_annotation).strip("'\"")
    keyword_only = False
    words = []
    for each in parameters:
        if each.kind is each.KEYWORD_ONLY and not keyword_only:
            words.append("*")
            keyword_only = True
        words.append(str(each).replace("'", ""))
    line = f"{name}({', '.join(words)}) -> {returns}"
    if len(line) <= 100:
        return line
    return f"{name}(\n" + "".join(f"    {word},\n" for word in words) + f") -> {returns}"


def _fields(owner: type, title: str) -> str:
    helps = _docstrings(owner)
    hints = typing.get_type_hints(owner)
    rows = [
        f"| `{item.name}` | `{_kind(hints[item.name])}` | {helps.get(item.name, '')} |"
        for item in dataclasses.fields(owner)
    ]
    table = "\n".join(["| attribute | type | |", "|---|---|---|", *rows])
    return f"## {title} {{#{title.lower()}}}\n\n{_words(owner.__doc__)}\n\n{table}\n"


def _kind(hint: Any) -> str:
    text = hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint)
    return re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", text).replace("|", "or").replace("  ", " ")


def _docstrings(owner: type) -> dict[str, str]:
    """The string below each field of a class: Python keeps it only in the source."""
    body = ast.parse(textwrap.dedent(inspect.getsource(owner))).body[0]
    assert isinstance(body, ast.ClassDef)
    return {
        statement.target.id: " ".join(ast.literal_eval(following.value).split())
        for statement, following in pairwise(body.body)
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
    }


def _words(docstring: str | None) -> str:
    """A docstring as Markdown: its examples as code, without the marks for the test runner."""
    text = inspect.cleandoc(docstring or "").replace("``", "`")
    blocks = []
    for block in text.split("\n\n"):
        if block.lstrip().startswith(">>>"):
            lines = [re.sub(r"\s*# doctest: \+SKIP.*$", "", line) for line in block.splitlines()]
            blocks.append("```pycon\n" + "\n".join(lines) + "\n```")
        else:
            blocks.append(block)
    return "\n\n".join(blocks)


if __name__ == "__main__":
    PAGE.write_text(page())
