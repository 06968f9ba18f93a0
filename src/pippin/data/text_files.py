"""The bytes of a text file into characters, block by block; what is no text, or of another encoding, is named."""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import AnyStr

from pippin.data.packed import opened
from pippin.errors import PippinError, readable

#: Bytes or characters read at a time.
_BLOCK = 2**18
#: Characters of a line, and of a cell over several: books are shorter, and what has no line ends at all is no rows.
LONGEST_LINE = 2**26
#: Codecs that Python counts among the encodings of text, and that no file of text is written in.
_NO_ENCODINGS = {"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape"}

#: How files begin that are not text, whatever their suffix says.
_SIGNATURES = {
    b"\x1f\x8b": "a gzip archive. Let its name end in .gz, or unpack it.",
    b"PK\x03\x04": "a zip archive or an Excel workbook. Unpack it, or let its name end in .xlsx.",
    b"\xd0\xcf\x11\xe0": "an old or locked Excel workbook. Save it as .xlsx without a password, or as CSV (UTF-8).",
    b"PAR1": "a Parquet file. Let its name end in .parquet.",
    b"%PDF": "a PDF. Give a file with one row per example.",
    b"version https://git-lfs": "a Git LFS pointer, not the file itself. Run `git lfs pull` in its folder.",
}
#: Marks that these encodings begin with; where there is none, the order of bytes is that of today's processors.
_BYTE_ORDERS = {
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
}
_LONGEST_SIGNATURE = max(map(len, _SIGNATURES))


class EndlessLine(PippinError):
    """A line that is longer than any that was meant as one."""


def decode(path: Path, encoding: str) -> str:
    """All characters of a text file."""
    return "".join(text_blocks(path, encoding))


def text_blocks(path: Path, encoding: str) -> Iterator[str]:
    """The characters of a text file. Lines end in \\n, also those of old Macs, whose files have none at all."""
    refuse_foreign(path)
    old_mac = not any("\n" in block for block in _decoded_file(path, encoding))
    for block in _decoded_file(path, encoding):
        yield block.replace("\r", "\n") if old_mac else block


def decoded(blocks: Iterable[bytes], origin: str, encoding: str) -> Iterator[str]:
    """Bytes as characters, without a byte order mark; a byte that is not of the encoding is reported with its line."""
    coming = chain(blocks, [b""])
    first = next(coming)
    name = _codec(encoding, first)
    if name == "utf-8-sig":
        _refuse_utf16(origin, first)
    decoder = codecs.getincrementaldecoder(name)()
    lines = 0
    for raw in chain([first], coming):
        lines += raw.count(b"\n")
        try:
            text = decoder.decode(raw, final=not raw)
        except UnicodeDecodeError as error:
            # What the decoder could not read ends where this block ends, but may begin in the one before.
            line = lines - error.object[error.start :].count(b"\n") + 1
            advice = (
                "If the text came from Windows or an older program, name its encoding, such as --encoding cp1252 "
                "(or latin-1, cp949, shift_jis); otherwise save it as UTF-8."
                if name == "utf-8-sig"
                else "Leave --encoding out if the text is UTF-8, or name the right one."
            )
            byte = error.object[error.start]
            raise PippinError(f"{origin}, line {line}: byte 0x{byte:02X} is not {encoding}. {advice}") from None
        yield text


def blocks_of(read: Callable[[int], AnyStr]) -> Iterator[AnyStr]:
    """What a file gives, block by block."""
    while block := read(_BLOCK):
        yield block
        if len(block) < _BLOCK:  # the end; asked once more, a terminal would wait for a second Ctrl-D
            return


def lines_of(blocks: Iterable[str], origin: str) -> Iterator[str]:
    """Lines, each with the \\n that ends it. No more of one is held than a line can be long."""
    begun: list[str] = []
    held = lines = 0
    for block in blocks:
        whole, end, rest = block.rpartition("\n")
        if not end:
            begun.append(block)
            held += len(block)
            if held > LONGEST_LINE:
                raise EndlessLine(f"{origin}, line {lines + 1} is {too_long()}")
            continue
        lines += whole.count("\n") + 1
        yield from io.StringIO("".join([*begun, whole, end]), newline="\n")
        begun, held = [rest], len(rest)
    last = "".join(begun)
    if last:
        yield last


def too_long() -> str:
    """The words for a line or a cell of too many characters."""
    return f"longer than {LONGEST_LINE:,} characters, as no text is. Does every row stand on a line of its own?"


def refuse_foreign(path: Path, accepted: bytes = b"") -> None:
    """Stop at a file that cannot be read, or that is plainly of another kind than its suffix says."""
    with readable(path), opened(path) as read:
        start = read(_LONGEST_SIGNATURE)
    for signature, what in _SIGNATURES.items():
        if start.startswith(signature) and signature != accepted:
            raise PippinError(f"{path} is {what}")


def empty_file(path: Path | str) -> PippinError:
    """The error for a file that holds nothing, or nothing but blanks."""
    return PippinError(f"{path} is empty. Give a file with column names in its first line and rows below.")


def _decoded_file(path: Path, encoding: str) -> Iterator[str]:
    with opened(path) as read:
        yield from decoded(_not_blank(blocks_of(read), path), str(path), encoding)


def _not_blank(blocks: Iterable[bytes], path: Path) -> Iterator[bytes]:
    blank = True
    for raw in blocks:
        blank = blank and not raw.strip()
        yield raw
    if blank:
        raise empty_file(path)


def _codec(encoding: str, start: bytes) -> str:
    """The name of the codec for a text that starts so."""
    try:
        name = codecs.lookup(encoding).name
        if name not in _NO_ENCODINGS:
            "a".encode(encoding)  # refuses codecs between bytes or between texts, such as zlib and rot13
    except (LookupError, ValueError):  # a name may hold anything
        name = "undefined"
    if name in _NO_ENCODINGS:
        raise PippinError(f"--encoding {encoding[:40]}: there is no such encoding. Try utf-8 or latin-1.")
    if name in _BYTE_ORDERS and not start.startswith(_BYTE_ORDERS[name]):
        return name + "-le"
    return "utf-8-sig" if name == "utf-8" else name


def _refuse_utf16(origin: str, raw: bytes) -> None:
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise PippinError(f"{origin} is UTF-16 text. Add --encoding utf-16.")
    start = raw[:1000]
    if start.count(0) > len(start) / 4:
        kind = "utf-16-le" if start[1:2] == b"\0" else "utf-16-be"
        raise PippinError(f"{origin} looks like UTF-16 text: many of its bytes are zero. Add --encoding {kind}.")
