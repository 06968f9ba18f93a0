"""Processes that need not load torch: forked from one that has. Run as a program, it is that one.

A group of a few processes for each test would spend most of the time on imports.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from pippin.machine.network import free_port

#: Several processes cannot share the one GPU that there may be.
ON_CPU = {"CUDA_VISIBLE_DEVICES": ""}
_PATIENCE = 120.0


class Forked:
    """A process, much as `subprocess.Popen` has it."""

    def __init__(self, nursery: Nursery, words: Sequence[object], variables: dict[str, str]):
        self.nursery, self.text = nursery, ""
        pipe = Path(tempfile.mkdtemp(), "out")
        os.mkfifo(pipe)
        self.reading = threading.Thread(target=self._read, args=[pipe], daemon=True)
        self.reading.start()
        self.pid = nursery.fork(words, variables, pipe)

    @property
    def returncode(self) -> int | None:
        return self.nursery.codes.get(self.pid)

    def communicate(self, timeout: float = _PATIENCE) -> tuple[str, None]:
        self.nursery.wait_until(lambda: self.returncode is not None, timeout)
        self.reading.join(timeout)
        return self.text, None

    def wait_for(self, words: str) -> None:
        """Until it has printed something."""
        self.nursery.wait_until(lambda: words in self.text or self.returncode is not None)
        assert words in self.text, self.text

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def _read(self, pipe: Path) -> None:
        with pipe.open() as lines:
            for line in lines:
                with self.nursery.changed:
                    self.text += line
                    self.nursery.changed.notify_all()


class Nursery:
    """The process that has loaded everything."""

    def __init__(self) -> None:
        self.codes: dict[int, int] = {}
        self.pids: list[int] = []
        self.changed = threading.Condition()
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__))],
            env={**os.environ, **ON_CPU, "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        threading.Thread(target=self._listen, daemon=True).start()

    def group(self, words: Sequence[object], size: int, **variables: str) -> list[Forked]:
        """So many processes that run a command (`train …`) or a program as one group; 0: one that is alone."""
        if not size:
            return [Forked(self, words, variables)]
        shared = {
            "WORLD_SIZE": str(size), "LOCAL_WORLD_SIZE": str(size), "MASTER_ADDR": "localhost",
            "MASTER_PORT": str(free_port()), **variables,
        }  # fmt: skip
        return [Forked(self, words, {**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)}) for rank in range(size)]

    def fork(self, words: Sequence[object], variables: dict[str, str], out: Path) -> int:
        order = {"words": list(map(str, words)), "variables": variables, "out": str(out), "cwd": os.getcwd()}
        assert self.process.stdin is not None
        known = len(self.pids)
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        self.wait_until(lambda: len(self.pids) > known)
        return self.pids[-1]

    def wait_until(self, happened: object, timeout: float = _PATIENCE) -> None:
        with self.changed:
            assert self.changed.wait_for(happened, timeout), "a process does not answer"  # type: ignore[arg-type]

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            kind, pid, code = line.split()
            with self.changed:
                if kind == "started":
                    self.pids.append(int(pid))
                else:
                    self.codes[int(pid)] = int(code)
                self.changed.notify_all()


@contextmanager
def opened() -> Iterator[Nursery]:
    nursery = Nursery()
    try:
        yield nursery
    finally:
        nursery.close()


def _serve() -> None:
    """Load everything once, then fork for each order; standard output tells of processes that start and end."""
    import accelerate  # noqa: F401
    from transformers import AutoModelForSequenceClassification, Trainer  # noqa: F401

    import pippin.commands.train
    import pippin.drop_in.trainer  # noqa: F401

    told = os.dup(1)

    def tell(kind: str, pid: int, code: int) -> None:
        os.write(told, f"{kind} {pid} {code}\n".encode())

    def reap(*_: object) -> None:
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                tell("ended", ended[0], os.waitstatus_to_exitcode(ended[1]))

    signal.signal(signal.SIGCHLD, reap)
    for line in sys.stdin:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        if pid := os.fork():
            tell("started", pid, 0)
        else:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        if not pid:
            os._exit(_run(json.loads(line)))


def _run(order: dict) -> int:
    """In the new process."""
    import runpy
    import traceback

    out = os.open(order["out"], os.O_WRONLY)
    for own in (1, 2):
        os.dup2(out, own)
    os.close(out)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1) for number in (1, 2))
    os.chdir(order["cwd"])
    os.environ.update(order["variables"])
    words = order["words"]
    try:
        if not words[0].endswith(".py"):
            from pippin.cli.main import main

            return main(words)
        sys.argv = words
        sys.path[:0] = [str(Path(words[0]).parent)]
        runpy.run_path(words[0], run_name="__main__")
        return 0
    except SystemExit as end:
        return int(end.code or 0)
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


if __name__ == "__main__":
    _serve()
