"""Arguments that libraries dropped and that scripts still give. Handled only where they are gone."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from pippin.drop_in.script.after_import import AfterImport

#: old argument -> its name today, or None where it has no effect any more
RENAMED: dict[str, str | None] = {"use_auth_token": "token"}
LOAD_DATASET: dict[str, str | None] = {
    **RENAMED,  # gone since datasets 3.0
    "task": None,  # 3.0: columns are no longer renamed for a task; scripts name their columns themselves
    "ignore_verifications": None,  # 3.0: was for damaged downloads
}
#: Where transformers defines `from_pretrained`. Since 5.0 it hands `use_auth_token` on to the model's __init__.
FROM_PRETRAINED = {
    "transformers.configuration_utils": ("PretrainedConfig", "PreTrainedConfig"),
    "transformers.modeling_utils": ("PreTrainedModel",),
    "transformers.tokenization_utils_base": ("PreTrainedTokenizerBase",),
    "transformers.models.auto.configuration_auto": ("AutoConfig",),
    "transformers.models.auto.auto_factory": ("_BaseAutoModelClass",),
    "transformers.models.auto.tokenization_auto": ("AutoTokenizer",),
}


def prepare_old_arguments(imports: AfterImport) -> None:
    """Translate old arguments from the moment that a function is there."""
    imports.add("datasets.load", _translate_load_dataset)
    for module in FROM_PRETRAINED:
        imports.add(module, _translate_from_pretrained)


def translating(function: Callable[..., Any], old: dict[str, str | None]) -> Callable[..., Any]:
    """The function, with the old arguments that it no longer knows renamed or left out.

    >>> from_hub = translating(lambda path, token=None: (path, token), {"use_auth_token": "token", "task": None})
    >>> from_hub("glue", use_auth_token="secret", task="classification")
    ('glue', 'secret')
    """
    code = function.__code__  # an argument may also be taken out of keywords, by name
    gone = {name: new for name, new in old.items() if name not in (*code.co_varnames, *code.co_consts)}

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        for name in gone.keys() & named.keys():
            value, new = named.pop(name), gone[name]
            if new is not None and value is not None and named.get(new) is None:
                named[new] = value
        return function(*arguments, **named)

    return call


def _translate_load_dataset(module: ModuleType) -> None:
    for name in ("load_dataset", "load_dataset_builder"):
        setattr(module, name, translating(getattr(module, name), LOAD_DATASET))


def _translate_from_pretrained(module: ModuleType) -> None:
    classes = {vars(module)[name] for name in FROM_PRETRAINED[module.__name__] if name in vars(module)}
    for owner in classes:
        original = vars(owner).get("from_pretrained")
        if isinstance(original, classmethod):
            owner.from_pretrained = classmethod(translating(original.__func__, RENAMED))
