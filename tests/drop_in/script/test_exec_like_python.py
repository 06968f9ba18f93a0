"""`pippin exec SCRIPT` beside `python SCRIPT`: the same output, errors and exit code."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from pippin.drop_in.script.after_import import AfterImport

SOURCE = Path(__file__).parents[3] / "src"
PIPPIN = ("-m", "pippin", "exec")


def call(*words: object, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), **variables}
    return subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True, env=environment)


def both(script: str, *words: str) -> tuple[subprocess.CompletedProcess[str], subprocess.CompletedProcess[str]]:
    return call(script, *words), call(*PIPPIN, script, *words)


SCRIPTS = {
    "raises": """
        import atexit
        atexit.register(print, "last words")
        def deep():
            raise ValueError("no")
        try:
            1 / 0
        except ZeroDivisionError:
            deep()
    """,
    "interrupted": """
        import atexit, os, signal
        atexit.register(print, "last words")
        signal.signal(signal.SIGINT, signal.default_int_handler)  # what starts the tests may ignore it
        os.kill(os.getpid(), signal.SIGINT)
        for _ in iter(int, 1):
            pass
    """,
    "number": "import sys; print('out'); sys.exit(3)",
    "words": "import sys; sys.exit('words')",
    "plain_exit": "import sys; sys.exit()",
    "grammar": "x = 1\nif x\n  y\n",
    "own_hook": """
        import sys
        sys.excepthook = lambda kind, error, lines: print("own hook", repr(error), lines.tb_frame.f_code.co_name)
        raise KeyError(1)
    """,
    "no_file": "open('/nowhere/at-all')",
    "broken_pipe": "raise BrokenPipeError(32, 'x')",
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_ends_as_under_python(tmp_path: Path, name: str) -> None:
    lines = SCRIPTS[name].split("\n")
    (tmp_path / f"{name}.py").write_text("\n".join(line.removeprefix(" " * 8) for line in lines))
    theirs, ours = both(f"{name}.py")
    assert (ours.returncode, ours.stdout, ours.stderr) == (theirs.returncode, theirs.stdout, theirs.stderr)


WHO_AM_I = """
import os, pickle, sys
import beside
class Thing:
    pass
if __name__ == "__main__":
    names = [(name, globals()[name]) for name in sorted(globals()) if name[:2] == "__" and name != "__loader__"]
    print(sys.argv, sys.path[0], names, beside.__file__)
    print(pickle.dumps(Thing()), type(pickle.loads(pickle.dumps(Thing()))) is Thing)
    print(sys.modules["__main__"].Thing is Thing, type(__loader__), os.environ.get("TOKENIZERS_PARALLELISM"))
"""


def test_names_paths_and_words_as_under_python(tmp_path: Path) -> None:
    folder = tmp_path / "sub"
    folder.mkdir()
    (folder / "who.py").write_text(WHO_AM_I)
    (folder / "beside.py").write_text("")
    (tmp_path / "link.py").symlink_to(folder / "who.py")  # Python looks for modules beside the real file
    for script in ("sub/who.py", str(folder / "who.py"), "link.py"):
        theirs, ours = both(script, "--help", "a b", "--data_dir", "x")
        assert (ours.stdout, ours.stderr) == (theirs.stdout, "")
        assert "--help" in ours.stdout


SPAWNS = """
import multiprocessing, sys
class Square:
    def __init__(self, side):
        self.area = side * side
def work(square):
    return square.area, __name__, any(type(finder).__name__ == "AfterImport" for finder in sys.meta_path)
if __name__ == "__main__":
    for way in ("fork", "spawn"):
        with multiprocessing.get_context(way).Pool(1) as pool:
            print(way, pool.map(work, [Square(3)]))
"""


def test_processes_of_the_script_know_its_classes_and_are_prepared_alike(tmp_path: Path) -> None:
    (tmp_path / "spawns.py").write_text(SPAWNS)
    ours = call(*PIPPIN, "spawns.py")
    assert ours.stdout.splitlines() == ["fork [(9, '__main__', True)]", "spawn [(9, '__mp_main__', True)]"], ours.stderr


WHO_IS_MAIN = """
import sys
import textwrap
from . import beside
class Thing:
    pass
if __name__ == "__main__":
    import pickle
    spec = __spec__
    print(sys.argv, sys.path[0], __package__, spec.name, spec.parent, __file__, __doc__, beside.__name__)
    print(type(pickle.loads(pickle.dumps(Thing()))) is Thing, sys.modules["__main__"].Thing is Thing)
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "a_package" / "inner"
    folder.mkdir(parents=True)
    for path in (folder.parent, folder):
        (path / "__init__.py").touch()
        (path / "beside.py").touch()
        (path / "who.py").write_text(WHO_IS_MAIN)
        (path / "__main__.py").write_text(WHO_IS_MAIN)
    return tmp_path


@pytest.mark.parametrize("module", ["a_package.who", "a_package.inner.who", "a_package", "a_package.inner"])
def test_modules_run_as_under_python(package: Path, module: str) -> None:
    words = ("-m", module, "-m", "--help", "x y")
    theirs, ours = call(*words), call(*PIPPIN, *words)
    assert (ours.returncode, ours.stdout, ours.stderr) == (0, theirs.stdout, "")
    assert "--help" in ours.stdout


