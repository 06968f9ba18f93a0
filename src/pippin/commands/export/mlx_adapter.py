"""The adapters alone, as mlx-lm reads them: with its names, and each matrix turned over."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import torch

from pippin.commands.export.formats import Opened
from pippin.commands.export.mlx_reader import has_mlx, open_in_mlx, refuse_unknown
from pippin.commands.export.source import Source
from pippin.errors import PippinError
from pippin.models.adapters import CONFIG as PEFT_CONFIG
from pippin.models.adapters import WEIGHTS as PEFT_WEIGHTS
from pippin.plain_files import read_json

merges, ending = False, "-mlx"
WEIGHTS, CONFIG = "adapters.safetensors", "adapter_config.json"
#: What peft's file puts before every name.
_PREFIX = "base_model.model."
#: A module in a layer: the layer's number, and its name there.
_LAYER = re.compile(r"(?:.*\.)?layers\.(\d+)\.(.+)")
#: Settings by which a layer of peft's differs from two matrices and one scale for all.
_OTHER_KINDS = ("use_dora", "use_rslora", "rank_pattern", "alpha_pattern", "modules_to_save", "lora_bias")


def check(source: Source) -> None:
    refuse_unknown(source)
    settings = read_json(source.folder / PEFT_CONFIG)
    if odd := [name for name in _OTHER_KINDS if settings.get(name)]:
        raise PippinError(
            f"--to mlx: mlx-lm knows one rank and one scale for all layers, and these adapters have {odd[0]}. Use "
            "--to merged, which mlx-lm reads too."
        )
    base = read_json(source.files[0].parent / "config.json")
    if "rope_theta" not in base and base.get("rope_parameters"):
        raise PippinError(
            f"--to mlx: mlx-lm would use the adapters with {source.base}, and get its positions wrong: it looks for "
            "rope_theta in config.json, and transformers 5 wrote rope_parameters. Use --to merged, which has both."
        )


def needed(source: Source) -> int:
    return source.bytes_of_adapters


def write(model: Any, source: Source, path: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = {_mlx_name(name): each.T.contiguous() for name, each in load_file(source.folder / PEFT_WEIGHTS).items()}
    settings = _settings(source, {name.rpartition(".")[0] for name in weights})
    path.mkdir()
    save_file(weights, path / WEIGHTS, metadata={"format": "mlx"})
    (path / CONFIG).write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


def read_back(source: Source, path: Path) -> Opened:
    if has_mlx():
        return open_in_mlx(source.files[0].parent, path)
    from safetensors.torch import load_file

    ours = load_file(source.folder / PEFT_WEIGHTS)
    found = {_peft_name(name): each.T for name, each in load_file(path / WEIGHTS).items()}
    if found.keys() != ours.keys() or not all(torch.equal(found[name], each) for name, each in ours.items()):
        raise PippinError("the adapters that were read back are not the run's")
    same = f"read back tensor by tensor: all {len(ours)} are the run's, bit for bit"
    return Opened("", None, remark=f"{same} (mlx-lm is not installed here, so no answers were compared)")


def _mlx_name(name: str) -> str:
    """That of a matrix of peft's: lora_A, which is turned over, is lora_a."""
    module, _, half = name.removeprefix(_PREFIX).removesuffix(".weight").rpartition(".lora_")
    return f"{module}.lora_{half.lower()}"


def _peft_name(name: str) -> str:
    module, _, half = name.rpartition(".lora_")
    return f"{_PREFIX}{module}.lora_{half.upper()}.weight"


def _settings(source: Source, modules: Collection[str]) -> dict[str, Any]:
    """As `mlx_lm.lora` writes them: which modules of how many of the last layers, and how much they add."""
    peft = read_json(source.folder / PEFT_CONFIG)
    within = {module: found for module in modules if (found := _LAYER.fullmatch(module))}
    first = min((int(found[1]) for found in within.values()), default=source.config.num_hidden_layers)
    return {
        "model": source.base,
        "fine_tune_type": "lora",
        "num_layers": source.config.num_hidden_layers - first,
        "lora_parameters": {
            "rank": peft["r"],
            "scale": peft["lora_alpha"] / peft["r"],
            "dropout": peft["lora_dropout"],
            "keys": sorted({within[module][2] if module in within else module for module in modules}),
        },
    }
