"""Groups of processes: how they end, and what comes out."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path

from nursery import Forked


def finished(*runs: subprocess.Popen[str] | Forked) -> None:
    for run in runs:
        out, _ = run.communicate(timeout=120)
        assert run.returncode == 0, out


def read_until(run: subprocess.Popen[str], words: str) -> None:
    assert run.stdout is not None
    assert any(words in line for line in run.stdout), f"the run ended before {words!r}"


def outcome(folder: str) -> tuple[str, dict[str, float]]:
    """A run's weights, and its figures but for those of the clock."""
    results = json.loads(Path(folder, "all_results.json").read_text())
    (file,) = Path(folder).glob("*model.safetensors")
    weights = hashlib.sha256(file.read_bytes()).hexdigest()
    return weights, {name: value for name, value in results.items() if not name.endswith(("runtime", "per_second"))}


def children(run: subprocess.Popen[str]) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(run.pid)], capture_output=True, text=True, check=False)
    return sorted(map(int, found.stdout.split()))
