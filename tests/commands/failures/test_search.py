"""Finding the failing operator by doing the work again."""

from __future__ import annotations

import pytest
import torch

from pippin.commands.failures import search
from pippin.commands.failures.call import describe
from pippin.commands.failures.search import Findings, investigate
from pippin.engine.repeatable import repeatable, work_of
from pippin.machine.drivers import get_backend


def failure(work, *arguments) -> Exception:
    """What the work raises, as the training loop would let it out."""
    with pytest.raises(Exception) as caught, repeatable(work, *arguments):  # noqa: PT011, PT012
        work(*arguments)
    return caught.value


def found(work, *arguments) -> Findings:
    return investigate(failure(work, *arguments), get_backend("cpu"))


def test_operator_of_the_forward_pass():
    findings = found(lambda: torch.randn(8, 4) @ torch.randn(6, 3))
    assert findings.call.operator == "aten::mm"
    assert findings.reproduced
    assert not findings.works_on_cpu


@pytest.mark.parametrize("in_inference", [True, False])
def test_operator_of_a_layer(in_inference):
    def work() -> None:
        with torch.inference_mode(in_inference):
            torch.nn.Linear(4, 3)(torch.randn(2, 5))

    findings = found(work)
    assert findings.call.operator in ("aten::linear", "aten::addmm")
    assert findings.reproduced


def test_operator_of_the_backward_pass():
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            return gradient @ torch.ones(7, 7)

    findings = found(lambda: Wrong.apply(torch.randn(3, 4, requires_grad=True)).sum().backward())
    assert findings.call.operator == "aten::mm"
    assert [tensor.strides for tensor in findings.call.tensors][0] == (0, 0), "as it came: an expanded gradient"


def test_what_is_not_an_operators():
    once = [RuntimeError("only once")]
    assert "passed when it was repeated" in found(lambda: _raise(once.pop()) if once else None).no_call
    assert "not raised by an operator" in found(lambda: {}["missing"]).no_call
    errors = [ValueError("a"), KeyError("b")]
    error = failure(lambda: _raise(errors.pop()))
    assert "another error (ValueError)" in investigate(error, get_backend("cpu")).no_call
    assert "did not happen in the model's work" in investigate(RuntimeError("x"), get_backend("cpu")).no_call


def test_an_error_that_the_work_caught_itself_is_not_blamed():
    def work() -> None:
        try:
            torch.randn(2, 3) @ torch.randn(2, 3)
        except RuntimeError:
            raise RuntimeError("mat1 and mat2 are my own words") from None

    assert "not raised by an operator" in found(work).no_call


def test_search_never_raises(monkeypatch):
    error = failure(lambda: torch.randn(2, 3) @ torch.randn(2, 3))
    monkeypatch.setattr(search, "smallest_call", lambda call, error: _raise(ZeroDivisionError()))
    assert "failed itself (ZeroDivisionError)" in investigate(error, get_backend("cpu")).no_call


def test_dead_device_is_not_asked_again(monkeypatch):
    calls = []
    error = failure(lambda: calls.append(1) or torch.randn(2, 3) @ torch.randn(2, 3))
    backend = get_backend("cpu")
    monkeypatch.setattr(type(backend), "device", property(lambda self: _raise(RuntimeError("lost"))))
    assert "no longer answers" in investigate(error, backend).no_call
    assert len(calls) == 1


def test_innermost_work_is_repeated():
    error = RuntimeError("x")
    with pytest.raises(RuntimeError), repeatable(max, 1, 2), repeatable(min, 1, 2):
        raise error
    assert work_of(error)() == 1


def test_torch_is_to_blame_only_for_its_own_kernel_of_a_device():
    """The meta device stands in for one whose kernel is missing: the CPU has it."""
    on_meta = torch.ones(4, 6, device="meta")
    findings = found(lambda: torch.nonzero(on_meta))
    assert findings.call.operator == "aten::nonzero"
    assert (findings.reproduced, findings.works_on_cpu, findings.is_torchs) == (True, True, True)
    assert [tensor.shape for tensor in findings.call.tensors] == [(1, 1)]

    def blamed(operator, *arguments, error: Exception) -> bool:
        return Findings(describe(operator, arguments, {}, error), reproduced=True, works_on_cpu=True).is_torchs

    add, ones = torch.ops.aten.add.Tensor, torch.ones(2)
    assert blamed(add, ones, ones, error=RuntimeError("kernel"))
    assert not blamed(add, ones, ones, error=TypeError("no float64 here"))
    assert not blamed(add, ones, torch.ones(2, device="meta"), error=RuntimeError("two devices"))
    assert blamed(
        add, torch.ones(2, device="meta"), torch.tensor(1.0), error=RuntimeError("a number may be on the CPU")
    )


def _raise(error: Exception) -> None:
    raise error
