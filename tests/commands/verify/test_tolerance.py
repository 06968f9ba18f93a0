"""What is allowed follows from the dtype and the model: rounding on paper rounds as the dtype does."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from pippin.commands.verify.tolerance import allowed_error, allowed_errors, epsilon, rounding


def test_a_wider_model_may_differ_more():
    narrow, wide = (allowed_error(torch.nn.Linear(width, 2)) for width in (16, 64))
    assert wide == 2 * narrow
    assert 1e-6 < narrow < 1e-5


def test_in_fp32_a_tensor_that_rounding_hits_harder_may_be_farther_off():
    unit = epsilon("fp16")
    allowed = allowed_errors(1e-5, "fp32", {"well": unit / 2, "ill": 10 * unit, "nothing but rounding": float("inf")})
    assert allowed["well"] == 1e-5
    assert allowed["ill"] == pytest.approx(1e-4)
    assert allowed["nothing but rounding"] == pytest.approx(1e-5 / unit)


def test_in_half_precision_a_tensor_that_is_right_by_luck_may_be_as_far_off_as_others():
    allowed = allowed_errors(0.0, "bf16", {"lucky": 0.0, "usual": 0.01, "rough": 0.02})
    assert allowed["lucky"] == allowed["usual"] == pytest.approx(0.04 + epsilon("bf16"))
    assert allowed["rough"] == pytest.approx(0.08 + epsilon("bf16"))


def test_what_is_not_finite_is_never_allowed():
    assert allowed_errors(0.0, "bf16", {"a": float("inf")})["a"] < 5


@pytest.mark.parametrize(("precision", "dtype"), [("bf16", torch.bfloat16), ("fp16", torch.float16)])
def test_products_are_of_rounded_numbers_and_rounded(precision, dtype):
    torch.manual_seed(0)
    x, weight = torch.randn(8, 16), torch.randn(16, 4)
    with rounding(precision):
        found = x @ weight
    assert torch.equal(found, (x.to(dtype).float() @ weight.to(dtype).float()).to(dtype).float())


def test_tf32_does_not_round_the_result():
    torch.manual_seed(0)
    x, weight = torch.randn(8, 16), torch.randn(16, 4)
    with rounding("tf32"):
        found = x @ weight
    assert torch.equal(found, x.half().float() @ weight.half().float())


def test_gradients_of_biases_are_sums_of_rounded_numbers():
    layer = torch.nn.Linear(4, 1)
    with rounding("bf16"):
        layer(torch.ones(3, 4)).mul(torch.tensor([[1.001], [1.001], [-2.0]])).sum().backward()
    assert layer.bias.grad.item() == 0


def test_products_of_the_backward_pass_are_rounded():
    torch.manual_seed(0)
    x, weight = torch.randn(8, 16), torch.randn(16, 4, requires_grad=True)
    with rounding("bf16"):
        (x @ weight).sum().backward()
    assert torch.equal(weight.grad, weight.grad.bfloat16().float())


@pytest.mark.parametrize("with_gradient", [False, True])
def test_attention_is_rounded(with_gradient):
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, 2, 8, 16, requires_grad=with_gradient) for _ in range(3))
    with rounding("bf16"):
        found = scaled_dot_product_attention(query, key, value)
    assert torch.equal(found, found.bfloat16().float())
    torch.testing.assert_close(found, scaled_dot_product_attention(query, key, value), rtol=0.02, atol=0.02)
    if with_gradient:
        found.sum().backward()
