"""`--hosts a,b`: one process on each of several computers, started over ssh. No daemon, and nothing is stored there.

This computer leads: it has the rows, sends them and the weights, and keeps the run. On each of the others `pippin join`
first says what that computer is; the job starts when all of them fit together. It ends with its ssh connection.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pippin._version import __version__
from pippin.commands.launch import command_of, how_it_ended, how_to_continue
from pippin.errors import Mistakes, PippinError
from pippin.machine.launch import OWN_LAUNCHER, TOLD
from pippin.machine.network import free_port, interface_of, is_this_computer
from pippin.machine.probe import package_version
from pippin.plain_files import parse_json
from pippin.recipe import Recipe

#: Before each line of the other side's that is meant for us: a login may greet with lines of its own.
MARK = "pippin-join:"
#: What a process needs of the recipe to take part; all else comes from the first.
_SETTINGS = ("device", "use_cpu", "reduce", "mps_fallback", "log_level")
#: Settings that name files or folders of rows.
_ROWS = ("data", "train_file", "validation_file", "test_file", "data_dir")
_SSH = ("-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=2", "-o", "ServerAliveCountMax=3")
#: Exit codes of a process that has said why, or of which the first one does.
_SAID = (2, TOLD, *(128 + number for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)))
#: Seconds that another computer has to load torch and answer, and that a process has to end by itself.
_PATIENCE, _GRACE = 180.0, 10.0
#: Seconds between two signs of life of this computer, and after how many without one another gives it up.
_BEAT, SILENCE = 2.0, 60.0


@dataclass(frozen=True)
class Facts:
    """What another computer says of itself."""

    pippin: str
    torch: str
    files: dict[str, str]
    """The sha256 of each of the job's files that stands there under the same path."""
    reached_from: str
    """The address of this computer, as that one sees it."""
    own_address: str


class Host:
    """Another computer, by way of ssh."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.trouble: list[str] = []
        self.is_followed = False
        words = [*shlex.split(os.environ.get("PIPPIN_SSH", "ssh")), *_SSH, name, _remote_command()]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        # In a session of its own, so that Ctrl-C reaches the job and not the connection.
        self.process = subprocess.Popen(words, text=True, start_new_session=True, **pipes)  # type: ignore[call-overload]
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()

    def facts(self, files: Sequence[str]) -> Facts:
        """Ask what it is; an error where it cannot be reached, or has no Pippin."""
        self.send({"files": list(files)})
        timer = threading.Timer(_PATIENCE, self.stop)
        timer.start()
        try:
            told = self._next_line()
        finally:
            timer.cancel()
        if told is None:
            code = self.process.wait()
            self.listener.join(_GRACE)
            said = self.trouble[-1].rstrip(".") if self.trouble else how_it_ended(code)
            raise PippinError(f"{self.name}: {said}. Check that `ssh {self.name} pippin version` works.")
        return Facts(**told)

    def send(self, message: Any) -> None:
        assert self.process.stdin is not None
        with suppress(OSError):  # it has ended, which is told elsewhere
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()

    def beat(self) -> None:
        """A sign of life."""
        with suppress(OSError, ValueError):  # it has ended
            assert self.process.stdin is not None
            self.process.stdin.write("\n")
            self.process.stdin.flush()

    def stop(self) -> None:
        """Close the connection: the other side ends with it."""
        with suppress(OSError):
            assert self.process.stdin is not None
            self.process.stdin.close()
        if self.process.poll() is None:
            try:
                self.process.wait(_GRACE)
            except subprocess.TimeoutExpired:
                self.process.kill()

    def follow(self) -> None:
        """Show what it prints from here on."""

        self.is_followed = True
        threading.Thread(target=self._show, args=[self.process.stdout], daemon=True).start()

    def _show(self, lines: Iterable[str]) -> None:
        for line in lines:
            print(f"{self.name}: {line.rstrip()}", file=sys.stderr)

    def _listen(self) -> None:
        assert self.process.stderr is not None
        for line in filter(str.strip, self.process.stderr):
            self.trouble.append(line.strip())
            if self.is_followed:
                self._show([line])

    def _next_line(self) -> dict[str, Any] | None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(MARK):
                return parse_json(line.removeprefix(MARK))
        return None


def launch_on_hosts(recipe: Recipe) -> int:
    """Check the other computers, start the job on all, and return the exit code of this one's process."""
    if any(map(str.isdigit, recipe.hosts)):
        raise PippinError(
            f"--hosts {','.join(recipe.hosts)}: these are no names of computers. A number is for `pippin preflight`; "
            "several processes on this computer are --processes."
        )
    names = [name for name in recipe.hosts if not is_this_computer(name)]
    if len(names) == len(recipe.hosts):
        raise PippinError(
            f"--hosts {','.join(recipe.hosts)}: none of these is this computer, which has the rows and keeps the run. "
            f"Add it: --hosts localhost,{','.join(recipe.hosts)}"
        )
    hosts = [Host(name) for name in names]
    try:
        facts = _checked(hosts, recipe)
        return _run(recipe, hosts, facts)
    finally:
        for host in hosts:
            host.stop()


