"""Updates in the backward pass: the very same weights, with only a few gradients held at a time."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from training_helpers import OUT_OF_MEMORY

from pippin.data.encoding import Encoded
from pippin.engine.fitting import FittingStep
from pippin.engine.optimiser import HalfStateAdamW
from pippin.engine.steps.eager import EagerStep
from pippin.engine.steps.in_backward import InBackwardStep
from pippin.machine.drivers.cpu import CpuBackend
from pippin.models.labels import Labels
from pippin.models.loading import load_config, load_model
from pippin.models.network import Network
from pippin.recipe import Recipe
from pippin.tasks.sequence.task import SequenceTask

ROWS = [np.arange(start, start + 8) for start in (0, 8, 16)]
WAITING = 8192


def rows_of_ten(count: int = 24) -> Encoded:
    draw = np.random.default_rng(0)
    return Encoded(
        draw.integers(5, 100, count * 10).astype(np.int32), None, np.arange(count + 1) * 10, draw.integers(0, 3, count)
    )


def made(tiny_model, kind=EagerStep, optimiser=torch.optim.AdamW, **settings) -> EagerStep:
    recipe = Recipe(model_name_or_path=str(tiny_model))
    torch.manual_seed(0)
    model = load_model(recipe, load_config(recipe, Labels(("a", "b", "c")))).train()
    groups = [{"params": list(model.parameters())}]
    used = optimiser(groups, lr=1e-3) if optimiser is HalfStateAdamW else optimiser(groups, lr=1e-3, fused=True)
    constant = torch.optim.lr_scheduler.LambdaLR(used, lambda step: 1.0)
    return kind(Network(model, CpuBackend()), used, constant, SequenceTask(), 0.0, **settings)


def trained(step: EagerStep, micro_batch: int = 8) -> tuple[list[float], torch.Tensor]:
    torch.manual_seed(1)
    fitting = FittingStep(step, rows_of_ten(), micro_batch, lambda *_, **__: None)
    norms = [float(fitting(rows, number)[1]) for number, rows in enumerate(ROWS, 1)]
    return norms, torch.cat([parameter.detach().flatten() for parameter in step.model.parameters()])


@pytest.mark.parametrize("micro_batch", [8, 4], ids=["one micro-batch", "several, done in the plain way"])
def test_the_same_weights_bit_for_bit(tiny_model, micro_batch):
    norms, weights = trained(made(tiny_model), micro_batch)
    early = made(tiny_model, InBackwardStep, waiting=WAITING)
    own_norms, own_weights = trained(early, micro_batch)
    assert torch.equal(own_weights, weights)
    assert own_norms == pytest.approx(norms, rel=1e-5)
    assert early.has_updated == (micro_batch == 8)


def test_gradients_are_freed_as_they_come(tiny_model):
    step, most = made(tiny_model, InBackwardStep, waiting=WAITING), []
    largest = max(parameter.nbytes for parameter in step.parameters)

    def look(_: torch.Tensor) -> None:
        most.append(sum(each.grad.nbytes for each in step.parameters if each.grad is not None))

    for parameter in step.parameters:
        parameter.register_post_accumulate_grad_hook(look)
    trained(step)
    assert max(most) <= WAITING + largest < sum(parameter.nbytes for parameter in step.parameters)


def test_a_step_that_has_begun_to_update_is_not_done_again(tiny_model):
    step = made(tiny_model, InBackwardStep, waiting=WAITING)

    def fail(_: torch.Tensor) -> None:
        raise RuntimeError(OUT_OF_MEMORY["cuda"])

    step.model.get_input_embeddings().weight.register_post_accumulate_grad_hook(fail)  # the last gradient
    with pytest.raises(RuntimeError, match="out of memory"):
        trained(step)
    assert step.has_updated
    assert not step.can_undo


def test_a_step_that_has_not_is(tiny_model):
    step, failed = made(tiny_model, InBackwardStep, waiting=WAITING), []

    def fail_once(*_: object) -> None:
        if not failed:
            failed.append(1)
            raise RuntimeError(OUT_OF_MEMORY["cuda"])

    step.model.classifier.register_forward_hook(fail_once)
    _, weights = trained(step)
    assert torch.equal(weights, trained(made(tiny_model), 4)[1]), "in two micro-batches from then on"
