"""Trials as forked children: torch is imported once, so that a trial costs a second, not six."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import torture_faults

#: Nothing here takes a minute; what does has hung.
LIMIT = 120.0


class Child:
    """A forked process in a folder of its own, with its output in files beside that, since its disk may be full."""

    def __init__(self, work: Callable[[], int], folder: Path, name: str = "first"):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.name = folder, name
        self.code: int | None = None
        """Exit code; minus the signal's number where a signal ended it."""
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            _become(work, folder, name)

    def send(self, number: int) -> None:
        """Send a signal, unless the process is gone already."""
        if self.running:
            os.kill(self.pid, number)

    @property
    def running(self) -> bool:
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code is None

    def wait(self) -> int:
        """Wait for the end; returns the exit code."""
        ends = time.monotonic() + LIMIT
        while self.running:
            if time.monotonic() > ends:
                os.kill(self.pid, signal.SIGKILL)
                raise TimeoutError(f"{self.folder} {self.name}: still running after {LIMIT:.0f} s")
            time.sleep(0.005)
        assert self.code is not None
        return self.code

    def wait_for(self, condition: Callable[[], bool]) -> bool:
        """Wait until the condition holds; False where the process ended before."""
        ends = time.monotonic() + LIMIT
        while not condition():
            if not self.running:
                return condition()
            if time.monotonic() > ends:
                os.kill(self.pid, signal.SIGKILL)
                raise TimeoutError(f"{self.folder} {self.name}: nothing happened for {LIMIT:.0f} s")
            time.sleep(0.001)
        return True

    @property
    def said(self) -> str:
        """All output so far, errors first."""
        return self.errors + _output(self.folder, self.name, "out").read_text(errors="replace")

    @property
    def errors(self) -> str:
        return _output(self.folder, self.name, "err").read_text(errors="replace")

    @property
    def legacy(self) -> dict[str, Any]:
        """Of a process that ended by itself: the modules it had imported and the write calls it had made."""
        path = _output(self.folder, self.name, "json")
        return json.loads(path.read_text()) if path.exists() else {"modules": [], "calls": {}}

    @property
    def crashed(self) -> bool:
        """Whether the user met a traceback."""
        return "Traceback (most recent call last)" in self.errors


def preload(names: list[str]) -> None:
    """Import what an earlier child had imported by its end, so that the next ones need not."""
    for name in names:
        try:
            import_module(name)
        except Exception:  # some modules only load in an order of their own; their importer will see to it
            continue


def _output(folder: Path, name: str, suffix: str) -> Path:
    return folder.with_name(f"{folder.name}.{name}.{suffix}")


def _become(work: Callable[[], int], folder: Path, name: str) -> None:
    """In the child: do the work as a program of its own would, and leave without the parent's clean-up."""
    code = 1
    try:
        os.chdir(folder)
        for stream, suffix in ((1, "out"), (2, "err")):
            file = os.open(_output(folder, name, suffix), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            os.dup2(file, stream)
            os.close(file)
        sys.stdout = os.fdopen(1, "w", closefd=False)
        sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        code = work()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        legacy = {"modules": sorted(sys.modules), "calls": torture_faults.calls()}
        _output(folder, name, "json").write_text(json.dumps(legacy))
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
