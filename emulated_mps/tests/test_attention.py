"""Attention takes one way with gradients or dropout and another without: what is trained is not what is evaluated."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from against_cpu import assert_same, assert_same_gradients, backward, moved

pytestmark = pytest.mark.emulated_mps

TRAINING, EVALUATION = "attention: composite, for training", "attention: fused, for evaluation"

CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "causal": {"is_causal": True},
    "scaled": {"scale": 0.3},
    "mask of booleans": {"attn_mask": torch.ones(5, 5, dtype=torch.bool).tril()},
    "mask of numbers": {"attn_mask": torch.linspace(-2, 2, 25).reshape(5, 5)},
    "padding": {"attn_mask": torch.tensor([True, True, True, False, False]).expand(2, 1, 5, 5)},
}


def heads(requires_grad: bool = False, key_heads: int = 4) -> list[torch.Tensor]:
    torch.manual_seed(0)
    shapes = [(2, 4, 5, 8), (2, key_heads, 5, 8), (2, key_heads, 5, 8)]
    return [torch.randn(shape, requires_grad=requires_grad) for shape in shapes]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("training", [False, True])
def test_both_ways_equal_the_cpu(mps: Any, case: str, training: bool) -> None:
    ours = heads(training)
    theirs, keywords = moved(ours, "mps"), CASES[case]
    expected = scaled_dot_product_attention(*ours, **keywords)
    with mps.calls() as counted:
        found = scaled_dot_product_attention(*theirs, **moved(keywords, "mps"))
        backward(found)
    assert (counted[TRAINING], counted[EVALUATION]) == ((1, 0) if training else (0, 1))
    assert_same(found, expected, rtol=1e-5, atol=1e-5)
    backward(expected)
    assert_same_gradients(theirs, ours, rtol=1e-5, atol=1e-5)


def test_dropout_takes_the_way_of_training(mps: Any) -> None:
    with mps.calls() as counted:
        scaled_dot_product_attention(*moved(heads(), "mps"), dropout_p=0.5)
    assert counted[TRAINING] == 1


def test_no_grad_takes_the_way_of_evaluation(mps: Any) -> None:
    for without in (torch.no_grad, torch.inference_mode):
        with mps.calls() as counted, without():
            scaled_dot_product_attention(*moved(heads(requires_grad=True), "mps"))
        assert counted[EVALUATION] == 1


@pytest.mark.parametrize(("release", "way"), [("2.4.0", TRAINING), ("2.5.0", EVALUATION)])
def test_the_fused_kernel_came_with_2_5(mps: Any, release: str, way: str) -> None:
    ours = heads()
    for keywords in CASES.values():
        with mps.pretend(release=release), mps.calls() as counted:
            found = scaled_dot_product_attention(*moved(ours, "mps"), **moved(keywords, "mps"))
        assert counted[way] == 1
        assert_same(found, scaled_dot_product_attention(*ours, **keywords), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("training", [False, True])
def test_fewer_heads_for_keys(training: bool) -> None:
    ours = heads(training, key_heads=2)
    found = scaled_dot_product_attention(*moved(ours, "mps"), enable_gqa=True)
    assert_same(found, scaled_dot_product_attention(*ours, enable_gqa=True), rtol=1e-5, atol=1e-5)


def test_a_mask_and_causal_together_are_refused() -> None:
    with pytest.raises(RuntimeError, match="Explicit attn_mask should not be set when is_causal=True"):
        scaled_dot_product_attention(
            *moved(heads(), "mps"), attn_mask=torch.ones(5, 5, dtype=torch.bool, device="mps"), is_causal=True
        )
