"""Runs a file as `python FILE words…` would, or a module: as `__main__`, with its own argv, path, errors, exit code."""

from __future__ import annotations

import builtins
import io
import os
import runpy
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any

from pippin.drop_in.script.after_import import AfterImport
from pippin.drop_in.script.glue import prepare_glue
from pippin.drop_in.script.metric_loading import prepare_metrics
from pippin.drop_in.script.old_names import prepare_old_arguments, prepare_old_names
from pippin.drop_in.script.replacements import Replacements
from pippin.drop_in.script.workers import prepare_workers
from pippin.errors import PippinError, readable


def run_script(script: str, words: list[str], data_dir: str | None = None) -> None:
    """Run it to its end. What it raises comes out, to be shown without our own lines."""
    source = _read(script)
    path = os.path.abspath(script)
    _prepare(path, data_dir)
    _begin(script, words, os.path.dirname(os.path.realpath(path)))
    main = ModuleType("__main__")
    _dress(vars(main), path)
    sys.modules["__main__"] = main
    with _our_lines_hidden():
        exec(_compiled(source, path), vars(main))


def run_module(module: str, words: list[str], data_dir: str | None = None) -> None:
    """The same for a module, as `python -m MODULE words…` runs it."""
    if "/" in module or module.endswith(".py"):
        name = module.removesuffix(".py").replace("/", ".")
        raise PippinError(f"-m takes the name of a module: -m {name}. For a file: pippin exec {module}")
    _begin("-m", words, os.getcwd())
    if not _exists(module):
        raise PippinError(f"-m {module}: there is no such module, neither in {os.getcwd()} nor installed.")
    _prepare(module, data_dir, is_module=True)
    sys.modules["__main__"] = ModuleType("__main__")
    with _our_lines_hidden():
        runpy._run_module_as_main(module)  # type: ignore[attr-defined]  # what Python itself calls


def become_worker(names: dict[str, Any], script: str, data_dir: str | None, is_module: bool) -> None:
    """Make a spawned process's main module the script's, as Python does it for a script of its own."""
    _prepare(script, data_dir, announce=False, is_module=is_module)  # the script's own process has said it
    if not is_module:
        _dress(names, script)
        exec(_compiled(_read(script), script), names)
        return
    spec = find_spec(script)
    # A package's __main__ is not run again: its lines stand under no condition.
    if spec is None or spec.submodule_search_locations is not None:
        return
    assert spec.origin is not None
    _dress(names, spec.origin)
    names.update(__spec__=spec, __package__=spec.parent, __loader__=spec.loader)
    exec(spec.loader.get_code(spec.name), names)  # type: ignore[union-attr]


def _prepare(script: str, data_dir: str | None, announce: bool = True, is_module: bool = False) -> None:
    """All that the script finds changed. No library is imported for it: each change waits for the one it concerns."""
    imports = AfterImport()
    Replacements(announce).prepare(imports)
    prepare_old_names(imports)
    prepare_old_arguments(imports)
    prepare_glue(imports, data_dir)  # after the arguments, whose old names it passes on
    prepare_metrics(imports)
    prepare_workers(imports, script=script, data_dir=data_dir, is_module=is_module)
    sys.meta_path.insert(0, imports)


def _begin(name: str, words: list[str], folder: str) -> None:
    sys.argv[:] = [name, *words]
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = folder


def _exists(module: str) -> bool:
    """Whether there is such a module. What its packages raise is for Python to say, when it is run."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError as error:
        return not f"{module}.".startswith(f"{error.name}.")
    except Exception:
        return True


@contextmanager
def _our_lines_hidden() -> Iterator[None]:
    """An error that comes out is shown from the script's first line on; one of its grammar has no lines at all."""
    try:
        yield
    except (PippinError, SystemExit):
        raise
    except BaseException as error:
        # Python itself is to show it and to choose the exit code: an interrupted process dies by the signal.
        raised, lines, usual = error, error.__traceback__, sys.excepthook
        while lines and lines.tb_frame.f_code.co_filename == __file__:
            lines = lines.tb_next

        def show(kind: type[BaseException], shown: BaseException, traceback: TracebackType | None) -> None:
            if shown is raised:
                shown, traceback = raised.with_traceback(lines), lines
            usual(kind, shown, traceback)

        sys.excepthook = show
        raise


def _compiled(source: bytes, path: str) -> CodeType:
    return compile(source, path, "exec", dont_inherit=True)


def _dress(names: dict[str, Any], path: str) -> None:
    """The names that a main module has before its first line."""
    name, usual = names["__name__"], vars(sys.modules["__main__"])
    names.clear()
    names.update(
        __name__=name,
        __doc__=None,
        __package__=None,
        __loader__=SourceFileLoader("__main__", path),
        __spec__=None,
        __builtins__=builtins,
        __file__=path,
    )
    # Releases of Python differ in these two.
    names.update({other: value for other, value in (("__annotations__", {}), ("__cached__", None)) if other in usual})


def _read(script: str) -> bytes:
    """The script's bytes; compiling decodes them as its first lines say."""
    path = Path(script)
    if path.is_dir():
        inside = sorted(child.name for child in path.glob("*.py"))
        example = shlex.quote(str(path / (inside[0] if inside else "SCRIPT.py")))
        raise PippinError(f"{script} is a folder. Name the script: pippin exec {example} …")
    if not path.exists():
        raise PippinError(f"{script}: there is no such file. Type: pippin exec SCRIPT.py, then the script's own flags.")
    with readable(script), io.open_code(os.path.abspath(script)) as file:
        source = file.read()
    if b"\0" in source:
        raise PippinError(f"{script} is not a Python script: it is not text. Type: pippin exec SCRIPT.py …")
    return source
