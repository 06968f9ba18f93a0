"""The whole model for mlx-lm, which reads transformers' own files."""

from __future__ import annotations

from pathlib import Path

from pippin.commands.export import merged
from pippin.commands.export.formats import Opened
from pippin.commands.export.mlx_reader import has_mlx, open_in_mlx, refuse_unknown
from pippin.commands.export.source import Source

merges, ending = True, "-mlx"
needed, write = merged.needed, merged.write


def check(source: Source) -> None:
    refuse_unknown(source)


def read_back(source: Source, path: Path) -> Opened:
    if has_mlx():
        return open_in_mlx(path)
    opened = merged.read_back(source, path)
    return Opened(
        opened.program, opened.read, opened.tokenizer, "mlx-lm is not installed here, and reads the same files"
    )
