"""Signals ask a run to stop; what watches it cannot bring it down."""

from __future__ import annotations

import errno
import json
import os
import signal
import threading
from pathlib import Path

import pytest

from pippin.engine.interrupts import Interrupts
from pippin.runs.events import Events


def test_first_is_remembered_and_a_second_ctrl_c_stops(capfd):
    before = signal.getsignal(signal.SIGINT)
    with Interrupts() as interrupts:
        assert interrupts.received is None
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupts.received == signal.SIGINT
        os.kill(os.getpid(), signal.SIGTERM)
        assert interrupts.received == signal.SIGINT
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
    assert "SIGINT: finishing and saving this step first" in capfd.readouterr().err


def test_what_is_ignored_stays_ignored():
    """As under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interrupts() as interrupts:
            os.kill(os.getpid(), signal.SIGHUP)
            assert interrupts.received is None
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_other_threads_leave_signals_alone():
    before = signal.getsignal(signal.SIGTERM)
    seen = []

    def work() -> None:
        with Interrupts():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]


def test_a_closed_terminal_does_not_end_the_run(tmp_path):
    heard = []

    def closed(name: str, figures: dict) -> None:
        heard.append(name)
        raise OSError(errno.EIO, "Input/output error")

    events = Events(tmp_path / "events.jsonl", closed, lambda name, figures: heard.append(f"other {name}"))
    events.emit("log", step=1)
    events.emit("log", step=2)
    assert heard == ["log", "other log", "other log"]
    lines = [json.loads(line) for line in Path(tmp_path, "events.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [1, 2]
