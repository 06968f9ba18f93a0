"""Shared by the tests of the emulated device. Nearly all of them need it: pytest --emulated-mps emulated_mps/tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"
# Two threads on tensors this small only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def python() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a script in a process of its own, which costs seconds; keywords are environment variables."""

    def call(script: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {name: value for name, value in os.environ.items() if name != "EMULATED_MPS"} | variables
        return subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
        )

    return call
