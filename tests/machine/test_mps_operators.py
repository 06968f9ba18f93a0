"""The table of what torch's Apple GPU backend can run.

The counts are those of an earlier reading of the same wheels, whose MPS kernels were compared with the binaries.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import pytest

from pippin.errors import PippinError
from pippin.machine import operators as mps_operators
from pippin.machine.operators import (
    COMPOSITE,
    Coverage,
    Fact,
    Operator,
    UnknownOperator,
    first_native,
    installed,
    nearest_release,
    releases,
    table,
)


def coverage(operator: str, release: str) -> Coverage:
    return table(release).coverage(operator)


# release: operators, with an MPS kernel, native by hand, with a CPU kernel, with that alone, always on the CPU
COUNTS = {
    "1.12.1": (2532, 456, 0, 1055, 575, 18),
    "1.13.1": (2952, 469, 12, 1112, 624, 13),
    "2.0.0": (2977, 535, 12, 1144, 593, 10),
    "2.1.0": (3039, 610, 0, 1164, 551, 9),
    "2.2.0": (3066, 644, 0, 1171, 526, 8),
    "2.3.0": (3096, 658, 0, 1178, 519, 8),
    "2.4.0": (3118, 665, 0, 1051, 385, 8),
    "2.5.0": (3130, 686, 0, 1053, 373, 6),
    "2.6.0": (3144, 707, 0, 1053, 355, 5),
    "2.7.0": (3148, 739, 0, 1055, 325, 5),
    "2.8.0": (3164, 813, 0, 1058, 256, 3),
    "2.9.0": (3171, 847, 0, 1060, 224, 3),
    "2.10.0": (3184, 855, 0, 1060, 214, 3),
    "2.11.0": (3194, 867, 0, 1061, 202, 3),
    "2.12.0": (3216, 878, 0, 1067, 197, 3),
    "2.13.0": (3101, 890, 0, 1067, 186, 3),
    "2.14.0": (3103, 912, 0, 1073, 170, 1),
    "2.15.0": (3110, 928, 0, 1074, 157, 1),
}


@pytest.mark.parametrize("release", COUNTS)
def test_counts(release):
    found = table(release)
    facts = {name: operator.facts for name, operator in found.operators.items()}
    mps = {name for name in facts if Fact.MPS in facts[name]}
    cpu = {name for name in facts if Fact.CPU in facts[name]}
    native = {name for name in facts if found.coverage(name) is Coverage.NATIVE}
    always = {name for name in facts if found.coverage(name) is Coverage.ALWAYS_CPU}
    cpu_alone = {name for name in cpu - native - always if not facts[name] & COMPOSITE}
    listed = [name for name in facts if Fact.ALWAYS_CPU in facts[name]]
    assert found.release == release
    assert mps <= native
    assert (len(facts), len(mps), len(native - mps), len(cpu), len(cpu_alone), len(listed)) == COUNTS[release]


@pytest.mark.parametrize("release", COUNTS)
def test_the_fallback_serves_what_the_cpu_alone_has(release):
    found = table(release)
    fallback = {name for name in found.operators if found.coverage(name) is Coverage.FALLBACK}
    expected = COUNTS[release][4]
    if release == "1.12.1":  # composite kernels that its generator passes over
        assert {"mish", "mish_", "hypot_", "nextafter_", "special_zeta"} <= fallback
        assert len(fallback) == expected + 5
    else:
        assert found.coverage("_slow_conv2d_forward") is Coverage.NEVER
        assert len(fallback) == expected - 1


FIRST_NATIVE = """
    index.Tensor 1.13.0, bitwise_and.Tensor 1.13.0, bitwise_not 1.13.0, linear 1.13.0, linear_backward 1.13.0,
    cumsum 2.0.0, sort.stable 2.0.0, nonzero 2.0.0, _unique2 2.0.0,
    lerp_.Scalar 2.1.0, linalg_vector_norm 2.1.0, roll 2.1.0, isin.Tensor_Tensor 2.4.0,
    _fused_adam_ 2.5.0, _fused_adamw_ 2.5.0, _fused_sgd_ 2.5.0, _scaled_dot_product_attention_math_for_mps 2.5.0,
    isneginf 2.6.0, unfold_backward 2.6.0, _amp_foreach_non_finite_check_and_unscale_ 2.8.0, _amp_update_scale_ 2.8.0,
    _fused_rms_norm 2.8.0, native_dropout 2.9.0, _embedding_bag 2.10.0, linalg_qr 2.12.0, _linalg_svd 2.14.0,
    _grouped_mm 2.15.0, add.Tensor 1.12.0
