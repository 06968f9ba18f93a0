"""Faults of a device are found, and rounding is not taken for one. The faulty device is a CPU with a fault planted."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from verify_helpers import another, bert, by_name, wrong_ones

from pippin.commands.verify.compare import compare
from pippin.commands.verify.measurement import Experiment
from pippin.commands.verify.verdict import EVALUATION, MODES, PADDED, TRAINING
from pippin.errors import PippinError
from pippin.machine.drivers.cpu import CpuBackend
from pippin.tasks.sequence.task import SequenceTask


@pytest.fixture
def experiment(tiny_model) -> Experiment:
    return bert(tiny_model)


class Faulty(TorchDispatchMode):
    """Changes the results of one operator."""

    def __init__(self, operator: str, change):
        super().__init__()
        self.operator, self.change = operator, change

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        result = function(*arguments, **(keywords or {}))
        return self.change(result) if function.name() == self.operator else result


def faults(experiment: Experiment, operator: str, change) -> dict[str, str]:
    class Device(CpuBackend):
        @contextmanager
        def autocast(self, precision):
            with Faulty(operator, change):
                yield

    findings = compare(experiment, CpuBackend(), Device(), "fp32")
    return {finding.name: finding.worst for finding in findings if not finding.agrees}


def test_the_same_device_agrees_with_itself(experiment):
    findings = compare(experiment, CpuBackend(), CpuBackend(), "fp32")
    assert all(finding.error == 0 for finding in findings if finding.name not in (MODES, PADDED))
    assert all(finding.agrees for finding in findings)


def test_rounding_is_allowed(experiment):
    class Exact(CpuBackend):
        """Computes in double: what differs is the rounding of fp32."""

        def place(self, model):
            return super().place(model).double()

        def to_device(self, tensor):
            return tensor.double() if tensor.is_floating_point() else tensor

    findings = compare(experiment, CpuBackend(), Exact(), "fp32")
    assert all(finding.agrees for finding in findings)
    assert all(finding.error > 0 for finding in findings if finding.name in ("logits in training", "gradients"))


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_honest_half_precision_agrees(experiment, precision):
    """The CPU's own mixed precision, which rounds in other places than the yardstick does."""
    findings = compare(experiment, CpuBackend(), CpuBackend(), precision)
    assert wrong_ones(findings) == []
    assert by_name(findings)["gradients"].error > 1e-4
    assert by_name(findings)["gradients"].allowed < 0.1


@pytest.mark.parametrize("kind", ["electra", "albert", "deberta-v2"])
def test_gradients_that_nearly_cancel_agree_in_half_precision(kind):
    """In a new model with as many rows of each class, little is left of some gradients, such as the last bias's."""
    assert wrong_ones(compare(another(kind), CpuBackend(), CpuBackend(), "bf16")) == []


def test_a_kernel_that_is_a_tenth_off_in_half_precision_is_found(experiment):
    class Device(CpuBackend):
        @contextmanager
        def autocast(self, precision):
            with super().autocast(precision), Faulty("aten::gelu", lambda result: result * 1.1):
                yield

    assert {"logits in evaluation", "gradients"} <= set(wrong_ones(compare(experiment, CpuBackend(), Device(), "bf16")))


def test_gradients_that_are_nothing_but_rounding_are_not_compared(experiment):
    """Attention to a single token has no gradient for its queries and keys: what is computed is rounding alone."""

    class Exact(CpuBackend):
        def place(self, model):
            return super().place(model).double()

        def to_device(self, tensor):
            return tensor.double() if tensor.is_floating_point() else tensor

    single = replace(experiment, encoded=replace(experiment.encoded, offsets=np.arange(9)))
    findings = compare(single, CpuBackend(), Exact(), "fp32")
    assert wrong_ones(findings) == []


def test_wrong_activations_are_found(experiment):
    found = faults(experiment, "aten::gelu", lambda result: result * 1.01)
    assert {"logits in evaluation", "logits in training", "gradients"} <= found.keys()
    assert "a second time" not in found


def test_nan_is_never_within_the_allowed(experiment):
    found = faults(experiment, "aten::gelu", lambda result: result * float("nan"))
    assert "logits in evaluation" in found
    assert "gradients" in found


def test_wrong_gradients_are_found_and_placed(experiment):
    class Device(CpuBackend):
        def guard(self, model):
            weight = model.bert.encoder.layer[1].intermediate.dense.weight
            weight.register_hook(lambda gradient: gradient * 1.01)

    findings = compare(experiment, CpuBackend(), Device(), "fp32")
    wrong = {finding.name: finding.worst for finding in findings if not finding.agrees}
    assert wrong == {"gradients": "bert.encoder.layer.1.intermediate.dense.weight"}


def test_lost_updates_are_found_and_placed(experiment):
    def make_optimiser(model):
        kept = model.bert.pooler.dense.weight if faulty else None
        chosen = [parameter for parameter in model.parameters() if parameter is not kept]
        return torch.optim.AdamW(chosen, lr=1e-3)

    class Device(CpuBackend):
        def guard(self, model):
            nonlocal faulty
            faulty = True

    faulty = False
    broken = replace(experiment, make_optimiser=make_optimiser)
    findings = compare(broken, CpuBackend(), Device(), "fp32")
    wrong = {finding.name: finding.worst for finding in findings if not finding.agrees}
    assert wrong == {"weights after a step": "bert.pooler.dense.weight"}


def test_the_model_itself_is_left_alone(experiment):
    before = {name: tensor.clone() for name, tensor in experiment.model.state_dict().items()}
    compare(experiment, CpuBackend(), CpuBackend(), "fp32")
    assert all(torch.equal(before[name], tensor) for name, tensor in experiment.model.state_dict().items())


def test_small_gradients_in_float16_are_not_lost(experiment):
    """Training scales its loss in fp16; without that, these gradients would be below the smallest number."""

    class Small(SequenceTask):
        def loss(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
            return 1e-4 * super().loss(logits, labels)

    small = replace(experiment, task=Small())
    assert wrong_ones(compare(small, CpuBackend(), CpuBackend(), "fp16")) == []


def test_gradients_that_change_from_run_to_run_are_found(experiment):
    class Restless(CpuBackend):
        """Every backward pass gives one weight a larger gradient."""

        runs = 0

        def guard(self, model):
            def enlarged(gradient):
                self.runs += 1
                return gradient * (1.0 + 0.1 * self.runs)

            model.classifier.weight.register_hook(enlarged)

    findings = {each.name: each for each in compare(experiment, CpuBackend(), Restless(), "fp32")}
    assert findings["a second time"].worst == "classifier.weight"
    assert not findings["a second time"].agrees


def test_a_model_that_gives_no_numbers_on_the_cpu_either_is_not_compared(experiment):
    with torch.no_grad():
        experiment.model.get_input_embeddings().weight[experiment.encoded.tokens[0]] = float("nan")
    with pytest.raises(PippinError, match=r"answer to texts\[0\].* is not finite .* broken weights"):
        compare(experiment, CpuBackend(), CpuBackend(), "fp32")


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_no_number_on_the_device_is_a_difference(experiment, bad):
    class Device(CpuBackend):
        """One number is none, in evaluation alone."""

        def guard(self, model):
            def spoil(module, _, found):
                return found if module.training else found.index_fill(0, torch.tensor([0]), bad)

            model.classifier.register_forward_hook(spoil)

    findings = by_name(compare(experiment, CpuBackend(), Device(), "fp32"))
    assert not findings[EVALUATION].agrees
    assert findings[EVALUATION].error == float("inf")
    assert findings[TRAINING].agrees
