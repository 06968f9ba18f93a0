"""Every operator that torch's own tests know, on the device and on the CPU: the same results and gradients.

Otherwise an operator is missing, as the table of the release says, or asks for float64.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_leaves

import emulated_mps
from against_cpu import assert_same, assert_same_gradients, backward, moved, tensors
from pippin.machine.operators import Coverage, table

pytestmark = [pytest.mark.emulated_mps, pytest.mark.filterwarnings("ignore")]

SAMPLES = 3
AT_LEAST_EQUAL = 600
DOUBLE = {torch.float64, torch.complex128}

SPARSE = "sparse tensors are not emulated"
LOST_GRADIENT = (
    "operators that always run on the CPU are registered below autograd, as in the real library; what is a composite "
    "on the CPU loses its gradient there. Whether a Mac does the same was not seen."
)
CUDA_ONLY = "asks for CUDA on every device"
#: Each is expected to fail: one that does not any longer is an error too.
EXCEPTIONS = {
    "tensor_split": "wants its indices on the CPU",
    "as_strided_partial_views": "looks outside its tensor, where moving to a device does not copy",
    "linalg_svd": LOST_GRADIENT,
    "svd": LOST_GRADIENT,
    "svd_lowrank": LOST_GRADIENT,
    "pca_lowrank": LOST_GRADIENT,
    "to_sparse": SPARSE,
    "sparse_sampled_addmm": SPARSE,
    "sparse_mm_reduce": SPARSE,
    "jiterator_unary": CUDA_ONLY,
    "jiterator_binary": CUDA_ONLY,
    "jiterator_4inputs_with_extra_args": CUDA_ONLY,
    "jiterator_binary_return_by_ref": CUDA_ONLY,
    "jiterator_2inputs_2outputs": CUDA_ONLY,
}
#: Whatever was in memory: only shapes can be compared.
UNINITIALISED = {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided"}

IN_HALF_PRECISION = """
    abs add addcdiv addcmul addmm any bmm cat chunk clamp cumsum div einsum exp gather index_select log
    masked_fill matmul max mean mm mul native_layer_norm nn.functional.cross_entropy nn.functional.embedding
    nn.functional.gelu nn.functional.layer_norm nn.functional.linear
    nn.functional.mse_loss nn.functional.relu nn.functional.silu pow rsqrt
    scatter sigmoid softmax sqrt stack sub sum tanh transpose where log_softmax norm nn.functional.dropout
    nn.functional.scaled_dot_product_attention
""".split()

_outcomes: Counter[str] = Counter()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if not emulated_mps.is_installed():
        return
    if "operator" in metafunc.fixturenames:
        metafunc.parametrize("operator", [_item(operator) for operator in _operators()])
    if "half_operator" in metafunc.fixturenames:
        named = [operator for operator in _operators() if operator.name in IN_HALF_PRECISION]
        chosen = [operator for operator in named if operator.variant_test_name != "with_dtype"]  # which is float64
        metafunc.parametrize("half_operator", chosen, ids=[operator.formatted_name for operator in chosen])


def _operators() -> list[Any]:
    from torch.testing._internal.common_methods_invocations import op_db

    return [operator for operator in op_db if torch.float32 in operator.supported_dtypes("cpu")]


def _item(operator: Any) -> Any:
    name = operator.formatted_name
    marks = [pytest.mark.xfail(reason=EXCEPTIONS[name], strict=True)] if name in EXCEPTIONS else []
    return pytest.param(operator, marks=marks, id=name)


def test_operator(operator: Any) -> None:
    found = samples(operator, torch.float32, operator.supports_autograd)
    _outcomes[max(compared(operator, sample) for sample in islice(found, SAMPLES))] += 1


def test_most_are_equal() -> None:
    if sum(_outcomes.values()) < len(_operators()) - len(EXCEPTIONS):
        pytest.skip("not all operators were run")
    assert _outcomes["equal"] >= AT_LEAST_EQUAL, _outcomes


def test_the_chosen_operators_exist() -> None:
    assert set(IN_HALF_PRECISION) <= {operator.name for operator in _operators()}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision(half_operator: Any, dtype: torch.dtype) -> None:
    if dtype not in half_operator.supported_dtypes("cpu"):
        pytest.skip("not on the CPU either")
    differentiable = dtype in half_operator.supported_backward_dtypes("cpu")
    for sample in islice(samples(half_operator, dtype, differentiable), 2):
        assert compared(half_operator, sample, rtol=2e-2, atol=2e-2) == "equal"


def samples(operator: Any, dtype: torch.dtype, requires_grad: bool) -> Iterator[Any]:
    """As operator.sample_inputs(), which also looks at the stack for every one, and that takes longer than all else."""
    return iter(operator.sample_inputs_func(operator, "cpu", dtype, requires_grad))


def seed() -> None:
    """As torch.manual_seed(), which also keeps the stack, for devices that are not there."""
    torch.default_generator.manual_seed(0)
    torch.mps.manual_seed(0)


def compared(operator: Any, sample: Any, rtol: float = 1e-4, atol: float = 1e-5) -> str:
    """Run one sample on both devices: equal, missing or needs float64. Random ones draw from equal seeds."""
    # Samples share tensors, and so would share gradients: hence a copy on the CPU too.
    ours = moved((sample.input, sample.args, sample.kwargs), "cpu")
    theirs = moved(ours, "mps")
    seed()
    expected = operator(ours[0], *ours[1], **ours[2])
    seed()
    try:
        found = operator(theirs[0], *theirs[1], **theirs[2])
        assert all(result.device.type == "mps" for result in tensors(found))
        if operator.name in UNINITIALISED:
            assert (found.shape, found.stride(), found.dtype) == (expected.shape, expected.stride(), expected.dtype)
            return "equal"
        assert_same(found, expected, rtol, atol)
        if backward(expected):
            backward(found)
            assert_same_gradients(theirs, ours, rtol, atol)
    except NotImplementedError as error:
        check_missing(str(error))
        return "missing"
    except TypeError as error:
        check_double(str(error), ours, expected)
        return "needs float64"
    return "equal"


def check_missing(message: str) -> None:
    """The table knows that the operator has no kernel."""
    name = re.search(r"The operator '([\w:.]+)' is not currently implemented", message)
    assert name, message
    assert table(torch.__version__).coverage(name[1]) in (Coverage.FALLBACK, Coverage.NEVER), name[1]


def check_double(message: str, arguments: Any, expected: Any) -> None:
    """The sample asks for float64, or its result is of it."""
    assert "doesn't support float64" in message
    asked = {leaf for leaf in tree_leaves(arguments) if isinstance(leaf, torch.dtype)}
    assert DOUBLE & (asked | {result.dtype for result in tensors(expected)})
