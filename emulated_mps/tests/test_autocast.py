"""Mixed precision: which dtypes autocast takes in which release, what it casts, and the scaling of gradients."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch

pytestmark = pytest.mark.emulated_mps


@pytest.mark.parametrize("enabled", [True, False])
def test_none_before_2_5(mps: Any, enabled: bool) -> None:
    with mps.pretend(release="2.4.0"):
        assert not torch.amp.is_autocast_available("mps")
        with pytest.raises(RuntimeError, match="User specified an unsupported autocast device_type 'mps'"):
            torch.autocast("mps", enabled=enabled)
        torch.autocast("cpu", enabled=enabled)


@pytest.mark.parametrize(
    ("release", "macos", "dtype", "refusal"),
    [
        ("2.5.0", "15.0", torch.float16, ""),
        ("2.5.0", "15.0", torch.bfloat16, "only supports dtype of torch.bfloat16 currently"),
        ("2.6.0", "15.0", torch.float16, ""),
        ("2.6.0", "14.0", torch.bfloat16, ""),
        ("2.6.0", "13.6", torch.bfloat16, "not supported on macOS versions below 14"),
        ("2.13.0", "15.0", torch.bfloat16, ""),
        ("2.13.0", "15.0", torch.float32, "the target dtype is not supported"),
    ],
)
def test_dtypes_by_release(mps: Any, release: str, macos: str, dtype: torch.dtype, refusal: str) -> None:
    x, weight = torch.ones(2, 4, device="mps"), torch.ones(3, 4, device="mps")
    with mps.pretend(release=release, macos=macos), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with torch.autocast("mps", dtype=dtype):
            product = torch.nn.functional.linear(x, weight)
    assert product.dtype is (torch.float32 if refusal else dtype)
    assert len(warned) == bool(refusal)
    assert not refusal or refusal in str(warned[0].message)


def test_the_default_is_float16_and_norms_stay_in_float32() -> None:
    x = torch.ones(2, 4, device="mps")
    with torch.autocast("mps"):
        product = x @ x.T
        assert product.dtype is torch.float16
        assert torch.nn.functional.layer_norm(product, (2,)).dtype is torch.float32
        assert product.softmax(-1).dtype is torch.float32
        assert torch.nn.functional.cross_entropy(product, torch.tensor([0, 1], device="mps")).dtype is torch.float32
        with torch.autocast("mps", enabled=False):
            assert (x @ x.T).dtype is torch.float32


def scaled_step() -> float:
    weight = torch.nn.Parameter(torch.ones(2, device="mps"))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scaler = torch.amp.GradScaler("mps", init_scale=4.0)
    scaler.scale(weight.sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    return weight[0].item()


def test_scaling_of_gradients_came_with_2_8(mps: Any) -> None:
    with (
        mps.pretend(release="2.7.0"),
        pytest.raises(NotImplementedError, match="_amp_foreach_non_finite_check_and_unscale_"),
    ):
        scaled_step()
    with mps.pretend(release="2.8.0"):
        assert scaled_step() == 0.0


def test_a_step_with_infinite_gradients_is_left_out() -> None:
    weight = torch.nn.Parameter(torch.ones(2, device="mps"))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scaler = torch.amp.GradScaler("mps", init_scale=4.0)
    scaler.scale(weight.sum() * float("inf")).backward()
    scaler.step(optimizer)
    scaler.update()
    assert weight.tolist() == [1.0, 1.0]
    assert scaler.get_scale() == 2.0
