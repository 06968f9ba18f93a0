"""Backends: only they know a device's name."""

from __future__ import annotations

import ast
import os
import sys
from pathlib import Path

import pytest
import torch

import pippin
from pippin.errors import PippinError
from pippin.machine.drivers import (
    FALLBACK_VARIABLE,
    all_backends,
    check_device_name,
    get_backend,
    mps,
    prepare_environment,
)
from pippin.machine.faults import MacFacts
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
    assert "float16" in backend.precision_problems()["fp16"]
    assert "bf16" not in backend.precision_problems()


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
        if path.parent.name == "drivers" or path.name == "traits.py":
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
    monkeypatch.setattr(mps, "facts", lambda: MacFacts("2.8.0+cpu", "15.0", "Apple M1"))
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


def test_no_fallback_is_offered_for_an_operator_that_the_cpu_lacks_too(monkeypatch):
    monkeypatch.setattr(mps, "facts", lambda: MacFacts("2.13.0", "15.0", "Apple M1"))
    said = "The operator 'aten::cudnn_convolution' is not currently implemented for the MPS device."
    text = get_backend("mps").explain(NotImplementedError(said))
    assert "--mps_fallback" not in text
    assert "No release has it yet: run everything on the CPU with --use_cpu." in text


def test_facts_of_a_mac_are_asked_of_the_torch_that_runs(monkeypatch):
    monkeypatch.setattr(torch, "__version__", "2.14.1")
    monkeypatch.setattr(mps.platform, "mac_ver", lambda: ("15.3", ("", "", ""), "arm64"))
    monkeypatch.setattr(torch.backends.mps, "get_name", lambda: "Apple M2 Max")
    assert mps.facts() == MacFacts("2.14.1", "15.3", "Apple M2 Max")
    monkeypatch.delattr(torch.backends.mps, "get_name")
    monkeypatch.setattr(mps, "chip_name", lambda: "Apple M1")
    assert mps.facts().chip == "Apple M1"


@pytest.mark.parametrize(("chip", "name"), [("Apple M1 Pro", "Apple M1 Pro GPU"), ("", "Apple GPU")])
def test_apple_gpu_is_named_after_its_chip(monkeypatch, chip, name):
    monkeypatch.setattr(torch.backends.mps, "is_built", lambda: True)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch.mps, "recommended_max_memory", lambda: 2**33)
    monkeypatch.setattr(mps, "facts", lambda: MacFacts("2.5.1", "14.0", chip))
    (device,) = get_backend("mps").devices()
    assert (device.name, device.memory_bytes, device.bf16) == (name, 2**33, False)


@pytest.fixture
def mac_on_cpu(monkeypatch):
    """The Apple GPU's backend with its tensors on the CPU."""
    monkeypatch.setattr(mps.MpsBackend, "device", torch.device("cpu"))
    return get_backend("mps")


def test_weights_on_the_apple_gpu_are_contiguous_and_stay_tied(mac_on_cpu):
    model = torch.nn.ModuleDict(
        {"words": torch.nn.Linear(3, 5), "head": torch.nn.Linear(3, 5), "conv": torch.nn.Conv2d(2, 4, 3)}
    )
    model["words"].weight = model["head"].weight = torch.nn.Parameter(torch.randn(3, 5).t())
    model["conv"].weight.data = model["conv"].weight.data.to(memory_format=torch.channels_last)
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    assert not any(model[name].weight.is_contiguous() for name in ("words", "conv"))
    mac_on_cpu.place(model)
    assert all(weight.is_contiguous() for weight in model.parameters())
    assert model["words"].weight is model["head"].weight
    torch.testing.assert_close(dict(model.named_parameters()), before, rtol=0, atol=0)


def test_doubles_become_floats_on_the_apple_gpu(mac_on_cpu):
    model = torch.nn.Module()
    model.register_buffer("scale", torch.ones(2, dtype=torch.float64))
    assert mac_on_cpu.place(model).scale.dtype == torch.float32
    assert mac_on_cpu.to_device(torch.ones(2, dtype=torch.float64)).dtype == torch.float32


def test_copies_to_the_apple_gpu_are_never_asynchronous(mac_on_cpu):
    class Noted:
        dtype = torch.int64

        def to(self, *places, **settings):
            self.asked = (places, settings)
            return self

    assert mac_on_cpu.to_device(Noted()).asked == ((torch.device("cpu"),), {})


def test_random_state_round_trip():
    backend = get_backend("cpu")
    backend.seed(5)
    state = backend.random_state()
    drawn = torch.rand(3)
    backend.set_random_state(state)
    assert torch.equal(torch.rand(3), drawn)
    assert set(state) == {"cpu"}


@pytest.mark.parametrize("kind", ["mps", "cuda"])
def test_random_state_of_a_gpu_holds_both_generators(monkeypatch, kind):
    generator = torch.Generator()
    module = getattr(torch, kind)
    monkeypatch.setattr(module, "get_rng_state", lambda *device: generator.get_state())
    monkeypatch.setattr(module, "set_rng_state", lambda state, *device: generator.set_state(state))
    backend = get_backend(kind)
    state = backend.random_state()
    assert set(state) == {"cpu", kind}
    drawn = torch.rand(3), torch.rand(3, generator=generator)
    backend.set_random_state(state)
    assert torch.equal(torch.rand(3), drawn[0])
    assert torch.equal(torch.rand(3, generator=generator), drawn[1])
    backend.set_random_state({"cpu": state["cpu"]})  # of a run on the CPU
    assert torch.equal(torch.rand(3), drawn[0])


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


@pytest.mark.usefixtures("no_fallback_variable")
def test_too_late_is_not_said_of_what_torch_does_anyway(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", object())
    monkeypatch.setattr(sys, "platform", "darwin")
    assert prepare_environment(mps_fallback=False) is None, "torch without the variable has no fallback"
    assert "= '1'" in prepare_environment()


@pytest.mark.usefixtures("no_fallback_variable")
def test_the_setting_wins_over_a_variable_from_before(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    for value, wanted, expected in (("0", True, "1"), ("1", False, "0"), ("", True, "1")):
        monkeypatch.setenv(FALLBACK_VARIABLE, value)
        prepare_environment(mps_fallback=wanted)
        assert os.environ[FALLBACK_VARIABLE] == expected


def test_a_variable_that_torch_cannot_read_is_refused(monkeypatch):
    monkeypatch.setenv(FALLBACK_VARIABLE, "yes")
    with pytest.raises(PippinError, match="=yes: torch accepts only a number there. Type: unset"):
        prepare_environment()


def test_model_that_does_not_fit_is_said():
    import torch

    class Large(torch.nn.Linear):
        words = ""

        def to(self, *arguments):
            raise RuntimeError(self.words)

    model = Large(2, 2)
    for words in (
        "CUDA out of memory. Tried to allocate 2.00 GiB.",
        "MPS backend out of memory (MPS allocated: 9 GB",
        "Invalid buffer size: 44.71 GiB",
    ):
        model.words = words
        with pytest.raises(PippinError, match="does not fit into the free memory of the device cpu"):
            get_backend("cpu").place(model)
    model.words = "something else"
    with pytest.raises(RuntimeError, match="something else"):
        get_backend("cpu").place(model)
