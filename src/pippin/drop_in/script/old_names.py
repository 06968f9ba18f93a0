"""Names and arguments that libraries dropped and that scripts still use. Put back only where they are gone."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from pippin.drop_in.script.after_import import AfterImport


def send_example_telemetry(*arguments: Any, **named: Any) -> None:
    """Counted runs of example scripts at Hugging Face. Nothing is sent."""


def adamw(
    params: Any,
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-6,
    weight_decay: float = 0.0,
    correct_bias: bool = True,
    no_deprecation_warning: bool = False,
) -> Any:
    """torch's AdamW with the defaults of the one that transformers had."""
    from torch.optim import AdamW

    if not correct_bias:
        raise ValueError("AdamW(correct_bias=False): transformers 5 dropped it, and torch's AdamW always corrects.")
    return AdamW(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)


def is_torch_tpu_available(check_device: bool = True) -> bool:
    from transformers.utils import is_torch_xla_available

    return is_torch_xla_available()


def is_deepspeed_zero3_enabled() -> bool:
    from transformers.integrations import is_deepspeed_zero3_enabled as moved

    return moved()


def is_offline_mode() -> bool:
    from huggingface_hub import constants

    return bool(constants.HF_HUB_OFFLINE)


def load_metric(path: str, config_name: str | None = None, **named: Any) -> Any:
    """datasets' metrics became the package evaluate."""
    return import_module("evaluate").load(path, config_name, **named)


#: module -> name -> what stands in for it. Found by holding the imports of Hugging Face's example scripts since
#: transformers 4.30 against today's libraries, and limited to what scripts with a Trainer use.
OLD_NAMES: dict[str, dict[str, Callable[..., Any]]] = {
    "transformers": {
        "AdamW": adamw,  # gone since 5.0: torch has one
        "is_torch_tpu_available": is_torch_tpu_available,  # renamed
        "is_deepspeed_zero3_enabled": is_deepspeed_zero3_enabled,  # moved into transformers.integrations
    },
    "transformers.optimization": {"AdamW": adamw},
    "transformers.utils": {
        "send_example_telemetry": send_example_telemetry,  # gone since 5: nothing is counted any more
        "is_offline_mode": is_offline_mode,  # moved into huggingface_hub
        "is_torch_tpu_available": is_torch_tpu_available,
    },
    "datasets": {"load_metric": load_metric},  # gone since 3.0: the package evaluate
}


def prepare_old_names(imports: AfterImport) -> None:
    for module in OLD_NAMES.keys() - {"transformers"}:
        imports.add(module, _put_back)
    imports.add("transformers.utils.import_utils", _put_back_lazily)


def _put_back(module: ModuleType) -> None:
    for name, stand_in in OLD_NAMES[module.__name__].items():
        if not hasattr(module, name):
            setattr(module, name, stand_in)


def _put_back_lazily(module: ModuleType) -> None:
    """The package transformers finds its names when asked, and makes itself anew now and then: what is set is lost."""
    lazy = module._LazyModule
    usual = lazy.__getattr__

    def find(self: ModuleType, name: str) -> Any:
        try:
            return usual(self, name)
        except AttributeError:
            if self.__name__ == "transformers" and name in OLD_NAMES["transformers"]:
                return OLD_NAMES["transformers"][name]
            raise

    lazy.__getattr__ = find


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
