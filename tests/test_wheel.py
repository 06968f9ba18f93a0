"""The wheel, in an environment where nothing of this checkout is: what pip, pipx and uvx install."""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, since a build leaves files beside its source."""
    source, made = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "src" / "pippin", source / "src" / "pippin", ignore=shutil.ignore_patterns("__pycache__"))
    build = f"import setuptools.build_meta as build; build.build_wheel({str(made)!r})"
    done = subprocess.run([sys.executable, "-c", build], cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return next(made.glob("*.whl"))


def test_every_file_of_the_package_is_in_it(wheel: Path):
    files = {path.relative_to(ROOT / "src") for path in (ROOT / "src" / "pippin").rglob("*") if path.is_file()}
    wanted = {path.as_posix() for path in files if "__pycache__" not in path.parts and path.name != ".DS_Store"}
    with zipfile.ZipFile(wheel) as archive:
        assert wanted - set(archive.namelist()) == set()


def test_it_trains_predicts_and_reports_from_an_empty_environment(wheel: Path, tiny_model: Path, tmp_path: Path):
    home = tmp_path / "environment"
    venv.create(home)
    target = [sys.executable, "-m", "pip", "--python", home / "bin" / "python", "--disable-pip-version-check"]
    subprocess.run([*target, "install", "--quiet", "--no-index", "--no-deps", wheel], check=True)
    packages = next((home / "lib").glob("python*/site-packages"))
    # What Pippin needs comes from here; a path in a .pth file brings no editable packages along.
    (packages / "needed.pth").write_text("\n".join(site.getsitepackages()))
    # The emulated GPU is announced among them, but an editable package of this checkout.
    variables = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "PYTHONPATH": ""}

    def typed(*words: object) -> str:
        done = subprocess.run([*map(str, words)], capture_output=True, text=True, cwd=tmp_path, env=variables)
        assert done.returncode == 0, done.stderr
        return done.stdout

    python, pippin = home / "bin" / "python", home / "bin" / "pippin"
    assert str(packages) in typed(python, "-c", "import pippin; print(pippin.__file__)")
    typed(python, "-m", "pippin", "train", "--model", tiny_model, "--max_steps", 2, "--output", "run")
    assert (tmp_path / "run" / "report.html").exists()
    assert typed(pippin, "predict", "run", "--text", "Who was Galileo?").splitlines()
