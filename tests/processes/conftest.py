"""Ways to start processes: forked from one that has loaded torch, or by a launcher as people use it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from every_job import write_data
from nursery import ON_CPU, Forked, Nursery, opened

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture(autouse=True)
def _on_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ON_CPU.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    with opened() as found:
        yield found


@pytest.fixture
def every_job(tiny_model: Path, nursery: Nursery) -> Callable[..., list[Forked]]:
    """Start every kind of job in so many processes, which share one program; 0: in one that is alone."""
    write_data()

    def begin(folder: str, processes: int, *settings: str) -> list[Forked]:
        return nursery.group([Path(__file__).with_name("every_job.py"), tiny_model, folder, *settings], processes)

    return begin


@pytest.fixture
def words(word_file: Path, tiny_model: Path) -> Callable[..., list[object]]:
    """`train …`, for a short job."""

    def of(folder: str, *flags: object) -> list[object]:
        return ["train", word_file, "--model", tiny_model, "--max_steps", 6, "--logging_steps", 1, "--batch_size", 12,
                "--output_dir", folder, *flags]  # fmt: skip

    return of


@pytest.fixture
def start(word_file: Path, tiny_model: Path) -> Start:
    """Start a short job in processes of its own, by ``launcher`` where there is one."""

    def begin(folder: str, *flags: object, launcher: tuple[str, ...] = (), **variables: str) -> subprocess.Popen[str]:
        words = [
            *(launcher or (sys.executable,)), "-m", "pippin", "train", word_file, "--model", tiny_model,
            "--max_steps", 6, "--logging_steps", 1, "--batch_size", 12, "--output_dir", folder, *flags,
        ]  # fmt: skip
        return subprocess.Popen(
            list(map(str, words)),
            env={**os.environ, "OMP_NUM_THREADS": "1", **variables},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    return begin
