"""The whole model as transformers saves it, in the precision in which the base model is stored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from pippin.commands.export.comparison import reader_of
from pippin.commands.export.formats import Opened, named
from pippin.commands.export.source import TORCH_TYPES, Source, in_full
from pippin.plain_files import read_json

merges, ending = True, "-merged"


def check(source: Source) -> None:
    """Every model that Pippin trains can be saved so."""


def needed(source: Source) -> int:
    return source.bytes_of_all


def write(model: Any, source: Source, path: Path) -> None:
    kind = TORCH_TYPES[source.written]
    if source.stops:  # of a chat, the end of an answer, too
        model.generation_config.eos_token_id = source.stops if len(source.stops) > 1 else source.stops[0]
    model.save_pretrained(path, state_dict=as_stored(model.state_dict(), kind))
    source.tokenizer.save_pretrained(path)
    settings = read_json(path / "config.json")
    settings = {**settings, **_former_names(settings), "dtype": str(kind).removeprefix("torch.")}
    (path / "config.json").write_text(json.dumps(settings, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def read_back(source: Source, path: Path) -> Opened:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(path, dtype=TORCH_TYPES[source.written])
    return Opened(named("transformers"), reader_of(in_full(model)), AutoTokenizer.from_pretrained(path))


def as_stored(weights: Mapping[str, torch.Tensor], kind: torch.dtype) -> dict[str, torch.Tensor]:
    return {name: each.to(kind) if each.is_floating_point() else each for name, each in weights.items()}


def _former_names(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings of positions as transformers named them before its release 5, and many programs read them still."""
    found = settings.get("rope_parameters")
    if not isinstance(found, dict):
        return {}
    whole = found.get("full_attention", found)
    names = {"rope_theta": whole.get("rope_theta")}
    if whole.get("rope_type", "default") != "default":
        names["rope_scaling"] = {name: value for name, value in whole.items() if name != "rope_theta"}
    if isinstance(found.get("sliding_attention"), dict):
        names["rope_local_base_freq"] = found["sliding_attention"].get("rope_theta")
    return {name: value for name, value in names.items() if value is not None}
