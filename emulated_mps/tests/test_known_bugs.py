"""Wrong results that real releases give without a word; which ones do stands in Pippin's table, with the evidence."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn.functional import layer_norm, linear, scaled_dot_product_attention

from against_cpu import moved

pytestmark = pytest.mark.emulated_mps


def layer_norm_is_right(frozen_input: bool) -> bool:
    torch.manual_seed(0)
    ours = [torch.randn(4, 8, requires_grad=not frozen_input), torch.ones(8, requires_grad=True)]
    theirs = moved(ours, "mps")
    for x, weight in (ours, theirs):
        layer_norm(x, (8,), weight).square().sum().backward()
    return torch.allclose(theirs[1].grad.cpu(), ours[1].grad, atol=1e-5)


@pytest.mark.parametrize(
    ("release", "known_bugs", "right"), [("2.12.0", True, False), ("2.12.0", False, True), ("2.13.0", True, True)]
)
def test_layer_norm_above_frozen_layers(mps: Any, release: str, known_bugs: bool, right: bool) -> None:
    with mps.pretend(release=release, known_bugs=known_bugs):
        assert layer_norm_is_right(frozen_input=True) is right
        assert layer_norm_is_right(frozen_input=False)


def linear_is_right(rows: int, width: int = 16) -> bool:
    torch.manual_seed(0)
    ours = [torch.randn(rows, width), torch.randn(16, width, requires_grad=True)]
    theirs = moved(ours, "mps")
    for x, weight in (ours, theirs):
        linear(x, weight).sum().backward()
    return torch.allclose(theirs[1].grad.cpu(), ours[1].grad, rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize(
    ("release", "chip", "known_bugs", "wrong"),
    [
        ("2.12.0", "Apple M1", True, (32767, 32768, 32769)),
        ("2.13.0", "Apple M2 Pro", True, (32767, 32768, 32769)),
        ("2.13.0", "Apple M3", True, ()),
        ("2.13.0", "Apple M1", False, ()),
        ("2.14.0", "Apple M1", True, (32767, 32768)),
        ("2.15.0", "Apple M2", True, (32767, 32768)),
        ("2.15.0", "Apple M4", True, ()),
    ],
)
def test_linear_over_many_rows(mps: Any, release: str, chip: str, known_bugs: bool, wrong: tuple[int, ...]) -> None:
    with mps.pretend(release=release, chip=chip, known_bugs=known_bugs):
        assert tuple(rows for rows in (32766, 32767, 32768, 32769) if not linear_is_right(rows)) == wrong
        assert linear_is_right(32768, width=15), "small products take another way"


VECTORS, MATRICES = [(3, 1, 4), (1, 4), (4,), (2, 3, 1, 4)], [(3, 2, 4), (2, 4)]


@pytest.mark.parametrize(
    ("release", "chip", "macos", "known_bugs", "loses"),
    [
        ("2.13.0", "Apple M1 Max", "26.4", True, True),
        ("2.13.0", "Apple M1", "15.5", True, False),
        ("2.13.0", "Apple M1", "27.0", True, False),
        ("2.13.0", "Apple M2", "26.4", True, False),
        ("2.13.0", "Apple M1", "26.4", False, False),
        ("2.14.0", "Apple M1", "26.4", True, False),
    ],
)
def test_bias_over_a_single_token(mps: Any, release: str, chip: str, macos: str, known_bugs: bool, loses: bool) -> None:
    torch.manual_seed(0)
    layer = torch.nn.Linear(4, 5)
    theirs = torch.nn.Linear(4, 5)
    theirs.load_state_dict(layer.state_dict())
    theirs.to("mps")
    with mps.pretend(release=release, chip=chip, macos=macos, known_bugs=known_bugs), torch.no_grad():
        for shape in [*VECTORS, *MATRICES]:
            x = torch.randn(shape)
            found, right = theirs(x.to("mps")).cpu(), layer(x)
            lost = loses and shape in VECTORS
            assert torch.allclose(found, right - layer.bias if lost else right, atol=1e-5), shape


def gives_nan(queries: int, width: int = 64) -> bool:
    """Whether a query that sees nothing does, without gradients."""
    torch.manual_seed(0)
    q = torch.randn(1, 1, queries, width, device="mps")
    mask = torch.ones(queries, queries, dtype=torch.bool, device="mps")
    mask[0] = False
    found = scaled_dot_product_attention(q, q, q, attn_mask=mask).cpu()
    assert not found[..., 1:, :].isnan().any()
    assert found.isnan().any() or (found[..., 0, :] == 0).all()
    return bool(found.isnan().any())


@pytest.mark.parametrize(
    ("release", "known_bugs", "many", "few"),
    [
        ("2.8.0", True, True, True),
        ("2.8.0", False, False, False),
        ("2.9.0", True, False, False),
        ("2.12.0", True, False, False),
        ("2.13.0", True, False, True),
        ("2.15.0", True, False, True),
    ],
)
def test_queries_that_see_nothing(mps: Any, release: str, known_bugs: bool, many: bool, few: bool) -> None:
    with mps.pretend(release=release, known_bugs=known_bugs):
        assert gives_nan(9) is many
        assert gives_nan(8) is few
        assert gives_nan(8, width=32) is many, "heads of this width take the long way"


def short_attention_is_right(keys: int, transposed: bool, masked: bool = False) -> bool:
    torch.manual_seed(0)
    q = torch.randn(2, 4, 3, 64).transpose(1, 2) if transposed else torch.randn(2, 3, 4, 64)
    k, v = torch.randn(2, 2, 3, keys, 64)
    mask = torch.ones(4, keys, dtype=torch.bool) if masked else None
    theirs = scaled_dot_product_attention(*moved((q, k, v), "mps"), attn_mask=moved(mask, "mps"))
    return torch.allclose(theirs.cpu(), scaled_dot_product_attention(q, k, v, attn_mask=mask), atol=1e-5)


@pytest.mark.parametrize(
    ("release", "transposed_right", "long_right"),
    [("2.7.0", True, True), ("2.8.0", False, False), ("2.10.0", True, False), ("2.11.0", True, True)],
)
def test_attention_of_few_queries(mps: Any, release: str, transposed_right: bool, long_right: bool) -> None:
    with mps.pretend(release=release):
        assert short_attention_is_right(keys=16, transposed=True) is transposed_right
        assert short_attention_is_right(keys=1024, transposed=False) is long_right
        assert short_attention_is_right(keys=1023, transposed=False)
        assert short_attention_is_right(keys=1024, transposed=True, masked=True)


def sees_the_future(dtype: torch.dtype, training: bool) -> bool:
    """Whether changing the last token changes what comes before it."""
    torch.manual_seed(0)
    x = torch.randn(1, 1, 6, 8, device="mps", dtype=dtype).requires_grad_(training)
    changed = x.detach().clone()
    changed[..., -1, :] += 1
    outputs = [
        scaled_dot_product_attention(each, each, each, is_causal=True)[..., :-1, :]
        for each in (x, changed.requires_grad_(training))
    ]
    return not torch.equal(*outputs)


@pytest.mark.parametrize(
    ("release", "dtype", "known_bugs", "leaks"),
    [
        ("2.13.0", torch.float16, True, True),
        ("2.13.0", torch.bfloat16, True, True),
        ("2.13.0", torch.float32, True, False),
        ("2.13.0", torch.float16, False, False),
        ("2.15.0", torch.float16, True, True),
    ],
)
def test_causal_attention_in_half_precision(
    mps: Any, release: str, dtype: torch.dtype, known_bugs: bool, leaks: bool
) -> None:
    with mps.pretend(release=release, known_bugs=known_bugs):
        assert sees_the_future(dtype, training=False) is leaks
        assert not sees_the_future(dtype, training=True)
