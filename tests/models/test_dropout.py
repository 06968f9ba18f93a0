"""The quick dropout drops as often as it should, scales to match, and draws from torch's own generator."""

from __future__ import annotations

import pytest
import torch

from pippin.models.dropout import QuickDropout, drop, quicken_dropout


@pytest.mark.parametrize("chance", [0.1, 0.5, 0.9])
def test_chance_and_scale(chance):
    torch.manual_seed(1)
    dropped = drop(torch.ones(400, 1000), chance)
    share = float((dropped == 0).float().mean())
    assert share == pytest.approx(chance, abs=5 * (chance * (1 - chance) / dropped.numel()) ** 0.5 + 1e-5)
    kept = dropped[dropped != 0]
    assert float(kept[0]) == pytest.approx(1 / (1 - chance), rel=1e-4)
    assert bool((kept == kept[0]).all())


def test_elements_are_dropped_independently():
    """Four of them share a draw."""
    torch.manual_seed(2)
    gone = (drop(torch.ones(100_000, 4), 0.3) == 0).double()
    together = gone.T @ gone / len(gone)
    apart = together[~torch.eye(4, dtype=torch.bool)]
    assert apart.tolist() == pytest.approx([0.09] * 12, abs=0.006)


def test_gradient_goes_where_the_element_stayed():
    x = torch.randn(50, 7, requires_grad=True)
    dropped = drop(x, 0.4)
    dropped.sum().backward()
    kept = dropped != 0
    assert bool((x.grad[~kept] == 0).all())
    torch.testing.assert_close(x.grad * x.detach(), dropped.detach())


def test_same_seed_same_elements():
    x = torch.ones(1000)
    torch.manual_seed(3)
    first, second = drop(x, 0.2), drop(x, 0.2)
    torch.manual_seed(3)
    assert torch.equal(drop(x, 0.2), first)
    assert not torch.equal(first, second)


def test_none_and_all():
    x = torch.randn(9)
    assert drop(x, 0.0) is x
    assert drop(x, 1.0).abs().sum() == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_other_types_and_layouts(dtype):
    x = torch.ones(6, 10, dtype=dtype).T
    dropped = drop(x, 0.5)
    assert dropped.dtype == dtype
    assert dropped.shape == x.shape


def test_modules_are_replaced_and_obey_their_mode():
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Sequential(torch.nn.Dropout(0.5)))
    quicken_dropout(model)
    assert isinstance(model[1][0], QuickDropout)
    x = torch.ones(3, 4)
    assert torch.equal(model.eval()(x), model[0](x))
    model.train()
    assert bool((model(torch.ones(100, 4)) == 0).any())
