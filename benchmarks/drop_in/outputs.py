"""What a script left in its folder, value by value, and how far two such folders are apart."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: Figures of the clock, which no two runs share.
_CLOCK = re.compile(r"_(runtime|per_second)$")
#: What Pippin writes into a checkpoint beside transformers' own files.
_PIPPINS = re.compile(r"manifest\.json|pippin_.*")
#: Where the scripts let `datasets` put its files.
_CACHE = "cache"
#: Attention does not see a bias of its keys: the gradient is rounding alone, of which Adam makes whole steps.
_UNSEEN = ".key.bias"


@dataclass
class Apart:
    """How two folders differ."""

    only_in_one: list[str] = field(default_factory=list)
    """Files and values that the other folder lacks."""
    unlike: list[str] = field(default_factory=list)
    """Texts, lists of numbers or shapes that are not the same."""
    by: dict[str, float] = field(default_factory=dict)
    """Number or tensor -> the largest difference."""

    def most(self, among: str = "") -> float:
        """The largest difference of all values whose name the pattern finds."""
        return max((value for name, value in self.by.items() if re.search(among, name)), default=0.0)

    def over(self, limit: float) -> dict[str, float]:
        """The values that differ by more."""
        return {name: value for name, value in self.by.items() if not value <= limit}


def values(folder: Path, tensors: bool = True) -> dict[str, Any]:
    """File and place in it -> number, text or tensor. Of a file that cannot be compared only the name."""
    found: dict[str, Any] = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder)
        if _PIPPINS.fullmatch(path.name) or _CACHE in name.parts:
            continue
        found[str(name)] = ""
        for place, value in _inside(path, tensors):
            found[f"{name}:{place}"] = value
    return found


def apart(one: dict[str, Any], other: dict[str, Any]) -> Apart:
    """Compare what `values` found."""
    result = Apart(only_in_one=sorted(one.keys() ^ other.keys()))
    for name in sorted(one.keys() & other.keys()):
        mine, its = one[name], other[name]
        if hasattr(mine, "shape") and getattr(its, "shape", None) == mine.shape:
            result.by[name] = float((mine.double() - its.double()).abs().max()) if mine.numel() else 0.0
        elif _is_number(mine) and _is_number(its):
            same = mine == its or (math.isnan(mine) and math.isnan(its))
            result.by[name] = 0.0 if same else abs(mine - its)
        elif type(mine) is not type(its) or mine != its:
            result.unlike.append(name)
    return result


def seconds(folder: Path, name: str) -> float:
    """A time that the script's Trainers took in all: as logged, or as in its results where the log ends before."""
    states = [path for path in folder.rglob("trainer_state.json") if "checkpoint-" not in path.parent.name]
    entries = [entry for path in states for entry in json.loads(path.read_text())["log_history"]]
    if not any(name in entry for entry in entries):
        entries = [json.loads(path.read_text()) for path in folder.rglob("all_results.json")]
    return sum(entry.get(name, 0.0) for entry in entries)


def _inside(path: Path, tensors: bool) -> Iterator[tuple[str, Any]]:
    if path.suffix == ".json":
        yield from _flat(json.loads(path.read_text()))
    elif path.suffix == ".jsonl":
        yield from _flat([json.loads(line) for line in path.read_text().splitlines()])
    elif path.suffix == ".csv":
        with path.open(newline="") as file:
            yield from _flat([{name: _read(cell) for name, cell in row.items()} for row in csv.DictReader(file)])
    elif path.suffix == ".safetensors" and tensors:
        from safetensors.torch import load_file

        for name, tensor in load_file(path).items():
            yield name, str(tensor.shape) if name.endswith(_UNSEEN) else tensor
    elif path.name in ("optimizer.pt", "scheduler.pt") and tensors:
        import torch

        yield from _flat(torch.load(path, map_location="cpu", weights_only=True))


def _flat(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict | list | tuple):
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        for name, entry in entries:
            if not _CLOCK.search(str(name)):
                yield from _flat(entry, f"{place}.{name}" if place else str(name))
    else:
        yield place, value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _read(cell: str) -> Any:
    try:
        return float(cell)
    except ValueError:
        return cell