"""


@pytest.mark.parametrize(("operator", "release"), [entry.split() for entry in FIRST_NATIVE.split(",")])
def test_first_native(operator, release):
    assert first_native(operator) == release
    assert first_native(f"aten::{operator}") == release


@pytest.mark.parametrize(
    "operator",
    ["_fused_adagrad_", "_scaled_dot_product_flash_attention", "_scaled_dot_product_efficient_attention", "all.dims"],
)
def test_never_native(operator):
    assert first_native(operator) is None


def test_a_kernel_that_was_dropped_is_not_promised():
    assert first_native("put_") == "1.12.0"
    assert coverage("put_", "2.0.0") is Coverage.FALLBACK
    assert first_native("put_", since="2.0.0") == "2.15.0"
    assert first_native("put_", since="2.15.0") == "2.15.0"
    assert coverage("linalg_lu_factor", "2.9.0") is Coverage.NATIVE
    assert coverage("linalg_lu_factor", "2.10.0") is Coverage.COMPOSITE
    assert first_native("linalg_lu_factor", since="2.10.1") is None


STATUSES = """
    1.12.0 index.Tensor fallback, 1.12.0 bitwise_and.Tensor always_cpu, 1.12.0 linear composite,
    1.12.1 masked_select always_cpu, 1.13.0 bitwise_and.Tensor native, 1.13.1 cumsum fallback,
    2.0.0 sgn always_cpu, 2.0.0 linalg_vector_norm always_cpu, 2.0.0 linalg_vector_norm.out fallback,
    2.0.0 lerp_.Scalar fallback, 2.4.0 _fused_adamw_ fallback, 2.4.0 _foreach_add.List composite,
    2.5.0 isneginf fallback, 2.5.0 im2col always_cpu, 2.6.0 im2col native, 2.8.0 native_dropout fallback,
    2.13.0 linear native, 2.13.0 bmm native, 2.13.0 linalg_svd always_cpu, 2.13.0 embedding_renorm_ always_cpu,
    2.13.0 kthvalue composite, 2.13.0 all.dims composite, 2.13.0 mode fallback, 2.13.0 _cudnn_rnn never,
    2.14.0 linalg_svd composite, 2.15.0 embedding_renorm_ always_cpu, 2.15.0 _fused_adagrad_ fallback,
    2.15.0 _scaled_dot_product_flash_attention never
