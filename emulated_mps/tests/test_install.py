"""Putting the device into a process: where it goes, where it refuses, and how it is compiled."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from emulated_mps import Settings, build, device

Python = Callable[..., subprocess.CompletedProcess[str]]

REFUSALS = """
import json, os, sys
import torch, emulated_mps
assert not torch.backends.mps.is_available()  # asked before the device is there, and kept by torch
said = []
def refused():
    try:
        emulated_mps.install(emulated_mps.Settings(memory=8))
    except RuntimeError as error:
        said.append(str(error))
sys.platform = "darwin"
refused()
sys.platform = "linux"
is_built, torch.backends.mps.is_built = torch.backends.mps.is_built, lambda: True
refused()
torch.backends.mps.is_built = is_built
os.environ["PYTORCH_ENABLE_MPS_FALLBACK"] = "yes"
refused()
os.environ["PYTORCH_ENABLE_MPS_FALLBACK"] = "0"
assert not emulated_mps.is_installed()
refused()
refused()
ones = torch.ones(2, device="mps").tolist()
print(json.dumps([said, torch.backends.mps.is_available(), emulated_mps.settings().memory, ones]))
"""


def test_it_refuses_where_it_cannot_be(python: Python) -> None:
    done = python(REFUSALS)
    assert done.returncode == 0, done.stderr
    said, available, memory, ones = json.loads(done.stdout)
    real, also_real, no_number, twice = said
    assert real == also_real == "this torch has the real mps device: the emulated one is for computers without it."
    assert no_number == "PYTORCH_ENABLE_MPS_FALLBACK=yes: stoi: no conversion"
    assert "installed already; change it with pretend()" in twice
    assert (available, memory, ones) == (True, 8, [1.0, 1.0])


PARENT = """
import os, subprocess, sys
import torch
os.environ["PYTORCH_ENABLE_MPS_FALLBACK"] = "1"  # too late for this process, in time for the next
child = '''
import torch, warnings
warnings.simplefilter("ignore")
print(torch.mps.recommended_max_memory(), torch.mode(torch.ones(3, device="mps")).values.item())
# The end of the process must wait for the engine's thread, or it often aborts.
torch.nn.LSTM(3, 4).to("mps")(torch.ones(2, 1, 3, device="mps"))[0].sum().backward()
'''
try:
    torch.mode(torch.ones(3, device="mps"))
except NotImplementedError:
    print("missing")
print(subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, check=True).stdout)
"""


def test_children_inherit_it_and_the_fallback_is_read_at_the_start(python: Python) -> None:
    done = python(PARENT, EMULATED_MPS="memory=9", PYTORCH_ENABLE_MPS_FALLBACK="0")
    assert done.stdout.split() == ["missing", str(6 * 2**30), "1.0"], done.stderr


@pytest.mark.parametrize(("value", "on"), [(None, False), ("", False), ("0", False), ("1", True), ("2", True)])
def test_the_fallback_is_a_number(monkeypatch: pytest.MonkeyPatch, value: str | None, on: bool) -> None:
    monkeypatch.delenv(device.FALLBACK_VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(device.FALLBACK_VARIABLE, value)
    assert device._fallback_variable() is on


def test_settings_are_read_as_they_are_written() -> None:
    settings = Settings(release="2.8.0", macos="14.4", chip="Apple M1 Max", cores=32, memory=32.5, known_bugs=False)
    assert Settings.parse(str(settings)) == settings
    assert Settings.parse("1") == Settings.parse("") == Settings()
    assert Settings.parse("memory=8, known_bugs=no") == Settings(memory=8, known_bugs=False)
    assert Settings(release="2.8.0+cpu").torch == "2.8.0"


@pytest.mark.parametrize(
    "text", ["memroy=8", "memory", "2.8.0", "memory=8;cores=4", "memory=much", "known_bugs=perhaps"]
)
def test_settings_that_cannot_be_read(text: str) -> None:
    with pytest.raises(ValueError, match="EMULATED_MPS"):
        Settings.parse(text)


class Compiler:
    """Stands for g++: notes that it was called, and writes a file."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log = folder / "calls.txt"
        self.sources = folder / "native"
        shutil.copytree(build._NATIVE, self.sources)
        monkeypatch.setattr(build, "_NATIVE", self.sources)
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        self.program = folder / "compiler"
        self.behave(f'echo "$@" >> {self.log}; while [ "$1" != -o ]; do shift; done; echo library > "$2"')
        monkeypatch.setenv("CXX", f"/bin/sh {self.program}")  # with an argument, as `ccache g++` has

    def behave(self, script: str) -> None:
        self.program.write_text(f"#!/bin/sh\n{script}\n")
        self.program.chmod(0o755)

    def calls(self) -> int:
        return len(self.log.read_text().splitlines())


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compiler:
    return Compiler(tmp_path, monkeypatch)


def test_it_is_compiled_once_for_each_source(compiler: Compiler) -> None:
    first = build.library()
    assert first.read_text() == "library\n"
    assert build.library() == first
    assert compiler.calls() == 1
    header = compiler.sources / "state.h"
    header.write_text(header.read_text() + "\n")
    second = build.library()
    assert second != first
    assert compiler.calls() == 2
    assert sorted(first.parent.iterdir()) == sorted([first, second])  # nothing half-made is left


def test_it_is_compiled_anew_for_another_torch(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    first = build.library()
    monkeypatch.setattr(torch, "__version__", "2.14.0")
    assert build.library() != first
    monkeypatch.setattr(torch, "__version__", "2.12.1")
    with pytest.raises(build.CannotBuild, match="needs torch 2.13 or newer to run; this is 2.12.1"):
        build.library()


def test_a_compiler_that_fails_is_quoted(compiler: Compiler, tmp_path: Path) -> None:
    compiler.behave('echo "control.cpp:1: something is wrong" >&2; exit 1')
    with pytest.raises(build.CannotBuild, match="something is wrong"):
        build.library()
    assert not list((tmp_path / "cache" / "emulated_mps").iterdir())


def test_without_a_compiler_it_says_so(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX")
    monkeypatch.setattr(build.shutil, "which", lambda _: None)
    with pytest.raises(build.CannotBuild, match=r"needs a C\+\+ compiler: apt-get install g\+\+, or set CXX"):
        build.library()
