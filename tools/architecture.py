"""The shape of the source: packages, files, lines, who imports whom, and how long files and functions are.

    python tools/architecture.py [SOURCE]        default: src/pippin; prints Markdown tables

Imports inside functions count like any other.
"""

from __future__ import annotations

import ast
import statistics
import sys
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "pippin"


def package_of(path: Path, source: Path) -> str:
    """The first folder below the source; the file's own name where it lies in none."""
    parts = path.relative_to(source).with_suffix("").parts
    return parts[0]


def imports(source: Path = SOURCE) -> dict[str, dict[str, set[str]]]:
    """By package: the packages that it imports, and the files that do so."""
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    known = {package_of(path, source) for path in source.rglob("*.py")}
    for path in sorted(source.rglob("*.py")):
        here = package_of(path, source)
        for module in _modules(ast.parse(path.read_text(encoding="utf-8")), source.name):
            there = module if module in known else "__init__"
            if there != here:
                found[here][there].add(path.relative_to(source).as_posix())
    return {package: dict(others) for package, others in found.items()}


def _modules(tree: ast.AST, root: str) -> set[str]:
    """The packages of ours that a file names in its imports."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith(f"{root}.")}


def knots(edges: dict[str, dict[str, set[str]]]) -> list[str]:
    """Packages from which imports lead back to themselves."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        ahead = [start]
        while ahead:
            for other in edges.get(ahead.pop(), {}):
                if other not in seen:
                    seen.add(other)
                    ahead.append(other)
        return seen

    return sorted(package for package in edges if package in reached(package))


def lengths(source: Path = SOURCE) -> tuple[list[int], list[int]]:
    """Lines of every file, and of every function."""
    files, functions = [], []
    for path in source.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        files.append(len(text.splitlines()))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.end_lineno is not None:
                functions.append(node.end_lineno - node.lineno + 1)
    return files, functions


def same_names(source: Path = SOURCE) -> dict[str, list[str]]:
    """Public classes, and files, whose name stands more than once."""
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(source.rglob("*.py")):
        where = path.relative_to(source).as_posix()
        if path.name != "__init__.py":
            places[path.name].append(where)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(where)
    return {name: found for name, found in places.items() if len(found) > 1}


def report(source: Path = SOURCE) -> str:
    """All of it as Markdown."""
    edges = imports(source)
    rows = ["| package | files | lines | imports |", "|---|---|---|---|"]
    by_package: dict[str, list[int]] = defaultdict(list)
    for path in source.rglob("*.py"):
        by_package[package_of(path, source)].append(len(path.read_text(encoding="utf-8").splitlines()))
    for package, sizes in sorted(by_package.items(), key=lambda item: -sum(item[1])):
        others = ", ".join(sorted(edges.get(package, {})))
        rows.append(f"| `{package}` | {len(sizes)} | {sum(sizes)} | {others} |")
    files, functions = lengths(source)
    figures = {
        "files": len(files),
        "lines": sum(files),
        "edges between packages": sum(map(len, edges.values())),
        "packages in a circle": len(knots(edges)),
        "lines of a file, median / p90 / most": _spread(files),
        "lines of a function, median / p90 / most": _spread(functions),
        "names that stand more than once": len(same_names(source)),
    }
    totals = ["| | |", "|---|---|", *(f"| {name} | {figure} |" for name, figure in figures.items())]
    return "\n".join([*rows, "", *totals])


def _spread(sizes: list[int]) -> str:
    return f"{statistics.median(sizes):.0f} / {statistics.quantiles(sizes, n=10)[-1]:.0f} / {max(sizes)}"


if __name__ == "__main__":
    print(report(Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCE))
