"""Packages import only from those below them, lazily or not, so that each can be read, and changed, on its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
#: From the ground up. Names in one line know nothing of each other, but for those of one package.
FLOORS = (
    ("_version",),
    ("errors",),
    ("text", "plain_files", "redact"),
    ("files", "disk", "records"),
    ("recipe",),
    ("machine",),
    ("cache",),
    ("data",),
    ("models",),
    ("tasks",),
    ("plan",),
    ("engine",),
    ("runs",),
    ("report",),
    ("commands",),
    ("drop_in",),
    ("api",),
    ("__init__",),
    ("cli",),
    ("__main__",),
)
LEVEL = {package: level for level, floor in enumerate(FLOORS) for package in floor}


def package_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[0] == "pippin" else "__init__"


def imports_of(path: Path) -> Iterator[tuple[int, str]]:
    """Line and name of every module of ours that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names if alias.name.split(".")[0] == "pippin")
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "pippin":
            if node.module == "pippin":  # from pippin import api
                yield from ((node.lineno, f"pippin.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, node.module
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("pippin."):
            parts = node.value.split(".")  # names of modules that are imported by name, such as the drivers
            if (SOURCE / "/".join(parts)).with_suffix(".py").is_file():
                yield node.lineno, node.value


def edges(source: Path) -> Iterator[tuple[str, str, str]]:
    """Package, imported package, and the place."""
    for path in sorted((source / "pippin").rglob("*.py")):
        name = path.relative_to(source).with_suffix("").parts
        package = name[1]
        for line, module in imports_of(path):
            other = package_of(module)
            if other in LEVEL or (source / "pippin" / other).exists() or (source / "pippin" / f"{other}.py").exists():
                yield package, other, f"{path.relative_to(source)}:{line}"


def test_every_package_has_its_floor() -> None:
    there = {
        path.stem for path in (SOURCE / "pippin").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert there == set(LEVEL)


def test_packages_import_only_from_below() -> None:
    upward = [
        f"{place}: {package} imports {other}"
        for package, other, place in edges(SOURCE)
        if package != other and LEVEL[other] >= LEVEL[package]
    ]
    assert not upward, "\n".join(upward)


@pytest.mark.parametrize("words", ["from pippin.report import x", "def f():\n    import pippin.report.page"])
def test_an_upward_import_is_seen(tmp_path: Path, words: str) -> None:
    (tmp_path / "pippin" / "plan").mkdir(parents=True)
    (tmp_path / "pippin" / "plan" / "one.py").write_text(words)
    assert [(package, other) for package, other, _ in edges(tmp_path)] == [("plan", "report")]
