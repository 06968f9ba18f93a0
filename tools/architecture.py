"""The shape of the source: packages, files, lines, who imports whom, and how long files and functions are.

    python tools/architecture.py [SOURCE ...]    default: src/pippin; prints Markdown tables

Several sources, such as those of two checkouts, get a column each in the table of figures, and the packages are those
of the last. Imports inside functions and for types alone count like any other.
"""

from __future__ import annotations

import ast
import statistics
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "pippin"


@cache
def modules(source: Path = SOURCE) -> dict[str, tuple[int, ast.Module]]:
    """By path below the source: lines, and what Python makes of them."""
    found = {}
    for path in sorted(source.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        found[path.relative_to(source).as_posix()] = len(text.splitlines()), ast.parse(text)
    return found


def package_of(path: str) -> str:
    """The first folder of a path; the file's own name where it lies in none."""
    return path.removesuffix(".py").partition("/")[0]


def imports(source: Path = SOURCE) -> dict[str, dict[str, set[str]]]:
    """By package: the packages that it imports, and the files that do so."""
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    known = set(map(package_of, modules(source)))
    for path, (_, tree) in modules(source).items():
        for name in _imported(tree, source.name):
            there = name if name in known else "__init__"
            if there != package_of(path):
                found[package_of(path)][there].add(path)
    return {package: dict(others) for package, others in found.items()}


def _imported(tree: ast.Module, root: str) -> set[str]:
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
    reached = {package: set(others) for package, others in edges.items()}
    for _ in edges:
        for others in reached.values():
            others |= {further for other in others for further in reached.get(other, ())}
    return sorted(package for package, others in reached.items() if package in others)


def same_names(source: Path = SOURCE) -> dict[str, list[str]]:
    """Classes, and files, whose name stands more than once."""
    places: dict[str, list[str]] = defaultdict(list)
    for path, (_, tree) in modules(source).items():
        places[path.rpartition("/")[2]].append(path)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name.lstrip("_")].append(path)
    return {name: found for name, found in places.items() if len(found) > 1 and name != "__init__.py"}


def figures(source: Path = SOURCE) -> dict[str, object]:
    """What can be held against another state of the source."""
    edges, twice = imports(source), same_names(source)
    files = [lines for lines, _ in modules(source).values()]
    nodes = [node for _, tree in modules(source).values() for node in ast.walk(tree)]
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    functions = [(node.end_lineno or 0) - node.lineno + 1 for node in nodes if isinstance(node, kinds)]
    return {
        "files": len(files),
        "lines": sum(files),
        "functions": len(functions),
        "edges between packages": sum(map(len, edges.values())),
        "packages in a circle": len(knots(edges)),
        "lines of a file, median / p90 / most": _spread(files),
        "lines of a function, median / p90 / most": _spread(functions),
        "names of files that stand more than once": sum(name.endswith(".py") for name in twice),
        "names of classes that stand more than once": sum(not name.endswith(".py") for name in twice),
    }


def _spread(sizes: list[int]) -> str:
    return f"{statistics.median(sizes):.0f} / {statistics.quantiles(sizes, n=10)[-1]:.0f} / {max(sizes)}"


def report(*sources: Path) -> str:
    """All of it as Markdown."""
    by_package: dict[str, list[int]] = defaultdict(list)
    for path, (lines, _) in modules(sources[-1]).items():
        by_package[package_of(path)].append(lines)
    rows = ["| package | files | lines | imports |", "|---|---:|---:|---|"]
    for package, sizes in sorted(by_package.items(), key=lambda item: -sum(item[1])):
        others = ", ".join(sorted(imports(sources[-1]).get(package, {})))
        rows.append(f"| `{package}` | {len(sizes)} | {sum(sizes)} | {others} |")
    found = [figures(source) for source in sources]
    rows += ["", f"| |{' |' * len(sources)}", f"|---|{'---:|' * len(sources)}"]
    return "\n".join([*rows, *(f"| {name} | {' | '.join(str(each[name]) for each in found)} |" for name in found[0])])


if __name__ == "__main__":
    print(report(*(map(Path, sys.argv[1:]) if len(sys.argv) > 1 else [SOURCE])))
