"""The module that makes an error is told from those that pass it on. The device is a CPU with a fault planted."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from verify_helpers import bert, by_name, gpt2, wrong_ones

from pippin.commands.verify.calls import ModuleCall, calls_within, run_alone
from pippin.commands.verify.compare import compare
from pippin.commands.verify.verdict import AGAIN, EVALUATION, GRADIENTS, MODES, TRAINING
from pippin.commands.verify.walk import Walk, located
from pippin.machine.drivers.cpu import CpuBackend


class Faulty(CpuBackend):
    """Every copy of the model that is placed here is spoilt."""

    def __init__(self, path: str, spoil):
        super().__init__()
        self.path, self.spoil = path, spoil

    def guard(self, model):
        self.spoil(model.get_submodule(self.path))


def found_on(experiment, path: str, spoil):
    device = Faulty(path, spoil)
    findings = compare(experiment, CpuBackend(), device, "fp32")
    return by_name(located(findings, experiment, CpuBackend(), device, "fp32"))


def scaled(module: torch.nn.Module) -> None:
    module.register_forward_hook(lambda _, __, output: output * 1.01)


@pytest.mark.parametrize(
    "path", ["bert.embeddings.LayerNorm", "bert.encoder.layer.1.attention.self.value", "bert.pooler", "classifier"]
)
def test_a_module_with_wrong_results(tiny_model, path):
    found = found_on(bert(tiny_model), path, scaled)
    assert found[EVALUATION].module == found[TRAINING].module == found[GRADIENTS].module == path


def test_a_module_that_is_wrong_in_evaluation_only(tiny_model):
    def spoil(module):
        module.register_forward_hook(lambda this, _, output: output if this.training else output * 1.01)

    found = found_on(bert(tiny_model), "bert.encoder.layer.0.output.dense", spoil)
    assert found[EVALUATION].module == found[MODES].module == "bert.encoder.layer.0.output.dense"
    assert found[TRAINING].agrees
    assert found[TRAINING].module == ""


@pytest.mark.parametrize("name", ["weight", "bias"])
def test_a_parameter_with_a_wrong_gradient(tiny_model, name):
    def spoil(module):
        getattr(module, name).register_hook(lambda gradient: gradient * 1.01)

    path = "bert.encoder.layer.0.attention.output.dense"
    found = found_on(bert(tiny_model), path, spoil)
    assert found[GRADIENTS].worst == f"{path}.{name}"
    assert found[GRADIENTS].module == path


def test_a_module_that_gives_something_else_each_time(tiny_model):
    draws = iter(range(1, 1000))

    def spoil(module):
        module.register_forward_hook(lambda _, __, output: output * (1 + next(draws) / 100))

    assert found_on(bert(tiny_model), "bert.pooler.activation", spoil)[AGAIN].module == "bert.pooler.activation"


def test_a_fault_between_modules_is_the_outer_modules(tiny_model):
    def spoil(layer):
        chunk = layer.feed_forward_chunk
        layer.feed_forward_chunk = lambda states: chunk(states) * 1.01

    assert found_on(bert(tiny_model), "bert.encoder.layer.1", spoil)[TRAINING].module == "bert.encoder.layer.1"


def test_nothing_is_named_where_all_modules_are_right(tiny_model):
    walk = Walk(bert(tiny_model), CpuBackend(), CpuBackend(), "fp32")
    assert [walk.first_wrong(name) for name in ("evaluation", "training", "gradients", "again")] == [""] * 4


def test_a_walk_that_fails_leaves_the_finding(tiny_model, monkeypatch):
    monkeypatch.setattr(Walk, "first_wrong", lambda *_: 1 / 0)
    found = found_on(bert(tiny_model), "classifier", scaled)
    assert not found[TRAINING].agrees
    assert found[TRAINING].module == ""


def test_a_model_that_keeps_keys_for_later_can_be_walked():
    found = found_on(gpt2(), "transformer.h.1.mlp.c_fc", scaled)
    assert found[EVALUATION].module == "transformer.h.1.mlp.c_fc"


@pytest.mark.parametrize("path", ["classifier", "bert.pooler", "bert.encoder.layer.1", "bert.encoder.layer.0"])
def test_a_call_alone_gives_the_gradients_that_the_whole_gives(tiny_model, path):
    cpu = CpuBackend()
    walk = Walk(bert(tiny_model), cpu, cpu, "fp32")
    _, whole = run_alone(walk.on_cpu, walk.roots[0], cpu, "fp32")
    calls = calls_within(walk.on_cpu, walk.roots[0], cpu, "fp32")
    while path not in [call.path for call in calls]:
        outer = next(call for call in calls if path.startswith(call.path))
        calls = calls_within(walk.on_cpu, replace(outer, gradients=_last(outer)), cpu, "fp32")
    _, alone = run_alone(walk.on_cpu, next(call for call in calls if call.path == path), cpu, "fp32")
    own = {name: gradient for name, gradient in alone.items() if not name.startswith("input")}
    assert own
    for name, gradient in own.items():
        torch.testing.assert_close(gradient, whole[name])


def _last(call: ModuleCall) -> dict[int, torch.Tensor]:
    """The core gives its states and what its pooler makes of them: the gradient of these holds that of the others."""
    return {number: gradient for number, gradient in call.gradients.items() if number == max(call.gradients)}


def test_inputs_that_a_module_writes_into_are_left_alone():
    class Writing(torch.nn.Module):
        def forward(self, states):
            return states.mul_(2)

    states = torch.ones(2, requires_grad=True)
    call = ModuleCall("", (states,), {}, {0: torch.ones(2)})
    outputs, gradients = run_alone(Writing(), call, CpuBackend(), "fp32")
    assert states.tolist() == [1, 1]
    assert outputs["output 0"].tolist() == [2, 2]
    assert gradients["input.0"].tolist() == [2, 2]


def test_only_what_disagrees_is_walked(tiny_model, monkeypatch):
    monkeypatch.setattr(Walk, "__init__", lambda *_: 1 / 0)
    experiment = bert(tiny_model)
    findings = compare(experiment, CpuBackend(), CpuBackend(), "fp32")
    assert wrong_ones(located(findings, replace(experiment), CpuBackend(), CpuBackend(), "fp32")) == []
