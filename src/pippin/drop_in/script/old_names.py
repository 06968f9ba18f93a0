"""Names that libraries dropped and that scripts still import. Put back only where they are gone."""

from __future__ import annotations

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
    """Put back what is gone when a module is imported."""
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
