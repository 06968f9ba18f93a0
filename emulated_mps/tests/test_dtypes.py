"""What the device refuses to hold, and what numpy refuses to take from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

pytestmark = pytest.mark.emulated_mps

DOUBLE: dict[str, Callable[[], Any]] = {
    "ones": lambda: torch.ones(2, dtype=torch.float64, device="mps"),
    "empty_strided": lambda: torch.empty_strided((2,), (1,), dtype=torch.float64, device="mps"),
    "tensor": lambda: torch.tensor([1.0], dtype=torch.float64, device="mps"),
    "arange": lambda: torch.arange(3, dtype=torch.float64, device="mps"),
    "from numpy": lambda: torch.from_numpy(np.ones(2)).to("mps"),
    "double()": lambda: torch.ones(2, device="mps").double(),
    "to(float64)": lambda: torch.ones(2, device="mps").to(torch.float64),
    "module": lambda: torch.nn.Linear(2, 2).double().to("mps"),
    "sum(dtype)": lambda: torch.ones(2, device="mps").sum(dtype=torch.float64),
    "complex128": lambda: torch.ones(2, dtype=torch.complex128, device="mps"),
    "to(complex128)": lambda: torch.ones(2, device="mps").to(torch.complex128),
}


@pytest.mark.parametrize("way", DOUBLE)
def test_there_is_no_float64(way: str) -> None:
    with pytest.raises(TypeError, match="the MPS framework doesn't support float64. Please use float32 instead."):
        DOUBLE[way]()


def test_a_float64_number_on_the_cpu_may_take_part() -> None:
    product = torch.ones(2, device="mps") * torch.tensor(2.0, dtype=torch.float64)
    assert product.dtype is torch.float32
    assert product.tolist() == [2.0, 2.0]


def test_float64_is_refused_with_the_fallback_too(mps: Any) -> None:
    with mps.pretend(fallback=True), pytest.raises(TypeError, match="float64"):
        torch.ones(2, device="mps").double()


@pytest.mark.parametrize(
    ("release", "macos", "refusal"),
    [
        ("2.2.0", "14.0", "BFloat16 is not supported on MPS"),
        ("2.3.0", "13.6", "MPS BFloat16 is only supported on MacOS 14 or newer"),
        ("2.3.0", "14.0", None),
        ("2.13.0", "15.0", None),
    ],
)
def test_bfloat16_needs_release_and_system(mps: Any, release: str, macos: str, refusal: str | None) -> None:
    with mps.pretend(release=release, macos=macos):
        if refusal is None:
            assert torch.ones(2, dtype=torch.bfloat16, device="mps").sum().item() == 2
            return
        for make in (
            lambda: torch.ones(2, dtype=torch.bfloat16, device="mps"),
            lambda: torch.ones(2, device="mps").bfloat16(),
        ):
            with pytest.raises(TypeError, match=refusal):
                make()
        torch.ones(2, dtype=torch.float16, device="mps")


def test_numpy_wants_a_copy_on_the_cpu() -> None:
    tensor = torch.ones(2, device="mps")
    for convert in (tensor.numpy, lambda: np.asarray(tensor)):
        with pytest.raises(TypeError, match=r"can't convert mps:0 device type tensor to numpy. Use Tensor.cpu\(\)"):
            convert()
    assert tensor.cpu().numpy().tolist() == [1.0, 1.0]


def test_sixteen_dimensions_are_the_most() -> None:
    assert torch.zeros([1] * 16, device="mps").dim() == 16
    with pytest.raises(RuntimeError, match="MPS supports tensors with dimensions <= 16, but got 17."):
        torch.zeros([1] * 17, device="mps")


def test_sparse_tensors_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="sparse and quantized tensors are not emulated"):
        torch.eye(2, device="mps").to_sparse()
