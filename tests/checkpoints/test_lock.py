"""One process at a time in a folder."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pippin.checkpoints.lock import locked
from pippin.errors import PippinError

HOLD = """
import sys
from pathlib import Path
from pippin.checkpoints.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_second_process_is_refused_and_a_crash_releases(tmp_path):
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout.readline() == "held\n"
    with pytest.raises(PippinError, match=rf"in use by another run \(process {other.pid}\)"), locked(tmp_path):
        pass
    other.kill()
    other.wait()
    with locked(tmp_path):
        pass
    with locked(tmp_path):
        pass
