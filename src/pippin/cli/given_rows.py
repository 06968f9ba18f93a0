"""Rows that a command reads: from a file, or the lines of standard input."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from pippin.cli.remarks import say
from pippin.data.chunks import in_chunks
from pippin.data.tables import Header, Table, TableStream, open_table
from pippin.data.text_files import blocks_of, decoded, lines_of
from pippin.errors import PippinError


def open_file(path: str, encoding: str, header: Header, quiet: bool) -> TableStream:
    """A file of rows, of which the lines may be texts alone; says how it was read, where that may be in doubt."""
    stream = open_table(Path(path), encoding, lines_are_texts=True, header=header)
    for note in () if quiet else stream.notes:
        say(note)
    return stream


def standard_input(encoding: str) -> TableStream:
    """The lines of standard input, blank ones among them."""
    if sys.stdin is not None and sys.stdin.isatty():
        say("Type one text a line; end with Ctrl-D.")
    origin = "standard input"
    tables = (Table({"text": chunk}, origin, first=first) for first, chunk in in_chunks(_lines(encoding), len))
    first = next(tables, None)
    if first is None:
        raise PippinError("standard input is empty: give --text, --file, or one text a line.")
    return TableStream(first.origin, tuple(first.columns), lambda: chain([first], tables))


def _lines(encoding: str) -> Iterator[str]:
    if sys.stdin is None:
        return iter(())
    if hasattr(sys.stdin, "buffer"):
        blocks: Iterable[str] = decoded(blocks_of(sys.stdin.buffer.read), "standard input", encoding)
    else:  # no stream of bytes but replaced by a program, and text already
        blocks = blocks_of(sys.stdin.read)
    return (line.removesuffix("\n") for line in lines_of(_with_unix_ends(blocks), "standard input"))


def _with_unix_ends(blocks: Iterable[str]) -> Iterator[str]:
    """The same characters with \n for every way to end a line."""
    ends = io.IncrementalNewlineDecoder(None, translate=True)
    for block in blocks:
        yield ends.decode(block)
    yield ends.decode("", final=True)
