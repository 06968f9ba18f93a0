"""What happens in a run, as data: each event goes to events.jsonl and to whoever listens."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from pippin.files import open_to_append
from pippin.plain_files import open_plain, parse_json

Listener = Callable[[str, dict[str, Any]], None]

#: Bytes at the end of the file in which the last steps stand, and the longest whole number that is believed.
_TAIL, _LARGEST = 1 << 16, 2**53


class Events:
    """Writes each event as a line of JSON and hands it to the listeners."""

    def __init__(self, path: Path, *listeners: Listener):
        self.path = path
        self.file = os.fdopen(open_to_append(path), "a", encoding="utf-8")
        self.listeners = listeners

    def go_back(self, position: int, step: int) -> None:
        """Forget what came after a checkpoint: it happens once more. But that the checkpoint was saved, stays."""
        if self.position < position:  # the file was cut, and has nothing to forget
            return
        with self.path.open("rb") as file:
            file.seek(position)
            saved = next((line for line in file if _is_saved(line, step)), b"")
        self.file.truncate(position)
        self.file.write(saved.decode(errors="replace"))
        self.file.flush()

    def listen(self, listener: Listener) -> None:
        """Hand the events from here on to one more."""
        self.listeners = (*self.listeners, listener)

    @property
    def position(self) -> int:
        return os.fstat(self.file.fileno()).st_size

    def emit(self, name: str, **figures: Any) -> None:
        """Something happened: `log`, `evaluation`, `saved`, `finished` …"""
        line = {
            "event": name,
            "time": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
            **figures,
        }
        self.file.write(json.dumps({key: _plain(value) for key, value in line.items()}, allow_nan=False) + "\n")
        self.file.flush()
        for listener in self.listeners:
            try:
                listener(name, figures)
            except OSError:  # the terminal was closed: the run goes on, or is saved, without it
                self.listeners = tuple(other for other in self.listeners if other is not listener)

    def close(self) -> None:
        self.file.close()


def last_step(path: Path) -> int:
    """The last step that the events of a run tell of; 0 where they tell of none."""
    try:
        with open_plain(path) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
            lines = file.read(_TAIL).splitlines()
    except OSError:
        return 0
    return max((step for line in lines if (step := _step_of(line)) < _LARGEST), default=0)


def _step_of(line: bytes) -> int:
    try:
        step = parse_json(line.decode())["step"]
    except (ValueError, TypeError, KeyError):
        return 0
    return step if type(step) is int else 0


def _is_saved(line: bytes, step: int) -> bool:
    try:
        event = json.loads(line)
        return bool(event["event"] == "saved" and event["step"] == step)
    except (ValueError, TypeError, KeyError, RecursionError):
        return False


def _plain(value: Any) -> Any:
    """JSON has no infinity and no NaN."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
