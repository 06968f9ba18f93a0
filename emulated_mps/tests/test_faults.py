"""Planted faults: they are seen on the device alone, in the backward pass too, and are gone afterwards."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn.functional import gelu

pytestmark = pytest.mark.emulated_mps


def test_a_wrong_result(mps: Any) -> None:
    ours = torch.ones(3)
    theirs = ours.to("mps")
    right = gelu(ours)
    with mps.wrong("aten::gelu", lambda result: result * 2):
        assert torch.equal(gelu(theirs).cpu(), right * 2)
        assert torch.equal(gelu(ours), right)
    assert torch.equal(gelu(theirs).cpu(), right)


def test_a_wrong_gradient(mps: Any) -> None:
    def gradient() -> torch.Tensor:
        x = torch.ones(3, device="mps", requires_grad=True)
        gelu(x).sum().backward()
        assert x.grad is not None
        return x.grad.cpu()

    right = gradient()
    with mps.wrong("aten::gelu_backward", lambda result: result * 2):
        assert torch.equal(gradient(), right * 2)


def test_a_lost_write(mps: Any) -> None:
    ours, theirs = torch.ones(3), torch.ones(3, device="mps")
    with mps.lost_write("aten::add_.Tensor"):
        assert theirs.add_(1) is theirs
        ours.add_(1)
    assert theirs.tolist() == [1, 1, 1]
    assert ours.tolist() == [2, 2, 2]
