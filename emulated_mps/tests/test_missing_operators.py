"""Operators without a kernel, release by release: refused, run on the CPU with the variable, always run there."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

from against_cpu import assert_same
from pippin.machine.operators import Coverage, Fact, releases, table

pytestmark = pytest.mark.emulated_mps

MISSING = re.compile(r"^The operator '(aten::[\w.]+)' is not current")


def zero() -> torch.Tensor:
    return torch.tensor([0], device="mps")


#: Missing in the first release, native in the second; by the name in the error, which is often another overload's.
CAME_WITH: dict[str, tuple[str, str, Callable[[torch.Tensor], Any]]] = {
    "aten::cumsum.out": ("1.13.1", "2.0.0", lambda x: x.cumsum(0)),
    "aten::roll": ("2.0.0", "2.1.0", lambda x: x.roll(1, 0)),
    "aten::isin.Tensor_Tensor_out": ("2.3.0", "2.4.0", lambda x: torch.isin(x, x)),
    "aten::isneginf.out": ("2.5.0", "2.6.0", lambda x: x.isneginf()),
    "aten::native_dropout": ("2.8.0", "2.9.0", lambda x: torch.native_dropout(x, 0.5, True)),
    "aten::_embedding_bag": ("2.9.0", "2.10.0", lambda x: torch._embedding_bag(x, zero(), zero())),
    "aten::linalg_qr.out": ("2.11.0", "2.12.0", lambda x: torch.linalg.qr(x)),
    "aten::_foreach_add.Scalar": ("2.3.0", "2.4.0", lambda x: torch._foreach_add([x], 1.0)),
}  # fmt: skip


def square() -> torch.Tensor:
    return torch.tensor([[2.0, 1.0], [1.0, 2.0]], device="mps")


@pytest.mark.parametrize(
    ("release", "starts", "issue"),
    [
        ("1.12.1", "The operator 'aten::mode' is not current implemented for the MPS device.", "77764"),
        ("1.13.1", "The operator 'aten::mode' is not currently implemented for the MPS device.", "77764"),
        ("2.5.0", "The operator 'aten::mode' is not currently implemented for the MPS device.", "77764"),
        ("2.6.0", "The operator 'aten::mode' is not currently implemented for the MPS device.", "141287"),
        ("2.13.0", "The operator 'aten::mode' is not currently implemented for the MPS device.", "141287"),
    ],
)
def test_the_error_has_the_wording_of_the_release(mps: Any, release: str, starts: str, issue: str) -> None:
    with mps.pretend(release=release), pytest.raises(NotImplementedError) as raised:
        torch.mode(square())
    text = str(raised.value)
    assert text.startswith(starts)
    assert f"https://github.com/pytorch/pytorch/issues/{issue}" in text
    assert "set the environment variable `PYTORCH_ENABLE_MPS_FALLBACK=1`" in text
    assert text.endswith("WARNING: this will be slower than running natively on MPS.")


@pytest.mark.parametrize("name", CAME_WITH)
def test_operators_come_with_their_release(mps: Any, name: str) -> None:
    before, since, call = CAME_WITH[name]
    with mps.pretend(release=before), pytest.raises(NotImplementedError) as raised:
        call(square())
    assert MISSING.match(str(raised.value))[1] == name
    with mps.pretend(release=since), mps.calls() as counted:
        call(square())
    assert counted or "foreach" in name
    assert not mps.fallbacks()


def test_with_the_fallback_they_run_on_the_cpu(mps: Any) -> None:
    x = torch.tensor([[3.0, 1.0, 3.0], [2.0, 2.0, 5.0]])
    with mps.pretend(release="2.13.0", fallback=True), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        values, indices = torch.mode(x.to("mps"))
        torch.mode(x.to("mps"))
        mantissa, _ = torch.frexp(x.to("mps"))
    assert values.device.type == indices.device.type == mantissa.device.type == "mps"
    assert_same((values, indices), tuple(torch.mode(x)))
    assert_same(mantissa, torch.frexp(x).mantissa)
    # Once in a process, and only the first is named.
    (only,) = warned
    assert only.category is UserWarning
    assert "The operator 'aten::mode' is not currently supported on the MPS backend and will fall back" in str(
        only.message
    )
    counted = mps.fallbacks()
    assert counted["aten::mode"].calls == 2
    assert counted["aten::mode"].seconds > 0
    assert len(counted) == 2


def test_gradients_pass_through_a_fallback(mps: Any) -> None:
    with mps.missing("aten::gelu.out", "aten::gelu_backward.grad_input", fallback=True):
        x = torch.linspace(-1, 1, 5, device="mps").requires_grad_()
        with pytest.warns(UserWarning, match="gelu"):
            torch.nn.functional.gelu(x).sum().backward()
    y = torch.linspace(-1, 1, 5).requires_grad_()
    torch.nn.functional.gelu(y).sum().backward()
    assert_same(x.grad, y.grad)
    assert set(mps.fallbacks()) == {"aten::gelu.out", "aten::gelu_backward.grad_input"}


def test_any_operator_can_be_missing_for_a_while(mps: Any) -> None:
    x = torch.ones(2, device="mps")
    with mps.missing("aten::gelu.out"), pytest.raises(NotImplementedError, match="aten::gelu.out"):
        torch.nn.functional.gelu(x)
    torch.nn.functional.gelu(x)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fallback", [False, True])
def test_what_exists_nowhere_raises_with_both(mps: Any, fallback: bool) -> None:
    assert table("2.13.0").coverage("_fused_dropout") is Coverage.NEVER
    with (
        mps.pretend(release="2.13.0", fallback=fallback),
        pytest.raises(NotImplementedError, match="aten::_fused_dropout"),
    ):
        torch._fused_dropout(square(), 0.5)
    assert not mps.fallbacks()


ALWAYS_CPU = {
    "2.13.0": {"embedding_renorm_", "linalg_svd", "linalg_svd.U"},
    "2.14.0": {"embedding_renorm_"},
    "2.4.0": {
        "embedding_renorm_", "linalg_svd", "linalg_svd.U", "im2col", "col2im", "upsample_nearest3d.vec",
        "bitwise_left_shift.Tensor_out", "bitwise_right_shift.Tensor_out",
    },
}  # fmt: skip


@pytest.mark.parametrize("release", ALWAYS_CPU)
def test_some_always_run_on_the_cpu(mps: Any, release: str) -> None:
    listed = {name for name, operator in table(release).operators.items() if Fact.ALWAYS_CPU in operator.facts}
    assert listed == ALWAYS_CPU[release]
    table_of_ten = torch.ones(10, 4, device="mps")
    with warnings.catch_warnings(), mps.pretend(release=release):
        warnings.simplefilter("ignore")
        torch.linalg.svd(square())
        torch.nn.functional.embedding(torch.tensor([1], device="mps"), table_of_ten, max_norm=1.0)
        torch.bitwise_left_shift(torch.tensor([1, 2], device="mps"), torch.tensor([1, 1], device="mps"))
        torch.nn.functional.fold(torch.ones(1, 4, 1, device="mps"), output_size=(2, 2), kernel_size=(2, 2))
    ran = {name.removeprefix("aten::") for name in mps.fallbacks()}
    called = {"embedding_renorm_", "linalg_svd", "bitwise_left_shift.Tensor_out", "col2im"}
    assert ran == ALWAYS_CPU[release] & called
    assert_same(table_of_ten[1].norm(), torch.tensor(1.0))


@pytest.mark.parametrize("release", releases())
def test_every_release_can_be_pretended(mps: Any, release: str) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.LayerNorm(4), torch.nn.Softmax(-1))
    expected = model(torch.ones(2, 4))
    expected.square().sum().backward()
    gradients = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    model.to("mps")
    with mps.pretend(release=release) as pretended:
        assert torch.__version__ == release == pretended.torch
        try:
            found = model(torch.ones(2, 4, device="mps"))
            found.square().sum().backward()
            torch.optim.AdamW(model.parameters(), lr=0).step()
        except NotImplementedError as error:
            name = MISSING.match(str(error))[1]
            assert table(release).coverage(name) is Coverage.FALLBACK
            return
    assert_same(found, expected)
    assert_same([parameter.grad for parameter in model.parameters()], gradients)
