"""A Mac is kept awake by its own tool, which a small script stands in for here."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from helpers import events
from pippin.machine import awake
from pippin.machine.awake import kept_awake


@pytest.fixture
def tool(tmp_path, monkeypatch):
    """A Mac's caffeinate: writes its arguments, then waits on a pipe that nobody writes to."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("asked", "never"):
        os.mkfifo(folder / name)
    program = folder / "caffeinate"
    program.write_text(f'#!/bin/sh\necho "$@" > {folder}/asked\nread nothing < {folder}/never\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(sys, "platform", "darwin")
    started, popen = [], subprocess.Popen

    def remember(*arguments, **keywords):
        started.append(popen(*arguments, **keywords))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", remember)
    return SimpleNamespace(program=program, asked=folder / "asked", started=started)


def test_it_runs_for_as_long_as_the_block(tool):
    said = []
    with kept_awake(True, lambda: said.append("awake")):
        # Reading from the pipe waits until the tool has written to it.
        assert tool.asked.read_text() == f"-i -w {os.getpid()}\n"
        assert tool.started[0].poll() is None
    assert said == ["awake"]
    assert tool.started[0].returncode is not None


def test_it_ends_when_the_block_fails(tool):
    with pytest.raises(KeyboardInterrupt), kept_awake(True, lambda: None):
        raise KeyboardInterrupt
    assert tool.started[0].returncode is not None


@pytest.mark.parametrize("case", ["not wanted", "another system", "no such tool", "tool that cannot start"])
def test_nothing_happens_otherwise(case, tool, monkeypatch):
    if case == "another system":
        monkeypatch.setattr(sys, "platform", "linux")
    elif case == "no such tool":
        monkeypatch.setenv("PATH", "")
    elif case == "tool that cannot start":
        tool.program.write_text("#!/no/such/interpreter\n")
    with kept_awake(case != "not wanted", lambda: pytest.fail("said so")):
        pass
    assert tool.started == []


@pytest.mark.parametrize(("flags", "times"), [([], 1), (["--keep_awake", "false"], 0)])
def test_training_keeps_a_mac_awake_and_says_so_once(train, word_file, monkeypatch, flags, times):
    stopped = []
    helper = SimpleNamespace(terminate=lambda: stopped.append(1), wait=lambda: None)
    monkeypatch.setattr(awake, "_start", lambda: helper)
    monkeypatch.setattr(awake, "sys", SimpleNamespace(platform="darwin"))  # for this module alone
    out, _ = train(word_file, *flags)
    assert out.count("stays awake") == times
    assert len(events("run", "kept_awake")) == times
    assert len(stopped) == times
