"""The adapters alone, as peft reads them, beside the name of the model that they are for."""

from __future__ import annotations

from pathlib import Path
from shutil import copyfile
from typing import Any

from pippin.commands.export.comparison import reader_of
from pippin.commands.export.formats import Opened, named
from pippin.commands.export.source import Source, in_full
from pippin.errors import PippinError
from pippin.models.adapters import BASE, CONFIG, WEIGHTS

merges, ending = False, "-peft"


def check(source: Source) -> None:
    if not source.has_adapters:
        raise PippinError(
            f"--to peft is for adapters, and all weights of {source.folder} were trained. Use --to merged, or train "
            "with --train lora."
        )


def needed(source: Source) -> int:
    return source.bytes_of_adapters


def write(model: Any, source: Source, path: Path) -> None:
    path.mkdir()
    for name in (CONFIG, WEIGHTS, BASE):
        if (source.folder / name).is_file():
            copyfile(source.folder / name, path / name)
    source.tokenizer.save_pretrained(path)


def read_back(source: Source, path: Path) -> Opened:
    from peft import PeftModel
    from transformers import AutoTokenizer

    model = PeftModel.from_pretrained(source.load(source.below), str(path))
    return Opened(named("peft"), reader_of(in_full(model)), AutoTokenizer.from_pretrained(path))
