"""Compile the device once for each torch, and keep the library."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

_NATIVE = Path(__file__).parent / "native"
_OLDEST_TORCH = (2, 13)


class CannotBuild(RuntimeError):
    """There is no compiler, or this torch has other interfaces."""


def library() -> Path:
    """The compiled device for the installed torch; compiled now (about half a minute) where it is not there yet."""
    path = _cache() / f"{_fingerprint()}.so"
    if not path.is_file():
        _compile(path)
    return path


def _compile(path: Path) -> None:
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        raise CannotBuild("the emulated device needs a C++ compiler: apt-get install g++, or set CXX.")
    print("emulated mps: compiling for this torch, once …", file=sys.stderr)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Others may compile at the same time: each into a file of its own, and the last one stays.
    handle, unfinished = tempfile.mkstemp(dir=path.parent, suffix=".so")
    os.close(handle)
    result = subprocess.run(
        [*shlex.split(compiler), *_flags(), "-o", unfinished], capture_output=True, text=True, check=False
    )
    if result.returncode:
        os.unlink(unfinished)
        raise CannotBuild(f"the emulated device does not compile with this torch:\n{result.stderr[-4000:]}")
    os.replace(unfinished, path)


def _flags() -> list[str]:
    import torch

    root = Path(torch.__file__).parent
    return [
        "-std=c++17", "-O1", "-w", "-fPIC", "-shared",
        f"-I{root / 'include'}", f"-I{root / 'include/torch/csrc/api/include'}",
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}",
        str(_NATIVE / "control.cpp"),
        f"-L{root / 'lib'}", "-ltorch_cpu", "-lc10", f"-Wl,-rpath,{root / 'lib'}",
    ]  # fmt: skip


def _fingerprint() -> str:
    """Changes with the sources and with torch."""
    import torch

    release = tuple(int(part) for part in torch.__version__.split(".")[:2])
    if release < _OLDEST_TORCH:
        raise CannotBuild(f"the emulated device needs torch 2.13 or newer to run; this is {torch.__version__}.")
    digest = hashlib.sha256(f"{torch.__version__} {torch.__file__}".encode())
    for source in sorted(_NATIVE.iterdir()):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "emulated_mps"


if __name__ == "__main__":
    print(library())
