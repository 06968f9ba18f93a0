"""Two computers in one: network namespaces joined by a link, with an ssh server in the second.

Needs root, iproute2 and openssh-server; `why_not` says what is missing.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path


def why_not() -> str:
    if sys.platform != "linux" or os.geteuid() != 0:
        return "network namespaces need root on Linux"
    lacking = [name for name in ("ip", "ssh", "sshd", "ssh-keygen") if shutil.which(name) is None]
    if lacking:
        return f"not installed: {', '.join(lacking)}"
    tried = subprocess.run(["ip", "netns", "add", "pippin-try"], capture_output=True, text=True, check=False)
    subprocess.run(["ip", "netns", "delete", "pippin-try"], capture_output=True, check=False)
    return tried.stderr.strip()


@dataclass(frozen=True)
class Pair:
    """Two namespaces. What runs in the first reaches the second as `mac-b`."""

    first: str
    second: str
    ssh: str
    """The command with its configuration, for PIPPIN_SSH."""

    def inside(self, *words: object) -> list[str]:
        """The words of a command that runs on the first computer."""
        return ["ip", "netns", "exec", self.first, *map(str, words)]

    def cut_link(self) -> None:
        """As if a cable were pulled: packets vanish without a word."""
        run("ip", "-n", self.second, "link", "set", "wire", "down")


def run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)


@contextmanager
def two_computers(folder: Path) -> Iterator[Pair]:
    first, second = (f"pippin-{os.getpid()}-{name}" for name in "ab")
    try:
        for name in (first, second):
            run("ip", "netns", "add", name)
            run("ip", "-n", name, "link", "set", "lo", "up")
        run("ip", "link", "add", "wire", "netns", first, "type", "veth", "peer", "name", "wire", "netns", second)
        for name, address in ((first, "10.77.0.1/24"), (second, "10.77.0.2/24")):
            run("ip", "-n", name, "address", "add", address, "dev", "wire")
            run("ip", "-n", name, "link", "set", "wire", "up")
        with _server(folder, second) as configuration:
            yield Pair(first, second, f"ssh -F {configuration} -o ServerAliveInterval=1 -o ServerAliveCountMax=2")
    finally:
        for name in (first, second):
            left = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False)
            for number in left.stdout.split():  # a process whose leader was cut off waits a while for it
                with suppress(ProcessLookupError):
                    os.kill(int(number), signal.SIGKILL)
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


@contextmanager
def _server(folder: Path, namespace: str) -> Iterator[Path]:
    """An ssh server in the namespace, with keys of its own; gives the client's configuration."""
    for name in ("host", "user"):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name))
    os.makedirs("/run/sshd", exist_ok=True)  # where it locks itself in
    (folder / "sshd_config").write_text(
        f"HostKey {folder}/host\nAuthorizedKeysFile {folder}/user.pub\nStrictModes no\nPermitRootLogin yes\n"
        f"PidFile {folder}/pid\nPasswordAuthentication no\nUsePAM no\nAcceptEnv *\nListenAddress 10.77.0.2\n"
    )
    (folder / "ssh_config").write_text(
        f"Host mac-b\n  HostName 10.77.0.2\n  User root\n  IdentityFile {folder}/user\n  SendEnv PYTHONPATH PIPPIN_*\n"
        f"  SendEnv HF_HUB_OFFLINE OMP_NUM_THREADS\n  StrictHostKeyChecking no\n  UserKnownHostsFile {folder}/known\n"
    )
    server = subprocess.Popen(
        ["ip", "netns", "exec", namespace, str(shutil.which("sshd")), "-D", "-e", "-f", str(folder / "sshd_config")],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert server.stderr is not None
        assert any("listening" in line for line in server.stderr), "the ssh server does not start"
        yield folder / "ssh_config"
    finally:
        server.terminate()
        server.wait()
