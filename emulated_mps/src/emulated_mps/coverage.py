"""What the device does with each operator in a torch release, from Pippin's table of the macOS wheels."""

from __future__ import annotations

from dataclasses import dataclass

from pippin.machine.operators import COMPOSITE, Coverage, Fact, table

#: By the numbers in native/state.h. Composites that arrive at the device after all run there.
_NUMBERS = {
    Coverage.NATIVE: 0,
    Coverage.COMPOSITE: 0,
    Coverage.FALLBACK: 1,
    Coverage.ALWAYS_CPU: 2,
    Coverage.NEVER: 3,
}
#: Kernels that are not the CPU's: see native/kernels.h.
_WRITTEN_BY_HAND = {"scaled_dot_product_attention", "native_layer_norm_backward", "_efficientzerotensor"}
#: The choice between this and its parts, which have a gradient, is compiled for Macs only: always its parts here.
_ALWAYS_IN_PARTS = {"_fused_rms_norm"}


@dataclass(frozen=True)
class Operators:
    coverage: dict[str, int]
    """By full name: aten::add.Tensor."""
    own_kernels: tuple[str, ...]
    """Operators that torch would take apart or lead elsewhere, and that arrive at the device by their name."""


def operators(release: str, installed: str, missing: frozenset[str] = frozenset()) -> Operators:
    """The operators of the installed torch, as they behave in a release; those that it did not know, as installed.

    ``missing`` are to be missing whatever the release has, together with those that torch leads to them.
    """
    here, there = table(installed), table(release)
    coverage, own = {}, []
    for name, operator in here.operators.items():
        judge = there if name in there.operators else here
        gone = f"aten::{name}" in missing or f"aten::{operator.delegate}" in missing
        found = Coverage.FALLBACK if gone else judge.coverage(name)
        coverage[f"aten::{name}"] = _NUMBERS[found]
        has_kernel = operator.facts & COMPOSITE and found in (Coverage.NATIVE, Coverage.ALWAYS_CPU)
        # Operators that became composites since, such as _foreach_add in 2.4, have to arrive to be refused.
        is_missing = Fact.EXPLICIT in operator.facts and found is Coverage.FALLBACK
        # torch would lead these to their `.out` overload, which says other things about resizing than a Mac's kernel.
        is_structured = bool(operator.delegate) and found is Coverage.NATIVE
        if (has_kernel or is_missing or is_structured) and name not in _WRITTEN_BY_HAND | _ALWAYS_IN_PARTS:
            own.append(name)
    return Operators(coverage, tuple(own))
