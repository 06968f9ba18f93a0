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
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pippin
from pippin.commands.generator import Generator
from pippin.commands.predictor import Predictor
from pippin.errors import PippinError
from pippin.recipe.fields import GROUPS, Field
from pippin.recipe.foreign import SHORT_NAMES
from pippin.recipe.signature import in_python, python_settings, python_type
from pippin.report.report import Report
from pippin.tasks.base import Prediction

PAGE = Path(__file__).parent / "python.md"
INTRO = """# Python API

```python
import pippin

report = pippin.train("reviews.csv", num_train_epochs=3)
print(report.results["eval_accuracy"])

model = pippin.load(report.folder)
print(model.predict("What a lovely film"))
```

`import pippin` is quick: torch is loaded when you call a function that needs it.

There is also a [notebook](notebook.ipynb){ download="notebook.ipynb" } to try in Jupyter. In a notebook, training
updates a single output, and reports and predictions appear as tables.

| name | what it is |
|---|---|
| [`pippin.train`](#train) | trains a model |
| [`pippin.load`](#load) | loads a trained model |
| [`Predictor`](#model) | a loaded model that labels texts |
| [`Prediction`](#prediction) | the answer for one text |
| [`Generator`](#generator) | a loaded language model |
| [`Report`](#report) | the result of a training |
| [`PippinError`](#error) | a mistake that you can correct |
| [Settings](#settings) | all keyword arguments of `pippin.train` |
| [`Trainer`, `TrainingArguments` …](trainer.md) | for scripts that use Hugging Face's Trainer |
"""
SETTINGS = """## Settings {{#settings}}

These are keyword arguments of `pippin.train`. They have the names of the command line's flags: `--learning_rate 2e-5`
becomes `learning_rate=2e-5`. Short names work, too: {short}.
"""
#: Settings that start processes, which Python leaves to a launcher.
COMMAND_LINE = ("processes", "hosts")
#: Each runs in the tests, after those above it on the page.
EXAMPLES = {
    "train": """
        import pandas as pd

        rows = pd.DataFrame({"text": ["Great!", "Dull."] * 50, "label": ["good", "bad"] * 50})
        report = pippin.train(rows, output="runs/frame", epochs=2)
        report = pippin.train(texts=list(rows.text), labels=list(rows.label), output="runs/lists", epochs=2)
        """,
    "load": """
        model = pippin.load("runs/frame", device="cpu")
        """,
    "classes": """
        model.classes  # ('bad', 'good')
        """,
    "predict": """
        model.predict("Lovely.")  # Prediction(label='good', score=0.98)
        model.predict(["Lovely.", "Dull."])  # a list of two
        model.predict("Lovely.", top_k=2)  # the two most probable classes
        """,
    "predict_proba": """
        model.predict_proba(["Lovely.", "Dull."]).shape  # (2, 2)
        """,
    "stream": """
        with open("lines.txt") as lines:
            for answer in model.stream(line.strip() for line in lines):
                print(answer.label)
        """,
    "report": """
        model.report.results["eval_accuracy"]
        """,
    "text_columns": """
        model.text_columns  # ('text',)
        """,
    "Prediction": """
        answer = model.predict("Lovely.")
        print(answer.label, answer.score)
        """,
    "Report": """
        print(report.results["eval_accuracy"], report.best_step)
        print(report.path / "report.html")
        """,
    "Generator": """
        pippin.train("chats.jsonl", model="HuggingFaceTB/SmolLM2-135M-Instruct", output="runs/chats", max_steps=10)
        model = pippin.load("runs/chats")
        """,
    "PippinError": """
        try:
            pippin.train("reviews.csv", learning_rate="fast")
        except pippin.PippinError as error:
            print(error)
        """,
}

#: Of a Generator.
ANSWERS = {
    "answer": """
        model.answer("What is the capital of France?")
        model.answer([{"role": "system", "content": "Be short."}, {"role": "user", "content": "Who are you?"}])
        model.answer("Name a colour.", temperature=0.8, seed=1, max_new_tokens=10)
        """,
    "stream": """
        for piece in model.stream("Tell me a story.", max_new_tokens=50):
            print(piece, end="", flush=True)
        """,
    "complete": """
        model.complete("Once upon a time", max_new_tokens=20)
        """,
    "forget": """
        model.forget()
        """,
}


def page() -> str:
    members = (vars(Predictor)[name] for name in EXAMPLES if name in vars(Predictor) and name != "load")
    short = ", ".join(f"`{short}` for `{name}`" for short, name in SHORT_NAMES.items())
    parts = [
        INTRO,
        _function(pippin.train, "## pippin.train {#train}"),
        _function(pippin.load, "## pippin.load {#load}"),
        f"## Predictor {{#model}}\n\n{_prose(Predictor.__doc__)} `pippin.load` returns it.\n",
        *(_function(getattr(member, "fget", member), f"### model.{_name(member)}") for member in members),
        _fields(Prediction, "prediction"),
        f"## Generator {{#generator}}\n\n{_prose(Generator.__doc__)} `pippin.load` returns it.\n",
        _example("Generator"),
        *(_function(vars(Generator)[name], f"### model.{name} {{#{name}}}", ANSWERS) for name in ANSWERS),
        _fields(Report, "report"),
        f"## PippinError {{#error}}\n\n{_prose(PippinError.__doc__)}\n{_example('PippinError')}",
        SETTINGS.format(short=short),
        *(_settings(group) for group in GROUPS),
    ]
    return "\n".join(parts)


