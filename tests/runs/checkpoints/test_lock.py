"""One process at a time in a folder."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import subprocess
import sys

import pytest

from pippin.errors import PippinError
from pippin.runs.checkpoints.lock import NAME, locked

HOLD = """
import sys
from pathlib import Path
from pippin.runs.checkpoints.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_second_process_is_refused_and_a_crash_releases(tmp_path):
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout.readline() == "held\n"
    with pytest.raises(PippinError, match="in use by another run"), locked(tmp_path):
        pass
    other.kill()
    other.wait()
    with locked(tmp_path):
        assert not list(tmp_path.iterdir()), "a killed owner leaves nothing behind"


@pytest.mark.parametrize("can_lock_folders", [True, False])
def test_a_disk_that_cannot_lock_folders_gets_a_file(tmp_path, monkeypatch, can_lock_folders):
    flock = fcntl.flock

    def refuse(handle: int, how: int) -> None:
        if not can_lock_folders and stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EBADF, "Bad file descriptor")
        flock(handle, how)

    monkeypatch.setattr(fcntl, "flock", refuse)
    (tmp_path / "kept").write_text("")
    with locked(tmp_path):
        assert (tmp_path / NAME).exists() is not can_lock_folders
        with pytest.raises(PippinError, match="in use by another run"), locked(tmp_path):
            pass
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_an_empty_folder_goes_again(tmp_path):
    with locked(tmp_path / "a" / "new"):
        pass
    assert not (tmp_path / "a" / "new").exists()
