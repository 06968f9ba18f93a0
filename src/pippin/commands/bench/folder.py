"""Where a benchmark's files go. Nothing that is there already is touched."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from pippin.commands.bench.results import Bench
from pippin.disk import disk_words
from pippin.errors import PippinError
from pippin.files import write_text
from pippin.recipe import Recipe
from pippin.records import to_json
from pippin.runs.names import checked_path
from pippin.runs.opening import open_folder


def free_folder(output_dir: str | None) -> Path:
    """The folder that was named, if it is empty; else runs/bench, numbered where that is taken."""
    if output_dir is None:
        return open_folder(Recipe(), "bench").path
    path = checked_path(output_dir)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise PippinError(
            f"--output_dir {path} is there already and is left alone. Name a folder that is new or empty."
        )
    nearest = next(parent for parent in [path, *path.absolute().parents] if parent.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise PippinError(f"{path} cannot be written: {nearest} allows no new files. Name another --output_dir.")
    return path


def write_bench(bench: Bench, folder: Path) -> list[Path]:
    """bench.json, bench.md and the charts."""
    from pippin.commands.bench.views.bar_charts import write_charts
    from pippin.commands.bench.views.markdown import page

    with disk_words(folder, then="try again"):
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / "bench.json", as_json(bench) + "\n")  # first: the rest can be made of it
        charts = write_charts([bench], folder)
        write_text(folder / "bench.md", page(bench, charts))
    return sorted(folder.iterdir())


def write_comparison(benches: Sequence[Bench], folder: Path) -> list[Path]:
    """compare.md and the charts."""
    from pippin.commands.bench.views.bar_charts import write_charts
    from pippin.commands.bench.views.markdown import compared_page

    with disk_words(folder, then="try again"):
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / "compare.md", compared_page(benches, write_charts(benches, folder)))
    return sorted(folder.iterdir())


def as_json(bench: Bench) -> str:
    return json.dumps(to_json(bench), indent=2, ensure_ascii=False)
