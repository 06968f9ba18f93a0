"""Where a benchmark's files go. Nothing that is there already is touched."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from pippin.commands.bench.results import Bench
from pippin.commands.bench.views import bar_charts
from pippin.commands.bench.views.document import Document, bench_document, comparison_document
from pippin.commands.bench.views.markdown import markdown
from pippin.commands.bench.views.page import bench_page
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
        raise PippinError(f"--output_dir {path} exists and is not empty. Name a new or empty folder.")
    nearest = next(parent for parent in [path, *path.absolute().parents] if parent.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise PippinError(f"{path} cannot be created: {nearest} is not writable. Name another --output_dir.")
    return path


def write_bench(bench: Bench, folder: Path) -> list[Path]:
    """bench.json, bench.html, bench.md and the charts."""
    with disk_words(folder, then="try again"):
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / "bench.json", as_json(bench) + "\n")  # first: the rest can be made of it
    return _write_views([bench], bench_document(bench), folder / "bench")


def write_comparison(benches: Sequence[Bench], folder: Path) -> list[Path]:
    """compare.html, compare.md and the charts."""
    return _write_views(benches, comparison_document(benches), folder / "compare")


def _write_views(benches: Sequence[Bench], document: Document, stem: Path) -> list[Path]:
    with disk_words(stem.parent, then="try again"):
        stem.parent.mkdir(parents=True, exist_ok=True)
        write_text(stem.with_suffix(".html"), bench_page(document))
        write_text(stem.with_suffix(".md"), markdown(document, bar_charts.write_charts(benches, stem.parent)))
    return sorted(stem.parent.iterdir())


def as_json(bench: Bench) -> str:
    return json.dumps(to_json(bench), indent=2, ensure_ascii=False)
