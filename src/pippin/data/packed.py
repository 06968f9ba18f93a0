"""The bytes of a file, unpacked where gzip packed them; damaged archives and those without end are refused."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pippin.data.kinds import is_packed
from pippin.errors import PippinError
from pippin.plain_files import open_plain

#: Up to so many bytes a file may unfold to, whatever its size; beyond, to so many times its size.
_ALWAYS_FINE, _MOST_TIMES = 2**28, 200


@contextmanager
def opened(path: Path) -> Iterator[Callable[[int], bytes]]:
    """What reads the next bytes of a plain file, or of what is packed in one."""
    with open_plain(path) as file:
        if not is_packed(path):
            yield file.read
            return
        try:
            with gzip.GzipFile(fileobj=file, mode="rb") as archive:
                yield _limited(archive.read, path)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise PippinError(
                f"{path} is not a readable gzip archive ({str(error).rstrip('.')}). Was its download or its writing "
                "cut short? If it is not packed at all, take .gz off its name."
            ) from None


def most_bytes(path: Path) -> int:
    """How much a packed file may unfold to."""
    return max(_ALWAYS_FINE, _MOST_TIMES * path.stat().st_size)


def unfolds_too_far(path: Path, instead: str) -> PippinError:
    """The error for a file that holds more than that."""
    return PippinError(
        f"{path} unpacks to more than {_MOST_TIMES} times its size ({path.stat().st_size:,} bytes), as no file of "
        f"texts does, so it is not read. If it is right, {instead}."
    )


def _limited(read: Callable[[int], bytes], path: Path) -> Callable[[int], bytes]:
    left = most_bytes(path)

    def read_some(size: int) -> bytes:
        nonlocal left
        block = read(size)
        left -= len(block)
        if left < 0:
            raise unfolds_too_far(path, f"unpack it first: gunzip {path.name}")
        return block

    return read_some
