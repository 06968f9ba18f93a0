"""LoRA: small matrices beside the linear layers of a model whose own weights stay as they are. By peft.

The model keeps its class and its names. What is kept of it are the adapters, in peft's files, and the name of the model
that they belong to.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pippin.errors import PippinError, nearest
from pippin.models import chat_model
from pippin.plain_files import read_json

if TYPE_CHECKING:
    import torch

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
#: Peft's name for the adapter in a model, and what its files put before every name.
_NAME, _PREFIX = "default", "base_model.model."
#: Beside the adapters: the weights that they were trained for. A config.json would make transformers look for a model.
BASE = "pippin_base.json"
#: Bytes of a file of weights that are looked at, in so many places: all of it would take minutes.
_STRETCH, _PLACES = 2**16, 64


@dataclass(frozen=True)
class AdapterSettings:
    rank: int
    alpha: float
    dropout: float = 0.0
    targets: tuple[str, ...] = ()
    """Names of the linear layers; empty: all but the head."""
    without: int = 0
    """So many of the lowest layers have none."""


def add_adapters(model: Any, settings: AdapterSettings) -> None:
    """Freeze a model, and lay fresh adapters in full precision beside its linear layers. They change nothing yet."""
    kind = _lora_config()
    known = _linear_names(model)
    unknown = [name for name in settings.targets if name not in known]
    if unknown:
        raise PippinError(
            f"--lora_targets {unknown[0]}: the model has no such linear layer; it has {', '.join(known)}."
            + nearest(unknown[0], known)
        )
    layers = list(range(settings.without, model.config.get_text_config().num_hidden_layers))
    model.requires_grad_(False)
    model.add_adapter(
        kind(
            r=settings.rank,
            lora_alpha=settings.alpha,
            lora_dropout=settings.dropout,
            target_modules=list(settings.targets or known),
            layers_to_transform=layers if settings.without else None,
            task_type="CAUSAL_LM",
        )
    )
    name_base(model, model.name_or_path)
    _in_full_precision(model)
    for module in model.modules():  # peft drew them in the precision of the layer beside
        if hasattr(module, "reset_lora_parameters"):
            module.reset_lora_parameters(_NAME, init_lora_weights=True)


def has_adapters(model: Any) -> bool:
    return bool(getattr(model, "_hf_peft_config_loaded", False))


def adapter_weights(model: Any) -> dict[str, torch.Tensor]:
    """The adapters by the names in peft's files."""
    return {_file_name(name): each.detach() for name, each in model.named_parameters() if f".{_NAME}." in name}


def save_adapters(model: Any, folder: Path, weights: dict[str, torch.Tensor] | None = None) -> None:
    """Write adapters and their settings, as peft and transformers read them."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: each.contiguous() for name, each in (weights or adapter_weights(model)).items()}
    save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})
    config = model.peft_config[_NAME].to_dict()
    config["target_modules"] = sorted(config["target_modules"])
    config["inference_mode"] = True
    words = json.dumps(config, indent=2, sort_keys=True, default=_as_json)
    (folder / CONFIG).write_text(words + "\n", encoding="utf-8")
    (folder / BASE).write_text(
        json.dumps({"fingerprint": getattr(model, "base_fingerprint", None)}) + "\n", encoding="utf-8"
    )
    if model.can_generate():
        model.generation_config.save_pretrained(folder)


def lay_adapters(model: Any, folder: Path, base: str) -> None:
    """Give a model the adapters of a folder, which may go on learning. ``base`` is the fingerprint of its weights."""
    if made_for(folder) not in (None, base):
        built_in = f" If it was the built-in one: {chat_model.INSTALL}"
        raise PippinError(
            f"{folder}: these adapters were trained for other weights than those in {model.name_or_path}, which have "
            "changed since. Get the model back that they were trained with."
            + (built_in if model.name_or_path == chat_model.HUB_NAME else "")
        )
    lay_like(model, settings_of(folder))
    model.base_fingerprint = base
    put_adapters(model, folder)


def lay_like(model: Any, settings: dict[str, Any]) -> None:
    """Freeze a model, and lay adapters over it as these settings of peft's describe them."""
    known = set(_lora_config().__dataclass_fields__)
    model.requires_grad_(False)
    model.add_adapter(_lora_config()(**{name: value for name, value in settings.items() if name in known}))
    _in_full_precision(model)


