"""A Recipe as the words that ask for it."""

from __future__ import annotations

import json
import shlex
from typing import Any

from pippin.recipe.fields import recipe_fields
from pippin.recipe.foreign import SHORT_NAMES
from pippin.recipe.recipe import Recipe

#: What is not a setting of the job itself.
_ONCE = {"quiet", "resume", "resume_from_checkpoint", "token"}
_SHORT = {name: short for short, name in SHORT_NAMES.items()}


def given_settings(recipe: Recipe) -> dict[str, Any]:
    """The settings that differ from their defaults."""
    values = {name: getattr(recipe, name) for name in recipe_fields()}
    return {name: value for name, value in values.items() if value != recipe_fields()[name].default}


def train_command(recipe: Recipe) -> str:
    """`pippin train …`, with which the job can be asked for again."""
    words = ["pippin", "train"]
    for name, value in given_settings(recipe).items():
        if name == "data":
            words.insert(2, str(value))
        elif name not in _ONCE:
            flag = f"--{_SHORT.get(name, name)}"
            words += [flag] if value is True else [flag, typed(value)]
    return shlex.join(words)


def typed(value: Any) -> str:
    """A value as one would type it: 15 rather than 15.0."""
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    if isinstance(value, dict):
        return json.dumps(value)
    return str(value).lower() if isinstance(value, bool) else str(value).removesuffix(".0" * isinstance(value, float))
