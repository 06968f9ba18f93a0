"""Backends: only they know a device's name."""

from __future__ import annotations

import ast
import os
import sys
from pathlib import Path

import pytest

import pippin
from pippin.errors import PippinError
from pippin.machine.backends import (
    FALLBACK_VARIABLE,
    all_backends,
    check_device_name,
    get_backend,
    prepare_environment,
)
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


@pytest.mark.parametrize(
    ("operator", "words"),
    [
        ("aten::_embedding_bag", "torch 2.10.0 brings it"),
        ("aten::_fused_adagrad_", "No release has it yet"),
        ("torchvision::nms", "No release has it yet"),
    ],
)
def test_missing_operator_is_explained(monkeypatch, operator, words):
    monkeypatch.setattr("pippin.machine.backends.mps.version", lambda name: "2.8.0+cpu")
    error = NotImplementedError(
        f"The operator '{operator}' is not currently implemented for the MPS device. If you want this op"
    )
    text = get_backend("mps").explain(error)
    assert operator in text
    assert words in text
    assert "--mps_fallback on" in text
    assert "--use_cpu" in text
    assert get_backend("cpu").explain(error) is None
    assert get_backend("mps").explain(NotImplementedError("something else")) is None


@pytest.fixture
def no_fallback_variable(monkeypatch):
    monkeypatch.setenv(FALLBACK_VARIABLE, "kept for later")
    monkeypatch.delenv(FALLBACK_VARIABLE)


@pytest.mark.usefixtures("no_fallback_variable")
def test_fallback_variable_is_set_before_torch(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(sys, "platform", "darwin")
    assert prepare_environment() is None
    assert os.environ[FALLBACK_VARIABLE] == "1"
    assert prepare_environment(mps_fallback=False) is None
    assert os.environ[FALLBACK_VARIABLE] == "0"


@pytest.mark.usefixtures("no_fallback_variable")
def test_too_late_is_said_on_a_mac_only(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", object())
    monkeypatch.setattr(sys, "platform", "darwin")
    assert "os.environ['PYTORCH_ENABLE_MPS_FALLBACK'] = '1'" in prepare_environment()
    monkeypatch.delenv(FALLBACK_VARIABLE)
    monkeypatch.setattr(sys, "platform", "linux")
    assert prepare_environment() is None