def test_a_module_that_fails_ends_as_under_python(package: Path) -> None:
    (package / "a_package" / "fails.py").write_text("import sys\nprint(sys.argv[1:])\nraise ValueError('no')\n")
    theirs, ours = call("-m", "a_package.fails", "x"), call(*PIPPIN, "-m", "a_package.fails", "x")
    assert (ours.returncode, ours.stdout, ours.stderr) == (theirs.returncode, theirs.stdout, theirs.stderr)


def test_processes_of_a_module_are_prepared_alike(package: Path) -> None:
    lines = SPAWNS.replace("class Square", "from . import beside\nclass Square")
    (package / "a_package" / "spawns.py").write_text(lines)
    ours = call(*PIPPIN, "-m", "a_package.spawns")
    assert ours.stdout.splitlines() == ["fork [(9, '__main__', True)]", "spawn [(9, '__mp_main__', True)]"], ours.stderr


def test_a_package_is_not_run_again_by_the_processes_that_it_spawns(package: Path) -> None:
    # Of a package's __main__, Python lets spawned processes know nothing: its lines stand under no condition.
    lines = """
        import multiprocessing
        print("once")
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            print(pool.map(abs, [-3]))
    """
    (package / "a_package" / "__main__.py").write_text(textwrap.dedent(lines))
    ours = call(*PIPPIN, "-m", "a_package")
    assert ours.stdout.splitlines() == ["once", "[3]"], ours.stderr


INTERPRETER = """
import sys, warnings
print(sys.flags.optimize, sys.flags.dont_write_bytecode, sys.flags.dev_mode, sys.flags.utf8_mode, sys.warnoptions)
print(type(sys.stdout.buffer).__name__, sys.argv, __file__, sys.path[0])
assert not sys.flags.optimize
warnings.warn("careful")
"""


@pytest.mark.parametrize(
    "flags",
    [["-u"], ["-O"], ["-OO", "-B"], ["-W", "ignore"], ["-Werror"], ["-X", "dev"], ["-Xutf8"], ["-uB", "-W", "default"]],
    ids=" ".join,
)
def test_flags_of_the_interpreter_are_its_own(tmp_path: Path, flags: list[str]) -> None:
    (tmp_path / "show.py").write_text(INTERPRETER)
    theirs, ours = call(*flags, "show.py", "-u", "x"), call(*PIPPIN, *flags, "show.py", "-u", "x")
    assert (ours.returncode, ours.stdout) == (theirs.returncode, theirs.stdout)
    assert ours.stderr.splitlines()[-1:] == theirs.stderr.splitlines()[-1:]


def test_flags_and_a_module_and_a_folder(package: Path) -> None:
    ours = call(*PIPPIN, "-u", "--data_dir", str(package), "-m", "a_package.who", "x")
    assert "a_package.who" in ours.stdout, ours.stderr


def test_fallback_variable_is_set_unless_the_user_has(tmp_path: Path) -> None:
    (tmp_path / "show.py").write_text("import os; print(os.environ['PYTORCH_ENABLE_MPS_FALLBACK'])")
    assert call(*PIPPIN, "show.py").stdout == "1\n"
    assert call(*PIPPIN, "show.py", PYTORCH_ENABLE_MPS_FALLBACK="0").stdout == "0\n"


def test_error_of_pippin_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "ours.py").write_text("from pippin import PippinError\nraise PippinError('type this instead')")
    done = call(*PIPPIN, "ours.py")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "pippin: type this instead\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "pippin exec SCRIPT.py"),
        (["nowhere.py"], "nowhere.py: there is no such file"),
        (["folder"], "pippin exec folder/inside.py"),
        (["bytes.py"], "bytes.py is not a Python script"),
        (["python", "train.py"], "leave out python: pippin exec train.py"),
        (["--data-dir", "nowhere", "x.py"], "--data_dir nowhere: there is no such folder"),
        (["--data_dir", "folder"], "name the script"),
        (["--dataa_dir", "x", "x.py"], "Did you mean --data_dir?"),
        (["-m"], "name the module: pippin exec -m PACKAGE.MODULE"),
        (["-m", "no_such_module"], "-m no_such_module: there is no such module"),
        (["-m", "no_such_package.inner"], "-m no_such_package.inner: there is no such module"),
        (["-m", "folder/inside.py"], "-m takes the name of a module: -m folder.inside"),
        (["-c", "print(1)"], "-c: only scripts and modules can be run"),
        (["-W"], "-W needs a value"),
        (["-Z", "x.py"], "pippin exec -Z: Python has no such flag"),
    ],
)
def test_what_cannot_be_run_is_said(run_cli, tmp_path: Path, words: list[str], said: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "inside.py").touch()
    (tmp_path / "bytes.py").write_bytes(b"\x00\x01")
    code, out, err = run_cli("exec", *words)
    assert (code, out) == (2, "")
    assert err.startswith("pippin: ")
    assert said in err
    assert not any(isinstance(finder, AfterImport) for finder in sys.meta_path)


def test_help_teaches_and_belongs_to_pippin_only_before_the_script(run_cli) -> None:
    code, out, _ = run_cli("exec", "--help")
    assert code == 0
    assert "pippin exec train.py" in out
    assert "--data_dir" in out


def test_nothing_heavy_is_loaded_for_a_script_that_needs_nothing(tmp_path):
    script = tmp_path / "light.py"
    script.write_text("import sys; print([name for name in ('torch', 'transformers', 'numpy') if name in sys.modules])")
    assert call(*PIPPIN, script).stdout == "[]\n"
