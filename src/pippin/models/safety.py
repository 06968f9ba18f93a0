"""What a model's files must not hold or claim, looked at before transformers reads them. A model is somebody else's
work: its settings must not fetch code or ask for a million layers, its weights must be safetensors that fit them, and
all of it must lie in its own folder."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from pippin.errors import PippinError, readable
from pippin.plain_files import is_utf_8, odd_kind, read_json

CONFIG, TOKENIZER_CONFIG, ADAPTER = "config.json", "tokenizer_config.json", "adapter_config.json"
WEIGHTS, WEIGHTS_INDEX = "model.safetensors", "model.safetensors.index.json"

#: Settings that make transformers fetch or run code, follow another model, or read weights of any kind.
_REFUSED_KEYS = {
    "auto_map": "names code of its own",
    "trust_remote_code": "asks for code of its own to be run",
    "quantization_config": "asks for kernels that are fetched as code",
    "transformers_weights": "names another file of weights",
}
#: Under these stands how weights were squeezed: transformers' word, and that of MLX.
_FEW_BITS = ("quantization_config", "quantization")
#: Below these the keys are the names of classes, and a class may be called anything.
_NAMES_OF_CLASSES = {"label2id", "id2label"}
#: How other kinds of files begin that are found under the name of safetensors.
_KINDS = {b"PK\x03\x04": "a zip archive, as torch.save writes it", b"\x80": "a pickle", b"GGUF": "a GGUF file"}
_LONGEST_HEADER = 100_000_000

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
_IMPOSSIBLE = "The file is damaged or made up. Download the model again, or choose another."


def check_settings(name: str, file: Path) -> None:
    """Refuse a configuration that would fetch code or is larger than any model, also in its parts (text_config …)."""
    try:
        settings = read_json(file)
        _refuse_few_bits(name, settings)
        _check_sizes(f"{name}: its {file.name}", _sizes(settings))
        refused = next(_refused(settings), None)
    except OSError as error:
        raise PippinError(f"{name} cannot be loaded: {file.name}: {error.strerror or error}.") from None
    except (ValueError, RecursionError):
        raise PippinError(f"{name} cannot be loaded: its {file.name} is not JSON. Download the model again.") from None
    if refused is not None:
        raise PippinError(
            f"{name}: its {file.name} holds {refused[0]!r}, which {refused[1]}. Pippin never runs code that comes with "
            "a model. Choose a model that transformers supports by itself."
        )


def _refuse_few_bits(name: str, settings: Any) -> None:
    """Refuse weights that were squeezed, by any of the ways to say so in a configuration."""
    how = next((settings[key] for key in _FEW_BITS if settings.get(key)), None) if isinstance(settings, dict) else None
    if how is None:
        return
    how = how if isinstance(how, dict) else {}
    bits = how.get("bits") or (4 if how.get("load_in_4bit") else 8 if how.get("load_in_8bit") else None)
    raise PippinError(
        f"{name}: its weights are stored in {f'{bits} bits' if bits else 'few bits'} (quantised). Such weights need "
        "kernels of their own, which Pippin doesn't run, and have no gradient. Name the model that it was made from, "
        "in 16 or 32 bits; to train that in little memory: --train lora"
    )


def check_folder(folder: Path, own_links: bool = False) -> None:
    """Refuse a local folder that is no model, or leads out of itself.

    ``own_links``: files may be links to anywhere, as a package manager installs them.
    """
    if not (folder / CONFIG).is_file():
        raise PippinError(f"{folder} holds no config.json, so it is not a model's folder.")
    for shard in dict.fromkeys(_shards(folder)):
        if not own_links:
            _refuse_link(folder, shard)
        _refuse_other_kinds(folder / shard)


def check_adapter(folder: Path, weights: str) -> None:
    """Refuse a folder of adapters whose weights are missing, or lead out of it."""
    if not (folder / weights).is_file():
        raise PippinError(f"{folder} holds settings of an adapter ({ADAPTER}) and no weights ({weights}).")
    _refuse_link(folder, weights)
    _refuse_other_kinds(folder / weights)


def refuse_odd_files(folder: Path) -> None:
    """Stop at a named pipe, a socket or a device in a model's folder, for which transformers would wait, and at a
    folder whose name is not UTF-8, which the readers of weights and tokenizers do not take."""
    if not is_utf_8(str(folder)):
        raise PippinError(f"{folder}: the name of a model's folder must be valid UTF-8. Rename it.")
    below = [child for child in folder.iterdir() if child.is_dir()]
    for path in sorted(path for place in (folder, *below) for path in place.iterdir() if not path.is_dir()):
        if kind := odd_kind(path):
            raise PippinError(f"{path} is {kind}, which does not belong in a model's folder. Remove it.")


def require_weights(folder: Path) -> None:
    """Refuse a local folder without weights, or with weights only as pickle."""
    if _shards(folder):
        return
    if any(any(folder.glob(pattern)) for pattern in ("*.bin", "*.bin.index.json", "*.pt", "*.pth")):
        raise PippinError(
            f"{folder} holds its weights only as pickle (*.bin), which can run code, so Pippin does not load it. "
            "Save it as safetensors with transformers' save_pretrained first."
        )
    raise PippinError(f"{folder} holds no weights ({WEIGHTS}).")


def check_weights(folder: Path, config: Path) -> None:
    """Refuse settings by which a model would be far larger than the weights in its folder."""
    headers = [header_of(path) for path in folder.glob("*.safetensors")]
    if None in headers:  # damaged, as loading says
        return
    shapes = [shape for header in headers if header for shape, _ in header.values()]
    parameters, tensors = sum(map(math.prod, shapes)), len(shapes)
    sizes = _sizes(read_json(config))
    layers, width = _largest(sizes, _LAYERS), _largest(sizes, _WIDTHS)
    claimed = 2 * layers * width**2  # no layer has less: what comes in is turned twice at least
    if layers > max(tensors, _FEW_LAYERS) or claimed > _TIMES_THE_FILE * max(parameters, 1):
        raise PippinError(
            f"{folder}: its {config.name} describes {layers:,} layers of width {width:,}, but its weights are "
            f"{parameters:,} parameters in {tensors:,} tensors. They do not belong together. Download the model again."
        )


def header_of(path: Path) -> dict[str, tuple[list[int], str]] | None:
    """Shape and type of each tensor in a file of weights, without reading them; None where the file is damaged."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as weights:
            slices = {name: weights.get_slice(name) for name in weights.keys()}  # noqa: SIM118 (no mapping)
            return {name: (part.get_shape(), part.get_dtype()) for name, part in slices.items()}
    except (OSError, SafetensorError):
        return None


