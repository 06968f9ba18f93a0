"""What a model's files must not hold, looked at before transformers reads them. A model is somebody else's work:
its settings must not fetch code, its weights must be safetensors, and both must lie in its own folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from pippin.errors import PippinError, readable

CONFIG, TOKENIZER_CONFIG, ADAPTER = "config.json", "tokenizer_config.json", "adapter_config.json"
WEIGHTS, WEIGHTS_INDEX = "model.safetensors", "model.safetensors.index.json"

#: Settings that make transformers fetch or run code, follow another model, or read weights of any kind.
_REFUSED_KEYS = {
    "auto_map": "names code of its own",
    "trust_remote_code": "asks for code of its own to be run",
    "quantization_config": "asks for kernels that are fetched as code",
    "transformers_weights": "names another file of weights",
}
#: Below these the keys are the names of classes, and a class may be called anything.
NAMES_OF_CLASSES = {"label2id", "id2label"}
#: How other kinds of files begin that are found under the name of safetensors.
_KINDS = {b"PK\x03\x04": "a zip archive, as torch.save writes it", b"\x80": "a pickle", b"GGUF": "a GGUF file"}
_LONGEST_HEADER = 100_000_000


def check_settings(name: str, file: Path) -> None:
    """Refuse a configuration that would fetch code, also in its parts (text_config …)."""
    try:
        settings = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise PippinError(f"{name} cannot be loaded: its {file.name} is not JSON. Get the model anew.") from None
    except OSError as error:
        raise PippinError(f"{name} cannot be loaded: its {file.name}: {error.strerror or error}.") from None
    for key, reason in _refused(settings):
        raise PippinError(
            f"{name}: its {file.name} holds {key!r}, which {reason}. Pippin never runs code that comes with a model. "
            "Choose a model that transformers knows by itself."
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


def require_weights(folder: Path) -> None:
    """Refuse a local folder without weights, or with weights only as pickle."""
    if _shards(folder):
        return
    if any(any(folder.glob(pattern)) for pattern in ("*.bin", "*.bin.index.json", "*.pt", "*.pth")):
        raise PippinError(
            f"{folder} holds its weights only as pickle (*.bin), which Pippin does not load: it can run code. "
            "Save it as safetensors with transformers' save_pretrained first."
        )
    raise PippinError(f"{folder} holds no weights ({WEIGHTS}).")


def _shards(folder: Path) -> list[str]:
    shards = [WEIGHTS] if (folder / WEIGHTS).is_file() else []
    if (folder / WEIGHTS_INDEX).is_file():
        shards += shard_names(str(folder), folder / WEIGHTS_INDEX)
    return shards


def shard_names(name: str, index: Path) -> list[str]:
    """The files that an index names; each must be a plain name of safetensors."""
    try:
        names = list(dict.fromkeys(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise PippinError(f"{name} cannot be loaded: its {index.name} is damaged. Get the model anew.") from None
    for shard in names:
        if not _is_plain(shard):
            raise PippinError(
                f"{name}: its {index.name} names the file {shard!r}, which is not a plain name in the model's folder. "
                "It is not read: it may be anybody's file. Get the model from another place."
            )
        if not shard.endswith(".safetensors"):
            raise PippinError(
                f"{name}: its {index.name} names {shard!r}, which is not safetensors and may be a pickle, "
                "which can run code. Save the model as safetensors with transformers' save_pretrained first."
            )
    return names


def _refused(settings: Any) -> Iterator[tuple[str, str]]:
    """Every key that must not be there, with the reason. Empty values ask for nothing."""
    if isinstance(settings, list):
        for part in settings:
            yield from _refused(part)
    if not isinstance(settings, dict):
        return
    for key, value in settings.items():
        if key in NAMES_OF_CLASSES or value in (None, False, "", [], {}):
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
        "Pippin reads nothing else. Get the model anew, or save it with transformers' save_pretrained."
    )
