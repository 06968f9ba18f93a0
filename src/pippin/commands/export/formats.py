"""What every format answers, and which there are."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol, cast

from pippin.commands.export.comparison import Reader
from pippin.commands.export.source import Source


@dataclass(frozen=True)
class Opened:
    """What was written, loaded again by a program that reads it."""

    program: str
    read: Reader | None
    """None where that program is not here: then the tensors were compared."""
    tokenizer: Any = None
    """As it was read back; None where the format has none."""
    remark: str = ""


class Format(Protocol):
    merges: bool
    """Whether adapters are added to the weights first."""
    ending: str
    """Of the name: -merged for a folder, .gguf for a file."""

    def check(self, source: Source) -> None:
        """Refuse a run that the format cannot take, with what can be done instead."""

    def needed(self, source: Source) -> int:
        """Bytes on the disk."""

    def write(self, model: Any, source: Source, path: Path) -> None: ...

    def read_back(self, source: Source, path: Path) -> Opened: ...


def format_named(name: str, source: Source) -> Format:
    module = {
        "merged": "merged",
        "peft": "peft_adapter",
        "mlx": "mlx_adapter" if source.has_adapters else "mlx_model",
        "gguf": "gguf_model",
    }[name]
    return cast(Format, import_module(f"pippin.commands.export.{module}"))


def named(package: str) -> str:
    """A program with its release."""
    return f"{package} {version(package)}"
