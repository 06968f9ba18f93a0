"""The fields of a Recipe, or of a command's own flags, as data: type, default, and the docstring below as help."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import itertools
import textwrap
import types
import typing
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Union

from pippin.recipe.data_fields import DataFields
from pippin.recipe.model_fields import ModelFields
from pippin.recipe.recipe import Recipe
from pippin.recipe.run_fields import RunFields
from pippin.recipe.training_fields import TrainingFields

#: What most people set: first in the help, and first to be suggested.
COMMON = (
    "model_name_or_path", "task_name", "text_column", "label_column", "train_file", "validation_file", "test_file",
    "learning_rate", "num_train_epochs", "batch_size", "max_seq_length", "freeze", "seed",
    "device", "bf16", "output_dir", "overwrite_output_dir", "resume", "quiet",
)  # fmt: skip

#: Help is printed in this order.
GROUPS: dict[str, type] = {
    "Data": DataFields,
    "Model": ModelFields,
    "Training": TrainingFields,
    "Run": RunFields,
}


@dataclass(frozen=True)
class Field:
    name: str
    kind: type
    """str, int, float, bool, dict, tuple (of names), or list (of texts): what a value is turned into."""
    choices: tuple[str, ...]
    optional: bool
    default: Any
    help: str
    group: str


def fields_of(owner: type, group: str = "") -> dict[str, Field]:
    """The fields of a dataclass by name."""
    hints = typing.get_type_hints(owner)
    helps = {name: text for base in owner.__mro__[:-1] for name, text in _docstrings(base).items()}
    return {
        item.name: Field(item.name, *_plain_kind(hints[item.name]), item.default, helps[item.name], group)
        for item in dataclasses.fields(owner)
    }


@cache
def recipe_fields() -> dict[str, Field]:
    """Every field of Recipe by name, in the order of the help."""
    fields = {name: field for group, owner in GROUPS.items() for name, field in fields_of(owner, group).items()}
    assert fields.keys() == {f.name for f in dataclasses.fields(Recipe)}, "a group of fields is missing in GROUPS"
    return fields


def _docstrings(owner: type) -> dict[str, str]:
    """The string below each field of a class: Python keeps it only in the source."""
    body = ast.parse(textwrap.dedent(inspect.getsource(owner))).body[0]
    assert isinstance(body, ast.ClassDef)
    helps = {}
    for statement, following in itertools.pairwise(body.body):
        if isinstance(statement, ast.AnnAssign) and isinstance(following, ast.Expr):
            assert isinstance(statement.target, ast.Name)
            text = ast.literal_eval(following.value)
            helps[statement.target.id] = " ".join(text.split())
    return helps


def _plain_kind(hint: Any) -> tuple[type, tuple[str, ...], bool]:
    """The type behind a hint, its choices, and whether None is allowed."""
    optional = False
    if typing.get_origin(hint) in (Union, types.UnionType):
        inner = [argument for argument in typing.get_args(hint) if argument is not type(None)]
        optional, hint = len(inner) < len(typing.get_args(hint)), inner[0]
    if typing.get_origin(hint) is Literal:
        return str, typing.get_args(hint), optional
    if typing.get_origin(hint) is tuple and typing.get_origin(typing.get_args(hint)[0]) is Literal:
        return tuple, typing.get_args(typing.get_args(hint)[0]), optional
    return typing.get_origin(hint) or hint, (), optional
