"""A run as it goes on: lines when piped, a bar on a terminal, and sentences for what a person should hear of."""

from __future__ import annotations

import io
import logging
import os
import pty

import pytest

from pippin.report.progress import TrainingProgress
from pippin.report.terminal import Terminal, make_console

LOG = {
    "step": 3, "epoch": 0.5, "loss": 1.25, "learning_rate": 1e-4, "samples_per_second": 180.4,
    "tokens_per_second": 2000.0, "memory": 3 * 2**30, "seconds_left": 75.0,
}  # fmt: skip


@pytest.fixture
def follow(screen):
    def make(**settings) -> tuple[TrainingProgress, io.StringIO]:
        terminal, out = screen(**settings)
        return TrainingProgress(terminal), out

    return make


def test_log_lines_when_piped(follow):
    progress, out = follow(width=140)
    progress.on_event("started", {"steps": 9})
    progress.on_event("log", LOG)
    progress.on_event("evaluation", {"epoch": 1.0, "eval_accuracy": 0.5, "eval_runtime": 3.0, "best": True})
    lines = out.getvalue().splitlines()
    assert lines[0] == (
        "step 3/9 · epoch 0.50 · lr 1.00e-04 · loss 1.2500 · 180 rows/s · 2000 tokens/s · 3.0 GB · 1:15 left"
    )
    assert lines[1] == "epoch 1 · accuracy 0.5000 · best so far"


def test_live_bar_on_a_terminal(follow):
    progress, out = follow(tty=True)
    progress.on_event("started", {"steps": 9})
    progress.on_event("log", LOG)
    progress.on_event("trained", {})
    assert "3/9 1:15 left · loss 1.2500 · 180 rows/s" in out.getvalue()
    assert progress.bar is None


@pytest.mark.parametrize(("width", "steps"), [(50, 9), (40, 9), (40, 1000)])
def test_narrow_bar_keeps_the_time_left(follow, width, steps):
    progress, out = follow(width=width, tty=True)
    progress.on_event("started", {"steps": steps})
    progress.on_event("log", LOG)
    progress.on_event("trained", {})
    assert f"3/{steps} 1:15 left" in out.getvalue()


def test_a_warning_stands_above_the_bar(follow):
    progress, out = follow(tty=True)
    progress.on_event("started", {"steps": 9})
    progress.on_event("log", LOG)
    progress.on_event("slow", {"step": 4, "share": 0.5})
    progress.on_event("trained", {})
    above, _, below = out.getvalue().partition("warning: training has slowed to 50%")
    assert above.endswith("\x1b[2K"), "the bar's line is wiped first"
    assert "training" in below, "and drawn again below"


def test_log_lines_of_other_libraries_stand_above_the_bar(follow, capsys):
    logger, handler = logging.getLogger("some.library"), logging.StreamHandler()
    logger.addHandler(handler)
    standard = handler.stream
    progress, out = follow(tty=True)
    progress.on_event("started", {"steps": 9})
    logger.warning("too few threads")
    progress.on_event("trained", {})
    assert "too few threads" in out.getvalue()
    assert handler.stream is standard
    logger.warning("after the bar")
    logger.removeHandler(handler)
    assert capsys.readouterr().err == "after the bar\n"


def test_a_closed_terminal_stops_nothing():
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as stream:
        terminal = Terminal(console=make_console(stream))
        progress = TrainingProgress(terminal)
        progress.on_event("started", {"steps": 9})
        os.close(ours)
        progress.on_event("log", LOG)
        progress.on_event("slow", {"step": 4, "share": 0.5})
        progress.on_event("evaluation", {"epoch": 1.0, "eval_accuracy": 0.5})
        progress.stop()
        terminal.say("and nobody hears it")


def test_a_slow_run_is_a_warning_and_sleep_a_note(follow):
    slow, slept = {"step": 9, "share": 0.62}, {"step": 9, "seconds": 2470.0, "sure": True}
    progress, out = follow(quiet=True)
    progress.on_event("slow", slow)
    progress.on_event("slept", slept)
    assert out.getvalue().startswith("warning: training has slowed to 62% of its initial speed: ")
    assert "slept" not in out.getvalue()
    progress, out = follow()
    progress.on_event("slept", slept)
    progress.on_event("slept", {**slept, "seconds": 3 * 3600 + 125.0})
    progress.on_event("slept", {**slept, "seconds": 25.0, "sure": False})
    assert out.getvalue().splitlines() == [
        "note: the computer slept for 41 min",
        "note: the computer slept for 3 h 2 min",
        "note: one step took 25 s longer than the others: did the computer sleep?",
    ]


def test_quiet_hides_the_log(follow):
    progress, out = follow(quiet=True)
    progress.on_event("started", {"steps": 9})
    progress.on_event("log", LOG)
    assert out.getvalue() == ""


def test_what_the_device_lacks_or_gives_back_is_told(follow):
    progress, out = follow()
    progress.on_event("fallback", {"operator": "aten::mode"})
    progress.on_event("relieved", {"step": 3, "before": 6 * 2**30, "after": 2**30})
    assert "warning: the device has no kernel for aten::mode" in out.getvalue()
    assert "held 6.0 GB" in out.getvalue()
    assert "1.0 GB remain" in out.getvalue()
