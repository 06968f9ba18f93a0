"""`--processes N`: torch's own launcher, started for this computer."""

from __future__ import annotations

import json
import logging
import os
import shlex
import signal
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pippin.errors import PippinError
from pippin.machine.launch import OWN_LAUNCHER, TOLD
from pippin.recipe import Recipe
from pippin.recipe.command import given_settings


def launch(recipe: Recipe) -> int:
    """Start the processes, wait for them and return the exit code of the first; a lost one is named."""
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)  # what it says is said below
    os.environ[OWN_LAUNCHER] = "--processes"
    with command_of(recipe) as (program, *words):
        config = LaunchConfig(
            min_nodes=1,
            max_nodes=1,
            nproc_per_node=recipe.processes or 1,
            run_id=uuid.uuid4().hex,
            rdzv_backend="c10d",
            rdzv_endpoint="localhost:0",
            max_restarts=0,
            monitor_interval=0.2,
        )
        try:
            elastic_launch(config, program)(*words)
        except SignalException as error:
            return 128 + int(error.sigval)
        except ChildFailedError as error:
            rank, failed = min(error.failures.items(), key=lambda each: each[1].timestamp)
            return _code(rank, failed.exitcode, recipe)
    return 0


@contextmanager
def command_of(recipe: Recipe) -> Iterator[list[str]]:
    """The words that start a process of the job; its settings are in a file while the context lasts."""
    left_out = ("processes", "hosts", "token")
    settings = {name: value for name, value in given_settings(recipe).items() if name not in left_out}
    if recipe.token:
        os.environ["HF_TOKEN"] = recipe.token
    with tempfile.TemporaryDirectory(prefix="pippin-") as folder:
        path = Path(folder, "settings.json")
        path.write_text(json.dumps(settings))
        yield [sys.executable, "-u", "-m", "pippin", "train", "--config", str(path)]


def how_it_ended(code: int) -> str:
    """In words: by a signal, or with an exit code."""
    return f"was stopped by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


def how_to_continue(recipe: Recipe) -> str:
    return f" To continue: pippin resume {shlex.quote(recipe.output_dir)}" if recipe.output_dir else ""


def _code(rank: int, code: int, recipe: Recipe) -> int:
    """What the first process said is said; the end of another is told here."""
    if rank == 0 and code >= 0:
        return code
    if code in (2, TOLD):  # it has said what went wrong, or the first one has
        return 2
    who = f"process {rank} of {recipe.processes}"
    raise PippinError(f"{who} {how_it_ended(code)}, so all were stopped.{how_to_continue(recipe)}")
