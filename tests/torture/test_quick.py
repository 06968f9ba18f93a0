"""Real processes are killed, stopped, starved of disk and fed damaged checkpoints; nothing may be lost.

A few trials of each kind that benchmarks/torture.py knows; `make torture` does them all.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

TORTURE = Path(__file__).parents[2] / "benchmarks" / "torture.py"
#: Trials of each kind.
KINDS = {
    "kills at random moments": 2,
    "kills inside saves": 4,
    "kills at chosen write calls": 2,
    "kill chain": 1,
    "signals": 4,
    "disk full at a write call": 4,
    "disk error at a write call": 3,
    "newest checkpoint damaged": 11,
    "both checkpoints damaged": 1,
    "kills under combined settings": 2,
    "kills while training in place, at a write call": 4,
    "numbers not finite": 2,
}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks a process that has imported torch")


@pytest.fixture(scope="module")
def tallies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict | None]:
    """All trials, in one process that imports torch once."""
    folder = tmp_path_factory.mktemp("torture")
    counts = folder / "counts.json"
    command = [sys.executable, str(TORTURE), "--quick", "--folder", str(folder), "--json", str(counts)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert counts.exists(), done.stdout + done.stderr
    return json.loads(counts.read_text())


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost(kind: str, tallies: dict[str, dict | None]) -> None:
    tally = tallies[kind]
    if tally is None:
        pytest.skip("failing disks need a C compiler")
    assert tally["failures"] == []
    assert tally["trials"] == KINDS[kind]


def test_every_kind_of_trial_is_looked_at(tallies: dict[str, dict | None]) -> None:
    assert set(tallies) == set(KINDS)
