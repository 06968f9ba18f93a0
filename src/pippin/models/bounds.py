"""What a model's settings may claim, looked at before anything is built by them: a line of JSON can ask for a million
layers, or for the names of a billion classes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pippin.errors import PippinError
from pippin.models.safety import NAMES_OF_CLASSES
from pippin.plain_files import is_utf_8, odd_kind, read_json

#: Numbers of parts that are built one by one, in Python; the deepest models that were published have a thousand.
_LAYERS = re.compile(r"(num_|n_|\w+_)?(layers?|blocks|depths?)")
_EXPERTS = re.compile(r"(num_|n_|\w+_)experts")
_MOST_LAYERS, _MOST_PARTS = 1_000, 2**16
#: Sides of matrices, and numbers of names.
_SIZES = re.compile(r"\w*(_size|_dim|_embd|_positions|_position_embeddings)|dim|d_model|d_ff|num_labels")
_LARGEST_SIZE, _MOST_LABELS = 2**27, 1_000_000
#: The width of the stack, by the names that model families give it.
_WIDTHS = re.compile(r"hidden_size|d_model|n_embd|dim|emb_dim")
#: Layers may share their weights, and heads are drawn anew: only what is far more than the file holds is a false claim.
_TIMES_THE_FILE, _FEW_LAYERS = 10, 64


def refuse_odd_files(folder: Path) -> None:
    """Stop at a named pipe, a socket or a device in a model's folder: transformers would wait for it.

    So, too, at a folder whose name is not UTF-8, which the readers of weights and tokenizers do not take.
    """
    if not is_utf_8(str(folder)):
        raise PippinError(f"{folder}: the name of a model's folder must be UTF-8, and this one is not. Rename it.")
    below = [child for child in folder.iterdir() if child.is_dir()]
    for path in sorted(path for place in (folder, *below) for path in place.iterdir() if not path.is_dir()):
        kind = odd_kind(path)
        if kind is not None:
            raise PippinError(f"{path} is {kind}, which no model has in its folder. Remove it, or name another model.")


def check_sizes(name: str, file: Path) -> None:
    """Refuse settings that ask for more than any model has, also in their parts (text_config …)."""
    try:
        sizes = _sizes(read_json(file))
    except OSError as error:
        raise PippinError(f"{name} cannot be loaded: its {file.name}: {error.strerror or error}.") from None
    except RecursionError:
        raise PippinError(f"{name} cannot be loaded: its {file.name} is nested too deeply. Get it anew.") from None
    except ValueError:
        return  # whoever reads it next says so
    for key, size in sizes.items():
        most = _most(key)
        if most is not None and size > most:
            shown = f"{size:,}" if size < 10**15 else "a number of many digits"
            raise PippinError(
                f"{name}: its {file.name} says {key} = {shown}, and no model has more than {most:,}. "
                "It is damaged or made up. Get the model anew, or choose another."
            )
    layers, experts = _largest(sizes, _LAYERS), _largest(sizes, _EXPERTS)
    if layers * experts > _MOST_PARTS:
        raise PippinError(
            f"{name}: its {file.name} says {layers} layers of {experts} experts, and no model has more than "
            f"{_MOST_PARTS:,} in all. It is damaged or made up. Get the model anew, or choose another."
        )


def check_weights(folder: Path, config: Path) -> None:
    """Refuse settings by which a model would be far larger than the weights in its folder."""
    try:
        sizes = _sizes(read_json(config))
    except (OSError, ValueError):
        return
    held = _held(folder)
    if held is None:
        return
    parameters, tensors = held
    layers, width = _largest(sizes, _LAYERS), _largest(sizes, _WIDTHS)
    claimed = 2 * layers * width**2  # no layer has less: what comes in is turned twice at least
    if layers > max(tensors, _FEW_LAYERS) or claimed > _TIMES_THE_FILE * max(parameters, 1):
        raise PippinError(
            f"{folder}: its {config.name} describes {layers:,} layers of width {width:,}, but its weights are "
            f"{parameters:,} parameters in {tensors:,} tensors. They do not belong together. Get the model anew."
        )


def _held(folder: Path) -> tuple[int, int] | None:
    """Parameters and tensors in the files of weights, by their headers; None where one is damaged, as loading says."""
    from safetensors import SafetensorError, safe_open

    parameters = tensors = 0
    for path in folder.glob("*.safetensors"):
        try:
            with safe_open(path, "numpy") as weights:
                shapes = [weights.get_slice(name).get_shape() for name in weights.keys()]  # noqa: SIM118 (no mapping)
        except (OSError, SafetensorError):
            return None
        parameters += sum(map(math.prod, shapes))
        tensors += len(shapes)
    return parameters, tensors


def _most(key: str) -> int | None:
    """The most that a setting may say; None for settings that do no harm."""
    if key == "num_labels":
        return _MOST_LABELS
    if _LAYERS.fullmatch(key):
        return _MOST_LAYERS
    return _LARGEST_SIZE if _SIZES.fullmatch(key) or _EXPERTS.fullmatch(key) else None


def _sizes(settings: Any, key: str = "") -> dict[str, int]:
    """The largest whole number under each key, also in lists and in parts."""
    if isinstance(settings, int) and not isinstance(settings, bool):
        return {key: settings}
    pairs: Iterable[tuple[str, Any]] = [(key, value) for value in settings] if isinstance(settings, list) else ()
    if isinstance(settings, dict):
        pairs = [(name, value) for name, value in settings.items() if name not in NAMES_OF_CLASSES]
    found: dict[str, int] = {}
    for name, value in pairs:
        for inner, size in _sizes(value, name).items():
            found[inner] = max(found.get(inner, 0), size)
    return found


def _largest(sizes: dict[str, int], names: re.Pattern[str]) -> int:
    return max((size for key, size in sizes.items() if names.fullmatch(key)), default=1)