"""


@pytest.mark.parametrize(("release", "operator", "status"), [entry.split() for entry in STATUSES.split(",")])
def test_statuses(release, operator, status):
    assert coverage(operator, release).value == status
    assert coverage(f"aten::{operator}", release).value == status


def test_the_overload_that_torch_names():
    def asked(operator: str, release: str = releases()[-1]) -> str:
        return table(release)._worker(operator)

    assert asked("isneginf", "2.5.0") == "isneginf.out"
    assert asked("aten::lerp_.Scalar", "2.0.0") == "lerp.Scalar_out"
    assert asked("_linalg_svd") == "_linalg_svd.U"
    assert asked("mode") == "mode"
    assert asked("sgn", "2.0.0") == "sgn.out"
    # Registered by itself with the fallback, before torch gets to its delegate.
    assert asked("linalg_vector_norm", "2.0.0") == "linalg_vector_norm"
    assert asked("linalg_vector_norm", "2.1.0") == "linalg_vector_norm.out"


def test_releases_are_in_order():
    numbers = [tuple(map(int, release.split("."))) for release in releases()]
    assert numbers == sorted(set(numbers))
    assert set(COUNTS) | {"1.12.0", "1.13.0"} <= set(releases())


def test_releases_between_are_judged_by_the_older():
    assert nearest_release("2.4.1") == ("2.4.0", "")
    assert nearest_release("2.13.0+cpu") == ("2.13.0", "")
    assert nearest_release("1.12.1") == ("1.12.1", "")
    assert coverage("_fused_adamw_", "2.4.1") is Coverage.FALLBACK
    assert coverage("_fused_adamw_", "2.5.1+cu121") is Coverage.NATIVE


def test_newer_releases_are_judged_by_the_newest_and_it_is_said():
    found = nearest_release("99.0.0")
    assert found[0] == releases()[-1]
    assert "99.0.0 is newer" in found[1]
    assert f"judged as {releases()[-1]}" in found[1]
    assert nearest_release(f"{releases()[-1]}.post1")[1] == ""
    assert coverage("bmm", "99.0.0") is Coverage.NATIVE


def test_releases_without_the_backend():
    with pytest.raises(PippinError, match=r"torch 1\.11\.0 cannot use the Apple GPU; that came with 1\.12\.0"):
        coverage("bmm", "1.11.0")
    with pytest.raises(PippinError, match="'nightly' is not a torch release"):
        coverage("bmm", "nightly")


@pytest.mark.parametrize(
    ("operator", "message"),
    [
        ("aten::cumsun", r"torch 2\.13\.0 has no operator aten::cumsun\. Did you mean aten::cumsum\?"),
        ("add", r"Its overloads are add\.Scalar, add\.Scalar_out, add\.Tensor, add\.out\."),
        ("_thnn_fused_lstm_cel", "Did you mean aten::_thnn_fused_lstm_cell"),
        ("torchvision::nms", "torchvision::nms is not one of torch's own operators"),
    ],
)
def test_unknown_operator(operator, message):
    with pytest.raises(UnknownOperator, match=message):
        coverage(operator, "2.13.0")
    with pytest.raises(UnknownOperator):
        first_native(operator)


def test_operator_of_other_releases():
    with pytest.raises(
        UnknownOperator, match=r"torch 2\.15\.0 has no operator .* It is in the releases 1\.12\.0, .*, 2\.13\.0\."
    ):
        coverage("cholesky", "2.15.0")
    assert first_native("cholesky") == "2.7.0"


def test_every_delegate_is_in_the_table():
    for release in releases():
        operators = table(release).operators
        for operator in operators.values():
            assert not operator.delegate or Fact.STRUCTURED in operators[operator.delegate].facts


def test_composite_kernels_beside_a_delegate_need_no_rule_of_their_own():
    for release in releases()[2:]:  # 1.13 and newer
        operators = table(release).operators
        for name, operator in operators.items():
            if operator.delegate and operator.facts & COMPOSITE:
                assert operators[operator.delegate].facts & (COMPOSITE | {Fact.MPS}), (release, name)


@pytest.mark.parametrize("text", [".", "mc", "mc>add.out", "csA", "cR", ">x.out"])
def test_operator_round_trip(text):
    assert str(Operator.parse(text)) == text


def test_other_formats_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "table.txt"
    path.write_text("format 99\nreleases 2.0.0\n")
    monkeypatch.setattr(mps_operators, "DATA", path)
    with pytest.raises(ValueError, match="format 99"):
        mps_operators._data.__wrapped__()


def test_installed_torch_says_the_same():
    release = version("torch").partition("+")[0]
    if release not in releases():
        pytest.skip(f"torch {release} has no row of its own")
    assert installed() == table(release)


def test_installed_torch_is_read_live(monkeypatch):
    monkeypatch.setattr(
        mps_operators, "read_torchgen", lambda: iter([("new", Operator.parse("m")), ("mode", Operator.parse("c"))])
    )
    found = installed.__wrapped__()
    assert found.release == version("torch").partition("+")[0]
    assert set(found.operators) == {"new", "mode"}
    assert found.coverage("new") is Coverage.NATIVE


def test_no_torch_is_imported():
    code = (
        "import sys; from pippin.machine.operators import table; table('2.13.0').coverage('bmm');"
        "sys.exit('torch' in sys.modules or 'torchgen' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
