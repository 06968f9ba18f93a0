"""Runs that an older Pippin left unfinished go on in this one (made by tools/make_old_run.py, then never changed)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

FORMATS = sorted(Path(__file__).parent.glob("format-*"))


@pytest.mark.parametrize("made", FORMATS, ids=lambda path: path.name)
def test_goes_on_to_the_same_result(made, tmp_path, run_cli):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    code, out, error = run_cli("resume", "run")
    assert code == 0, error
    assert "going on from step-10 of 20" in out
    expected = json.loads(Path("whole_results.json").read_text())
    found = json.loads(Path("run/train_results.json").read_text())
    # Another processor may sum in another order.
    assert found["train_loss"] == pytest.approx(expected["train_loss"], rel=1e-4)
    assert found["epoch"] == expected["epoch"]


def test_there_is_one_for_the_present_format():
    from pippin.checkpoints.manifest import FORMAT

    assert [path.name for path in FORMATS] == [f"format-{number}" for number in range(1, FORMAT + 1)]