def shard_names(name: str, index: Path) -> list[str]:
    """The files that an index names; each must be a plain name of safetensors."""
    try:
        names = list(dict.fromkeys(read_json(index)["weight_map"].values()))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise PippinError(f"{name} cannot be loaded: its {index.name} is damaged. Download the model again.") from None
    for shard in names:
        if not _is_plain(shard):
            raise PippinError(
                f"{name}: its {index.name} names the file {shard!r}, which is not a plain name in the model's folder, "
                "so Pippin does not read it. Get the model from a source you trust."
            )
        if not shard.endswith(".safetensors"):
            raise PippinError(
                f"{name}: its {index.name} names {shard!r}, which is not safetensors and may be a pickle, "
                "which can run code. Save the model as safetensors with transformers' save_pretrained first."
            )
    return names


def _shards(folder: Path) -> list[str]:
    shards = [WEIGHTS] if (folder / WEIGHTS).is_file() else []
    if (folder / WEIGHTS_INDEX).is_file():
        shards += shard_names(str(folder), folder / WEIGHTS_INDEX)
    return shards


def _refused(settings: Any) -> Iterator[tuple[str, str]]:
    """Every key that must not be there, with the reason. Empty values ask for nothing."""
    if isinstance(settings, list):
        for part in settings:
            yield from _refused(part)
    if not isinstance(settings, dict):
        return
    for key, value in settings.items():
        if key in _NAMES_OF_CLASSES or value in (None, False, "", [], {}):
            continue
        if key in _REFUSED_KEYS:
            yield key, _REFUSED_KEYS[key]
        elif key.endswith("_internal"):
            yield key, "is transformers' own and can name code to fetch"
        elif key.endswith(("attn_implementation", "experts_implementation")) and any(
            "/" in word or "kernels" in word for word in _words(value)
        ):
            yield key, f"names code on the Hub ({value!r:.80})"
        yield from _refused(value)


def _words(value: Any) -> Iterator[str]:
    """The strings in a value; transformers takes one name, or one for each part of a model."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _words(part)


def _is_plain(name: Any) -> bool:
    """Whether a name is that of a file right in the folder, on any system."""
    if not isinstance(name, str) or name in ("", ".", "..") or "\0" in name:
        return False
    return PurePosixPath(name).name == name and PureWindowsPath(name).name == name


def _refuse_link(folder: Path, name: str) -> None:
    """A link may lead to a file of the same folder, or as the Hub's cache has it from snapshots/X/ to blobs/."""
    here, target = folder.resolve(), (folder / name).resolve()
    homes = [here]
    if here.parent.name == "snapshots":
        homes.append(here.parent.parent / "blobs")
    if not any(target.is_relative_to(home) for home in homes):
        raise PippinError(
            f"{folder / name} is a link to {target}, outside the model's folder, and is not followed. "
            "Copy the file itself into the folder."
        )


def _refuse_other_kinds(path: Path) -> None:
    """Safetensors begin with the length of their header, in 8 bytes, and the header's brace."""
    with readable(path), path.open("rb") as file:
        start = file.read(9)
    header = int.from_bytes(start[:8], "little")
    if len(start) == 9 and start[8:] == b"{" and header <= min(_LONGEST_HEADER, path.stat().st_size - 8):
        return
    kind = next((words for begin, words in _KINDS.items() if start.startswith(begin)), "damaged, or of another kind")
    raise PippinError(
        f"{path.parent} cannot be loaded: its {path.name} is not safetensors but {kind}. "
        "Download the model again, or save it with transformers' save_pretrained."
    )


def _check_sizes(where: str, sizes: dict[str, int]) -> None:
    for key, size in sizes.items():
        most = _most(key)
        if most is not None and size > most:
            shown = f"{size:,}" if size < 10**15 else "a number of many digits"
            raise PippinError(f"{where} says {key} = {shown}, and no model has more than {most:,}. {_IMPOSSIBLE}")
    layers, experts = _largest(sizes, _LAYERS), _largest(sizes, _EXPERTS)
    if layers * experts > _MOST_PARTS:
        raise PippinError(
            f"{where} says {layers} layers of {experts} experts, and no model has more than {_MOST_PARTS:,} in all. "
            f"{_IMPOSSIBLE}"
        )


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
        pairs = [(name, value) for name, value in settings.items() if name not in _NAMES_OF_CLASSES]
    found: dict[str, int] = {}
    for name, value in pairs:
        for inner, size in _sizes(value, name).items():
            found[inner] = max(found.get(inner, 0), size)
    return found


def _largest(sizes: dict[str, int], names: re.Pattern[str]) -> int:
    return max((size for key, size in sizes.items() if names.fullmatch(key)), default=1)
