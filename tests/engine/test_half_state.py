"""AdamW with moments in bfloat16: near AdamW, half the state, and the same after a checkpoint."""

from __future__ import annotations

import copy

import pytest
import torch

from pippin.engine.optimiser import HalfStateAdamW, rounded_at_random
from pippin.errors import PippinError
from pippin.recipe.reading import recipe_from


def test_rounding_is_right_in_the_mean():
    torch.manual_seed(0)
    exact = torch.tensor([1.0, 1.001, 3e-9, 0.0])
    many = torch.stack([rounded_at_random(exact) for _ in range(4000)])
    assert many.dtype == torch.bfloat16
    assert len(many[:, 1].unique()) == 2
    torch.testing.assert_close(many.float().mean(0), exact, rtol=3e-4, atol=0)
    assert rounded_at_random(torch.tensor([float("inf")])).isinf()


def problem() -> tuple[torch.nn.Parameter, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    inputs = torch.randn(256, 40)
    return torch.nn.Parameter(torch.zeros(40)), inputs, inputs @ torch.randn(40)


def losses(optimiser: torch.optim.Optimizer, weight, inputs, wanted, steps: int) -> list[float]:
    found = []
    for _ in range(steps):
        loss = (inputs @ weight - wanted).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        found.append(float(loss.detach()))
    return found


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_it_learns_as_adamw_does(decay):
    exact, *rows = problem()
    plain = torch.optim.AdamW([exact], lr=0.02, weight_decay=decay)
    expected = losses(plain, exact, *rows, 300)
    rounded, *rows = problem()
    half = HalfStateAdamW([{"params": [rounded]}], lr=0.02, weight_decay=decay)
    assert losses(half, rounded, *rows, 300)[::50] == pytest.approx(expected[::50], rel=0.15)
    state = half.state[rounded]
    assert state["exp_avg"].dtype == state["exp_avg_sq"].dtype == torch.bfloat16
    # Where it never moved again, the second moment would be that of the first large gradients.
    torch.testing.assert_close(state["exp_avg_sq"].float(), plain.state[exact]["exp_avg_sq"], rtol=0.15, atol=0)


def test_first_step_is_adamws():
    exact, *rows = problem()
    rounded = torch.nn.Parameter(exact.detach().clone())
    losses(torch.optim.AdamW([exact], lr=0.02, weight_decay=0.0), exact, *rows, 1)
    losses(HalfStateAdamW([{"params": [rounded]}], lr=0.02), rounded, *rows, 1)
    torch.testing.assert_close(rounded, exact, rtol=1e-6, atol=1e-7)


def test_goes_on_bit_for_bit_from_its_state():
    weight, *rows = problem()
    optimiser = HalfStateAdamW([{"params": [weight]}], lr=0.02)
    losses(optimiser, weight, *rows, 5)
    other = torch.nn.Parameter(weight.detach().clone())
    again = HalfStateAdamW([{"params": [other]}], lr=0.02)
    again.load_state_dict(copy.deepcopy(optimiser.state_dict()))
    assert again.state[other]["exp_avg_sq"].dtype == torch.bfloat16
    for each, own in ((weight, optimiser), (other, again)):
        torch.manual_seed(7)
        losses(own, each, *rows, 5)
    assert torch.equal(weight, other)


def test_only_adamw_has_these_moments():
    with pytest.raises(PippinError, match="optim_state bf16 is for AdamW alone, and optim is sgd"):
        recipe_from({"optim_state": "bf16", "optim": "sgd"})
    assert recipe_from({"optim_state": "bf16", "optim": "adamw_torch"}).recipe.optim_state == "bf16"