def _checked(hosts: Sequence[Host], recipe: Recipe) -> list[Facts]:
    """What each says of itself; all that does not fit together is told at once."""
    own_files, mistakes, found = hashes(_files_of(recipe)), list[str](), list[Facts]()
    for host in hosts:
        try:
            facts = host.facts(list(own_files))
        except PippinError as error:
            mistakes.append(str(error))
            continue
        found.append(facts)
        for package, theirs, ours in (
            ("pippin", facts.pippin, __version__),
            ("torch", facts.torch, package_version("torch")),
        ):
            if theirs != ours:
                mistakes.append(
                    f"{host.name} has {package} {theirs}, but this computer has {ours}. Install the same version on "
                    f"both: pip install {package}=={ours.partition('+')[0]}"
                )
        mistakes += (
            f"{path} on {host.name} differs from the file on this computer, whose rows are used. Copy it there, or "
            "remove it there."
            for path, theirs in facts.files.items()
            if theirs != own_files[path]
        )
    if mistakes:
        raise Mistakes(mistakes)
    return found


def _run(recipe: Recipe, hosts: Sequence[Host], facts: Sequence[Facts]) -> int:
    port, size = str(free_port()), str(len(hosts) + 1)
    shared = {
        "WORLD_SIZE": size,
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
        "MASTER_PORT": port,
        OWN_LAUNCHER: "--hosts",
    }
    settings = {name: getattr(recipe, name) for name in _SETTINGS if getattr(recipe, name) is not None}
    for rank, (host, fact) in enumerate(zip(hosts, facts, strict=True), 1):
        variables = {**shared, "RANK": str(rank), "MASTER_ADDR": fact.reached_from or "localhost"}
        host.send({"settings": settings, "variables": variables, "address": fact.own_address})
        host.follow()
    own = {**shared, "RANK": "0", "MASTER_ADDR": "localhost"}
    if interface := interface_of(facts[0].reached_from):
        own["GLOO_SOCKET_IFNAME"] = interface
    with command_of(recipe) as words:
        first = subprocess.Popen(words, env={**os.environ, **own})
        # Of Ctrl-C it hears itself too, and knows that this may be the same; it sees to it that all processes stop.
        stopping = (signal.SIGINT, signal.SIGTERM)
        handlers = {number: signal.signal(number, lambda number, _: first.send_signal(number)) for number in stopping}
        try:
            return _watched(first, hosts, recipe)
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
            if first.poll() is None:
                first.kill()


def _watched(first: subprocess.Popen[bytes], hosts: Sequence[Host], recipe: Recipe) -> int:
    """Wait for the job to end. When a computer is lost the first process is stopped: it might wait for it forever."""
    lost: Host | None = None
    deadline, next_beat = float("inf"), time.monotonic()
    while first.poll() is None:
        if time.monotonic() >= next_beat:
            next_beat = time.monotonic() + _BEAT
            for host in hosts:
                host.beat()
        lost = lost or next((host for host in hosts if host.process.poll() not in (None, 0)), None)
        if lost is not None and deadline == float("inf"):
            deadline = time.monotonic() + _GRACE
            if lost.process.returncode not in _SAID:
                first.terminate()
        if time.monotonic() > deadline:
            first.kill()
        time.sleep(0.1)
    code = first.returncode
    lost = lost or next((host for host in hosts if code and host.process.poll() not in (None, 0, *_SAID)), None)
    if lost is None or (code >= 0 and lost.process.returncode in _SAID):
        return code if code >= 0 else 128 - code
    ended = lost.process.returncode
    said = f" ({lost.trouble[-1].rstrip('.')})" if lost.trouble else ""
    how = f"the connection was lost{said}" if ended == 255 else f"its process {how_it_ended(ended)}{said}"
    raise PippinError(f"{lost.name}: {how}, so all processes were stopped.{how_to_continue(recipe)}")


def hashes(paths: Sequence[str]) -> dict[str, str]:
    """The sha256 of each of these files that is here."""
    return {path: hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in paths if Path(path).is_file()}


def _files_of(recipe: Recipe) -> list[str]:
    """The files of rows that a recipe names, those in its folders too."""
    named = [Path(value).expanduser().resolve() for name in _ROWS if (value := getattr(recipe, name))]
    inside = [file for path in named if path.is_dir() for file in sorted(path.iterdir())]
    return [str(path) for path in (*named, *inside) if path.is_file()]


def _remote_command() -> str:
    """What ssh runs: Pippin beside the Python that it has here, else the one of the login shell."""
    beside = shlex.quote(str(Path(sys.executable).with_name("pippin")))
    script = (
        f'for p in {beside} "$(command -v pippin)" "$HOME/.local/bin/pippin"; do [ -x "$p" ] && exec "$p" join; done; '
        "echo 'there is no pippin on this computer, or not on the PATH of its login shell' >&2; exit 127"
    )
    return f'exec "${{SHELL:-/bin/sh}}" -lc {shlex.quote(script)}'
