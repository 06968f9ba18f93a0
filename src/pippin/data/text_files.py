"""The bytes of a text file into characters; what is no text, or text of another encoding, is named."""

from __future__ import annotations

import codecs
from pathlib import Path

from pippin.errors import PippinError

#: How files begin that are not text, whatever their suffix says.
_SIGNATURES = {
    b"\x1f\x8b": "a gzip archive. Unpack it first.",
    b"PK\x03\x04": "a zip archive or an Excel workbook. Unpack it, or save the sheet as CSV (UTF-8).",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook. Save the sheet as CSV (UTF-8).",
    b"PAR1": "a Parquet file. Let its name end in .parquet.",
    b"%PDF": "a PDF. Give a file with one row per example.",
    b"version https://git-lfs": "a Git LFS pointer, not the file itself. Run `git lfs pull` in its folder.",
}
_LONGEST_SIGNATURE = max(map(len, _SIGNATURES))


def decode(path: Path, encoding: str) -> str:
    """A text file's characters; a byte that is not of the encoding is reported with its line."""
    refuse_foreign(path)
    raw = path.read_bytes()
    if not raw.strip():
        raise PippinError(f"{path} is empty. Give a file with column names in its first line and rows below.")
    return decode_bytes(raw, str(path), encoding)


def decode_bytes(raw: bytes, origin: str, encoding: str) -> str:
    """The characters of some bytes, without a byte order mark; lines end in \\n, also those of old Macs."""
    try:
        name = codecs.lookup(encoding).name
        if name == "utf-8":
            _refuse_utf16(origin, raw)
            name = "utf-8-sig"
        text = raw.decode(name)
    except LookupError:
        raise PippinError(f"--encoding {encoding}: there is no such encoding. Try utf-8 or latin-1.") from None
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        advice = (
            "If the text came from Windows or an older program, name its encoding, such as --encoding cp1252 "
            "(or latin-1, cp949, shift_jis); otherwise save it as UTF-8."
            if name == "utf-8-sig"
            else "Leave --encoding out if the text is UTF-8, or name the right one."
        )
        raise PippinError(f"{origin}, line {line}: byte 0x{raw[error.start]:02X} is not {encoding}. {advice}") from None
    return text if "\n" in text else text.replace("\r", "\n")


def refuse_foreign(path: Path, accepted: bytes = b"") -> None:
    """Stop at a file that cannot be read, or that is plainly of another kind than its suffix says."""
    try:
        with path.open("rb") as file:
            start = file.read(_LONGEST_SIGNATURE)
    except OSError as error:
        raise PippinError(f"{path} cannot be read: {error.strerror or error}.") from None
    for signature, what in _SIGNATURES.items():
        if start.startswith(signature) and signature != accepted:
            raise PippinError(f"{path} is {what}")


def _refuse_utf16(origin: str, raw: bytes) -> None:
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise PippinError(f"{origin} is UTF-16 text. Add --encoding utf-16.")
    start = raw[:1000]
    if start.count(0) > len(start) / 4:
        kind = "utf-16-le" if start[1:2] == b"\0" else "utf-16-be"
        raise PippinError(f"{origin} looks like UTF-16 text: many of its bytes are zero. Add --encoding {kind}.")
