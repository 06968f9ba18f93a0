"""The weights of a checkpoint, into a model that is there already."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pippin.errors import PippinError
from pippin.runs.checkpoints import packing
from pippin.runs.checkpoints.manifest import read


def load_weights(model: Any, folder: Path) -> None:
    """Put the weights of a checkpoint into the model: all of them, out of the files that its manifest names."""
    from safetensors.torch import load_model

    manifest = read(folder)
    names = manifest.files if manifest else {}
    shards = sorted(name for name in names if name.endswith(".safetensors") and name != packing.TENSORS)
    missing = set(model.state_dict())
    for shard in shards:
        missing &= set(load_model(model, folder / shard, strict=False)[0])
    if missing or not shards:
        raise PippinError(f"{folder}: {len(missing)} of the model's tensors are missing, so it cannot be used.")
