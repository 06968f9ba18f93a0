"""The Apple GPU, by its documented rules. Not measured by us on a Mac."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import torch

from pippin.errors import PippinError
from pippin.machine.check import release
from pippin.machine.drivers import mps_guards
from pippin.machine.drivers.base import Backend, CheckpointContexts
from pippin.machine.drivers.mps_memory import HIGH, LOW, NO_LIMIT, MemoryWatch, has_no_limit, watermark_problem
from pippin.machine.fallbacks import Fallbacks
from pippin.machine.faults import FLAT_LINEARS, LOST_BIAS, LSTM_DROPOUT, NORM_GRADIENTS, MacFacts, precision_problems
from pippin.machine.operators import Coverage, first_native, operators_of
from pippin.machine.releases import macos_floor
from pippin.machine.system import battery_watts, chip_name, macos_release
from pippin.machine.traits import MPS, TRAITS, DeviceTraits, apple_gpu

#: torch's own words, in all releases.
_MISSING_OPERATOR = re.compile(r"operator '([\w:.]+)' is not current")


class MpsBackend(Backend):
    kind = MPS
    traits = TRAITS[MPS]

    def __init__(self, index: int | None = None):
        super().__init__(index)
        self._watch: MemoryWatch | None = None

    def devices(self) -> list[DeviceTraits]:
        if not (torch.backends.mps.is_built() and torch.backends.mps.is_available()):
            return []
        return [apple_gpu(facts(), self.memory_budget())]

    def is_built(self) -> bool:
        return torch.backends.mps.is_built()

    def why_missing(self) -> str:
        if platform.system() != "Darwin":
            return "the Apple GPU exists on Macs with Apple silicon only"
        if platform.machine() != "arm64":
            return "this Python is an Intel (x86_64) build; install an arm64 Python to reach the Apple GPU"
        if not torch.backends.mps.is_built():
            return "this torch was built without MPS; reinstall it with `pip install --force-reinstall torch`"
        mac = facts()
        return f"torch {mac.torch} cannot use the Apple GPU on macOS {mac.macos}; update macOS"

    @property
    def mac(self) -> MacFacts:
        return facts()

    def precision_problems(self) -> dict[str, str]:
        return precision_problems(facts())

    def check_environment(self) -> str | None:
        problem = watermark_problem(os.environ)
        if problem:
            raise PippinError(f"{HIGH} and {LOW}: {problem}. Type: unset {HIGH} {LOW}")
        return f"{HIGH}=0: {NO_LIMIT}. Better: unset {HIGH}" if has_no_limit(os.environ) else None

    def explain(self, error: BaseException) -> str | None:
        found = _MISSING_OPERATOR.search(str(error)) if isinstance(error, NotImplementedError) else None
        if found is None:
            return super().explain(error)
        operator, mac, first, covered = found[1], facts(), None, None
        with suppress(LookupError):  # where it is not torch's own
            first = first_native(operator, since=mac.torch)
        with suppress(LookupError):
            covered = operators_of(mac.torch).coverage(operator)
        newer = f"torch {first} brings it{_needs(first)}. Or" if first else "No release has it yet:"
        alone = "" if covered is Coverage.NEVER else "it on the CPU with --mps_fallback on, or "
        return (
            f"the operator {operator} does not exist on the Apple GPU in torch {mac.torch}. {newer} "
            f"run {alone}everything {'' if alone else 'on the CPU '}with --use_cpu."
        )

    def synchronize(self) -> None:
        torch.mps.synchronize()

    def memory_now(self) -> int | None:
        return torch.mps.driver_allocated_memory()

    def memory_budget(self) -> int | None:
        """What Metal recommends; None where torch does not tell, or does not start with the variables it finds."""
        try:
            return torch.mps.recommended_max_memory()
        except (AttributeError, RuntimeError):  # torch before 2.5, which the doctor describes all the same
            return None

    def memory_peak(self) -> int | None:
        return self._watch.peak if self._watch else self.memory_now()

    @contextmanager
    def watching_memory(self) -> Iterator[None]:
        budget = torch.mps.recommended_max_memory()
        with MemoryWatch(torch.mps.driver_allocated_memory, budget, torch.mps.empty_cache) as self._watch:
            yield

    def watts(self) -> float | None:
        return battery_watts()

    @property
    def is_emulated(self) -> bool:
        stand_in = sys.modules.get("emulated_mps")
        return stand_in is not None and stand_in.is_installed()

    def relieve(self) -> tuple[int, int] | None:
        return self._watch.relieve() if self._watch else None

    @contextmanager
    def counting_fallbacks(self, on_first: Callable[[str], None]) -> Iterator[Fallbacks]:
        from pippin.machine.drivers.mps_fallback import counted

        with counted(operators_of(facts().torch), on_first) as found:
            yield found

    def empty_cache(self) -> None:
        torch.mps.empty_cache()

    def random_state(self) -> dict[str, torch.Tensor]:
        return {**super().random_state(), self.kind: torch.mps.get_rng_state()}

    def set_random_state(self, state: dict[str, torch.Tensor]) -> None:
        super().set_random_state(state)
        if self.kind in state:
            torch.mps.set_rng_state(state[self.kind])

    def to_device(self, tensor: torch.Tensor) -> torch.Tensor:
        # The device has no float64, and an asynchronous copy may read memory that is already freed.
        return (tensor.float() if tensor.dtype == torch.float64 else tensor).to(self.device)

    def lay_out(self, model: torch.nn.Module) -> None:
        # Convolutions misread weights that are not contiguous. Data is replaced, so that tied weights stay tied.
        for parameter in model.parameters():
            if not parameter.is_contiguous():
                parameter.data = parameter.data.contiguous()
        for module in model.modules():
            for name, buffer in module.named_buffers(recurse=False):
                if buffer.dtype == torch.float64:
                    setattr(module, name, buffer.float())
        mac = facts()
        if any(hazard.is_on(mac) for hazard in FLAT_LINEARS):
            mps_guards.flatten_linears(model, LOST_BIAS.is_on(mac))

    def checkpoint_contexts(self) -> CheckpointContexts | None:
        return mps_guards.same_randomness

    def guard(self, model: torch.nn.Module) -> None:
        mac = facts()
        if LSTM_DROPOUT.is_on(mac):
            mps_guards.refuse_lstm_dropout(model)
        if NORM_GRADIENTS.is_on(mac):
            mps_guards.ask_for_norm_input_gradients(model)


def facts() -> MacFacts:
    """This Mac, as far as it decides what its GPU can do."""
    try:
        chip = str(torch.backends.mps.get_name())
    except (AttributeError, RuntimeError):  # torch before 2.9, or no such GPU here
        chip = chip_name()
    # Not the package's metadata: this is the torch that runs.
    return MacFacts(str(torch.__version__), macos_release(), chip)


def _needs(torch: str) -> str:
    """How to get a torch release on this Mac."""
    floor, macos = macos_floor(torch), facts().macos
    if macos and release(macos) < floor:
        return f", and needs macOS {floor[0]}: update it in System Settings, then pip install 'torch>={torch}'"
    return f": pip install 'torch>={torch}'"
