"""Random numbers of the device's own."""

from __future__ import annotations

import pytest
import torch
from torch.utils.checkpoint import checkpoint

pytestmark = pytest.mark.emulated_mps


def draw() -> list[float]:
    return torch.rand(4, device="mps").tolist()


def test_draws_on_one_device_do_not_move_the_other() -> None:
    torch.manual_seed(1)
    here, there = torch.rand(4).tolist(), draw()
    torch.manual_seed(1)
    torch.rand(100)
    torch.nn.functional.dropout(torch.ones(100))
    assert draw() == there
    torch.manual_seed(1)
    draw()
    torch.nn.functional.dropout(torch.ones(100, device="mps"))
    torch.native_dropout(torch.ones(100, device="mps"), 0.5, True)  # takes no generator
    torch.randperm(100, device="mps")
    assert torch.rand(4).tolist() == here


def test_seeds() -> None:
    torch.mps.manual_seed(7)
    first = draw()
    assert draw() != first
    torch.mps.manual_seed(7)
    assert draw() == first
    torch.manual_seed(7)
    assert draw() == first
    before = torch.rand(1)
    torch.mps.manual_seed(8)
    torch.manual_seed(7)
    assert torch.rand(1) == before
    torch.mps.seed()
    assert draw() != first


def test_the_state_can_be_kept() -> None:
    state = torch.mps.get_rng_state()
    first = draw()
    torch.mps.set_rng_state(state)
    assert draw() == first


def test_generators() -> None:
    generator = torch.Generator("mps").manual_seed(3)
    assert generator.device.type == "mps"
    assert generator.initial_seed() == 3
    before = torch.mps.get_rng_state()
    first = torch.rand(3, device="mps", generator=generator)
    assert torch.equal(torch.mps.get_rng_state(), before)
    state = generator.get_state()
    second = torch.randn(3, device="mps", generator=generator)
    generator.set_state(state)
    assert torch.equal(torch.randn(3, device="mps", generator=generator), second)
    assert torch.equal(torch.rand(3, device="mps", generator=torch.Generator("mps").manual_seed(3)), first)


def test_dropout_repeats() -> None:
    x = torch.ones(64, device="mps")
    torch.mps.manual_seed(0)
    first = torch.nn.functional.dropout(x, 0.5)
    assert not torch.equal(torch.nn.functional.dropout(x, 0.5), first)
    torch.mps.manual_seed(0)
    assert torch.equal(torch.nn.functional.dropout(x, 0.5), first)
    assert set(first.tolist()) == {0.0, 2.0}


def gradient_and_output(device: str) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    x = torch.ones(256, device=device, requires_grad=True)
    output = checkpoint(lambda value: torch.nn.functional.dropout(value, 0.5), x, use_reentrant=False)
    output.sum().backward()
    return x.grad, output


def test_checkpointing_with_dropout_is_wrong() -> None:
    """As on the real device: torch.utils.checkpoint keeps the random state only of devices whose module says that it
    is initialised, which torch.mps does not have; so that the second pass drops others (pytorch #127676)."""
    gradient, output = gradient_and_output("cpu")
    assert torch.equal(gradient, output)
    gradient, output = gradient_and_output("mps")
    assert not torch.equal(gradient, output)