def _name(member: Any) -> str:
    return (member.fget if isinstance(member, property) else member).__name__


def _function(function: Callable[..., Any], heading: str, examples: dict[str, str] = EXAMPLES) -> str:
    """A function or a property: how it is called, what it does, its arguments and an example."""
    parts = [heading]
    if inspect.signature(function).parameters.keys() != {"self"}:
        parts.append(f"```py\n{_signature(function)}\n```")
    parts.append(_prose(function.__doc__))
    return "\n\n".join(parts) + "\n" + _example(function.__name__, examples)


def _signature(function: Callable[..., Any]) -> str:
    """As Python that can be read: without `self`, with one argument a line where it is long."""
    signature = inspect.signature(function)
    settings = python_settings() if function is pippin.train else {}
    own = [
        each.replace(annotation=each.empty if "Any" in str(each.annotation) else each.annotation)
        for each in signature.parameters.values()
        if each.name != "self" and each.name not in settings
    ]
    if settings:
        own.append(inspect.Parameter("settings", inspect.Parameter.VAR_KEYWORD))
    returned = str(signature.return_annotation).strip("'\"")
    end = ": ..." if returned == "Any" else f" -> {returned}: ..."
    words = str(inspect.Signature(own)).replace("'", "")
    line = f"def {function.__name__}{words}{end}"
    if len(line) <= 100:
        return line
    return f"def {function.__name__}(\n    " + words[1:-1].replace(", ", ",\n    ") + f",\n){end}"


def _prose(docstring: str | None) -> str:
    """A docstring as Markdown: its list of arguments as a table, without examples and the list of all settings."""
    text = inspect.cleandoc(docstring or "").replace("``", "`").partition("\nThe settings are the flags")[0]
    blocks = [block for block in text.strip().split("\n\n") if not block.startswith(">>>")]
    return "\n\n".join(_arguments(block) or block for block in blocks)


def _arguments(block: str) -> str:
    """A list of names, each with words behind it, as a table; empty where a block is none."""
    rows = re.findall(r"^(\w+) {2,}(.*(?:\n {3,}.*)*)", block, re.MULTILINE)
    if not rows:
        return ""
    lines = [f"| `{name}` | {_cell(' '.join(words.split()))} |" for name, words in rows]
    return "\n".join(["| argument | what it is |", "|---|---|", *lines])


def _example(name: str, examples: dict[str, str] = EXAMPLES) -> str:
    return f"\n```python\n{textwrap.dedent(examples[name]).strip()}\n```\n"


def _fields(owner: type, anchor: str) -> str:
    helps, hints = _docstrings(owner), typing.get_type_hints(owner)
    rows = [
        f"| `{item.name}` | {_type(hints[item.name])} | {_cell(helps[item.name])} |"
        for item in dataclasses.fields(owner)
    ]
    table = "\n".join(["| attribute | type | what it is |", "|---|---|---|", *rows])
    name = owner.__name__
    return f"## {name} {{#{anchor}}}\n\n{_prose(owner.__doc__)}\n\n{table}\n{_example(name)}"


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


def _settings(group: str) -> str:
    rows = [_setting(field) for field in _settings_of(group)]
    return "\n".join([f"### {group}\n", "| name | type | default | what it does |", "|---|---|---|---|", *rows, ""])


def _settings_of(group: str) -> list[Field]:
    return [each for name, each in python_settings().items() if each.group == group and name not in COMMAND_LINE]


def _setting(field: Field) -> str:
    words, _, default = in_python(field.help).partition(" Default: ")
    if not default:
        default = f"`{None if field.default == () else field.default!r}`"
    kind = ", ".join(f'`"{choice}"`' for choice in field.choices) or _type(python_type(field.name))
    return f"| `{field.name}` | {kind} | {_cell(default.rstrip('.'))} | {_cell(words)} |"


def _type(hint: Any) -> str:
    """`str or path`: what may be given, without None."""
    if typing.get_origin(hint) is typing.Literal:
        return ", ".join(f'`"{choice}"`' for choice in typing.get_args(hint))
    kinds = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, type(int | None)) else (hint,)
    names = (_plain_name(kind) for kind in kinds if kind is not type(None))
    return " or ".join(dict.fromkeys(names))


def _plain_name(kind: Any) -> str:
    origin, inner = typing.get_origin(kind) or kind, typing.get_args(kind)
    if origin.__name__ == "PathLike":
        return "path"
    if origin.__name__ == "Sequence":
        return f"list of {inner[0].__name__}"
    return f"`{origin.__name__}`"


def _cell(text: str) -> str:
    """Text in a table, with names of settings as code."""
    names = _any_of(name for name in python_settings() if "_" in name)
    text = text.replace("|", "\\|").replace("<", "&lt;")
    return re.sub(rf"(?<![`\w])(?:{names})(?:=\w+)?(?![`\w])", r"`\g<0>`", text)


def _any_of(names: Iterable[str]) -> str:
    return "|".join(sorted(names, key=len, reverse=True))


if __name__ == "__main__":
    PAGE.write_text(page())
