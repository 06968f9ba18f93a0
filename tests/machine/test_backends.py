"""Backends: only they know a device's name."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import pippin
from pippin.errors import PippinError
from pippin.machine.backends import all_backends, check_device_name, get_backend
from pippin.machine.probe import probe
from pippin.records import from_json, to_json

SOURCE = Path(pippin.__file__).parent


def test_probe_round_trip():
    machine = probe()
    assert machine.devices[-1].kind == "cpu"
    assert from_json(type(machine), to_json(machine)) == machine


def test_names():
    assert [backend.kind for backend in all_backends()] == ["mps", "cuda", "cpu"]
    for name in ("cpu", "mps", "cuda", "cuda:1"):
        check_device_name(name)
    for name in ("gpu", "cuda:x", "CUDA", ""):
        with pytest.raises(PippinError, match="there is no such device"):
            check_device_name(name)


def test_every_backend_says_why_it_is_missing():
    for backend in all_backends():
        assert len(backend.why_missing()) > 10


def test_cpu_answers():
    backend = get_backend("cpu")
    assert backend.memory_now() > 10 * 2**20
    assert backend.memory_peak() >= backend.memory_now() / 2
    assert "float16" in backend.precision_problem("fp16")
    assert backend.precision_problem("bf16") is None


def _strings(path: Path) -> list[str]:
    """String constants of a module, without docstrings."""
    tree = ast.parse(path.read_text())
    docstrings = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
    ]


def test_no_other_module_names_a_device():
    for path in SOURCE.rglob("*.py"):
        if path.parent.name == "backends":
            continue
        named = [text for text in _strings(path) if text.lower() in ("mps", "cuda") or text.startswith("cuda:")]
        assert named == [], f"{path.name} names a device: ask its backend instead"
        for node in ast.walk(ast.parse(path.read_text())):
            assert not (isinstance(node, ast.Attribute) and node.attr in ("mps", "cuda")), path
