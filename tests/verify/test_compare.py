"""Faults of a device are found, and rounding is not taken for one. The faulty device is a CPU with a fault planted."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from pippin.data.encoding import Encoded
from pippin.machine.backends.cpu import CpuBackend
from pippin.training.losses import Loss
from pippin.verify.compare import Experiment, compare
from pippin.verify.tolerance import allowed_error


@pytest.fixture
def experiment(tiny_model) -> Experiment:
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    config = BertConfig.from_pretrained(tiny_model, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    lengths = np.repeat([9, 14], 4)
    tokens = torch.randint(5, 60, (int(lengths.sum()),)).numpy()
    rows = Encoded(tokens, None, np.concatenate([[0], np.cumsum(lengths)]), np.array([0, 1, 0, 1] * 2))
    return Experiment(
        BertForSequenceClassification(config),
        rows,
        [np.arange(4), np.arange(4, 8)],
        Loss(regression=False),
        lambda model: torch.optim.AdamW(model.parameters(), lr=1e-3),
    )


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
    assert all(finding.error == 0 for finding in findings if finding.name != "evaluation against training")
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


def test_half_precision_may_differ_more(experiment):
    exact, half = (allowed_error(experiment.model, precision) for precision in ("fp32", "bf16"))
    assert 1e-6 < exact < 1e-3
    assert half > 100 * exact


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
    findings = compare(experiment, CpuBackend(), CpuBackend(), "fp16")
    assert [finding.name for finding in findings if not finding.agrees] == []


def test_gradients_that_change_from_run_to_run_are_found(experiment):
    class Restless(CpuBackend):
        """Every training pass drops the gradients of another run's size onto one weight."""

        runs = 0

        def guard(self, model):
            Restless.runs += 1
            factor = 1.0 + 0.1 * Restless.runs
            model.classifier.weight.register_hook(lambda gradient: gradient * factor)

    findings = {each.name: each for each in compare(experiment, CpuBackend(), Restless(), "fp32")}
    assert findings["a second time"].worst == "classifier.weight"
    assert not findings["a second time"].agrees


def test_a_cpu_that_computes_no_number_agrees_with_nothing(experiment):
    with torch.no_grad():
        experiment.model.classifier.bias.fill_(float("nan"))
    findings = compare(experiment, CpuBackend(), CpuBackend(), "fp32")
    assert not any(each.agrees for each in findings if each.name != "a second time")