def put_adapters(model: Any, folder: Path) -> None:
    """Put the weights of adapters into a model that has such."""
    from safetensors.torch import load_file

    found = load_file(folder / WEIGHTS)
    own = adapter_weights(model)
    if found.keys() != own.keys():
        odd = sorted(found.keys() ^ own.keys())
        raise PippinError(
            f"{folder}: its {WEIGHTS} and {CONFIG} do not belong together, or to this model: {len(odd)} tensors, such "
            f"as {odd[0]}, stand in one alone."
        )
    for name, each in own.items():
        each.copy_(found[name])


def base_of(folder: Path) -> str | None:
    """The model that the adapters in a folder are for; None where it holds none."""
    if not (folder / CONFIG).is_file():
        return None
    settings = settings_of(folder)
    base = settings.get("base_model_name_or_path")
    if not isinstance(base, str) or not base or settings.get("peft_type") != "LORA":
        raise PippinError(
            f"{folder}: its {CONFIG} names no model that it is for, or is of another kind than LoRA. Merge the adapter "
            "into its model first."
        )
    return base


def settings_of(folder: Path) -> dict[str, Any]:
    """Peft's settings of the adapters in a folder."""
    return _read(folder / CONFIG)


def made_for(folder: Path) -> str | None:
    """The fingerprint of the weights that the adapters in a folder were trained with, where that is known."""
    known = _read(folder / BASE).get("fingerprint")
    return known if isinstance(known, str) else None


def name_base(model: Any, base: str) -> None:
    """Note which model the adapters are for: a name on the Hub, or a folder by its whole path."""
    path = Path(base)
    if chat_model.is_here(path):
        base = chat_model.HUB_NAME
    model.peft_config[_NAME].base_model_name_or_path = str(path.resolve()) if Path(base).is_dir() else base


def fingerprint(files: Iterable[Path]) -> str:
    """Changes with the weights in these files, as far as a look into many places of each can tell."""
    digest = hashlib.sha256()
    for path in sorted(files, key=lambda each: each.name):
        size = path.stat().st_size
        digest.update(f"{path.name} {size} ".encode())
        with path.open("rb") as file:
            for place in range(_PLACES):
                file.seek(max(0, (size - _STRETCH) * place // (_PLACES - 1)))
                digest.update(file.read(_STRETCH))
    return digest.hexdigest()


def _read(file: Path) -> dict[str, Any]:
    settings = read_json(file) if file.is_file() else {}
    return settings if isinstance(settings, dict) else {}


def _lora_config() -> Any:
    try:
        from peft import LoraConfig
    except ImportError:
        raise PippinError("adapters need the package peft: pip install 'pippin[lora]'") from None
    return LoraConfig


def _linear_names(model: Any) -> list[str]:
    """What the linear layers of a model are called, but for its head."""
    import torch
    from transformers.pytorch_utils import Conv1D

    head = model.get_output_embeddings()
    names = [
        name.rpartition(".")[2]
        for name, module in model.named_modules()
        if isinstance(module, (torch.nn.Linear, Conv1D)) and module is not head
    ]
    return list(dict.fromkeys(names))


def _in_full_precision(model: Any) -> None:
    for name, parameter in model.named_parameters():
        if f".{_NAME}." in name:
            parameter.data = parameter.data.float()
            parameter.requires_grad_()


def _file_name(name: str) -> str:
    return _PREFIX + name.replace(f".{_NAME}.", ".")


def _as_json(value: Any) -> Any:
    """Sets of names, and words of an enumeration."""
    return sorted(value) if isinstance(value, Collection) else str(getattr(value, "value", value))
