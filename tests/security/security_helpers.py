"""What the tests of the security promises share: payloads, and every byte that a run left."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

#: What begins a formula in a spreadsheet, steers a terminal, or means something to Markdown, HTML or YAML.
HOSTILE_LABELS = [
    "=HYPERLINK(\"http://evil.test\")",
    "+cmd|' /C calc'!A0",
    "@SUM(A1)",
    "red\x1b[31m\x1b]0;owned\x07",
    "c1\x9b2J",
    "back\x08\x08\x08wards",
    "over\u202etxt.exe",
    "<script>alert(1)</script>",
    "[bold]:bomb: `x`",
    "[free](http://evil.test) ![x](http://evil.test/a.png)",
    "--- # !!python/object:os.system",
    "www.evil.test | a@evil.test | https://evil.test",
]  # fmt: skip

#: All that a terminal would act on.
ACTIVE = "\x1b\x9b\x07\x08\r\u202e"


class _Payload:
    def __init__(self, marker: Path):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


def payload(marker: Path) -> bytes:
    """A pickle that makes a folder when it is read."""
    return pickle.dumps(_Payload(marker))


def files_with(secret: str, folder: Path) -> list[str]:
    """The files below a folder that hold a word, hidden ones too."""
    wanted = secret.encode()
    return [str(path) for path in folder.rglob("*") if path.is_file() and wanted in path.read_bytes()]
