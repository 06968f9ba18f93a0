"""What every record starts with: machine, versions and date."""

from __future__ import annotations

import json
import platform
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def context() -> dict[str, Any]:
    """Machine, versions and date of this run."""
    import torch

    return {
        "date": date.today().isoformat(),
        "system": platform.platform(terse=True),
        "processor": _processor(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        **{name: _version(name) for name in ("torch", "transformers", "accelerate", "pippin")},
    }


def record(name: str, figures: Any, folder: Path = RESULTS) -> Path:
    """Write a result with its context; returns the file."""
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"context": context(), "figures": figures}, indent=2) + "\n")
    return path


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()
