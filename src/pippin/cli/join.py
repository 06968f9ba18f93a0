"""`pippin join`: this computer's part of a job that another one leads over ssh. Not typed by hand."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import threading
from dataclasses import asdict
from typing import Any

from pippin._version import __version__
from pippin.cli.train import carry_out
from pippin.commands.hosts import MARK, SILENCE, Facts, hashes
from pippin.machine.network import interface_of
from pippin.machine.probe import package_version
from pippin.plain_files import parse_json
from pippin.recipe.reading import recipe_from

#: Seconds that the job has to end by itself when its leader is gone.
_GRACE = 10.0


def wait_for_end(file: int, silence: float) -> None:
    """Until the connection is closed, or for so many seconds nothing has come: a pulled cable closes nothing."""
    while select.select([file], [], [], silence)[0] and os.read(file, 4096):
        pass


def run() -> int:
    """Say what this computer is, then take part in the job; returns the exit code."""
    asked = _read()
    if asked is None:
        return 0
    client, _, server, _ = (os.environ.get("SSH_CONNECTION") or "localhost 0 localhost 0").split()
    facts = Facts(__version__, package_version("torch"), hashes(asked["files"]), client, server)
    print(f"{MARK}{json.dumps(asdict(facts))}", flush=True)
    orders = _read()
    if orders is None:
        return 0
    os.environ.update(orders["variables"])
    if interface := interface_of(orders["address"]):
        os.environ["GLOO_SOCKET_IFNAME"] = interface
    threading.Thread(target=_end_with_leader, daemon=True).start()
    return carry_out(recipe_from(orders["settings"]))


def _read() -> dict[str, Any] | None:
    line = sys.stdin.readline()
    return parse_json(line) if line else None


def _end_with_leader() -> None:
    """Without it nobody is left to work for, and the other processes would be waited for in vain."""
    wait_for_end(sys.stdin.fileno(), SILENCE)
    threading.Timer(_GRACE, os._exit, [1]).start()
    os.kill(os.getpid(), signal.SIGTERM)
