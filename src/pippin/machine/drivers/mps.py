"""The Apple GPU, by its documented rules. Not measured by us on a Mac."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from pippin.errors import PippinError
from pippin.machine.check import release
from pippin.machine.drivers.base import Backend, CheckpointContexts
from pippin.machine.drivers.mps_memory import HIGH, LOW, MemoryWatch, has_no_limit, watermark_problem
from pippin.machine.fallbacks import Fallbacks
from pippin.machine.faults import (
    FLAT_LINEARS,
    LOST_BIAS,
    LSTM_DROPOUT,
    NORM_GRADIENTS,
    MacFacts,
    Remedy,
    hazards_of,
    most_rows,
)
from pippin.machine.machine import Device
from pippin.machine.memory import Relief
from pippin.machine.operators import Coverage, first_native, operators_of
from pippin.machine.power import battery_watts
from pippin.machine.releases import macos_floor
from pippin.machine.system import chip_name, macos_release
from pippin.machine.work import Work

if TYPE_CHECKING:
    import torch

NO_LIMIT = "without a limit the whole system can freeze"
#: torch's own words, in all releases.
_MISSING_OPERATOR = re.compile(r"operator '([\w:.]+)' is not current")


#: A Mac that plans are made for, and its GPU's memory; None: this one.
_elsewhere: ContextVar[tuple[MacFacts, int] | None] = ContextVar("elsewhere", default=None)


class MpsBackend(Backend):
    kind = "mps"
    # Each new shape costs a compiled graph and memory that older releases never give back.
    shape_limit = 8
    evaluation_tokens = 8192
    keeps_scores = "always"
    verifies_first = True  # results that are wrong without a word were reported of many releases
    own_memory = 64 << 20  # compiled graphs

    def __init__(self, index: int | None = None):
        super().__init__(index)
        self._watch: MemoryWatch | None = None

    def devices(self) -> list[Device]:
        import torch

        if not (torch.backends.mps.is_built() and torch.backends.mps.is_available()):
            return []
        mac = facts()
        return [
            Device(
                self.kind,
                f"{mac.chip or 'Apple'} GPU",
                _budget(),
                bf16=bfloat16_problem(mac.macos, mac.torch) is None,
            )
        ]

    def is_built(self) -> bool:
        import torch

        return torch.backends.mps.is_built()

    def why_missing(self) -> str:
        import torch

        if platform.system() != "Darwin":
            return "the Apple GPU exists on Macs with Apple silicon only"
        if platform.machine() != "arm64":
            return "this Python is an Intel (x86_64) build; install an arm64 Python to reach the Apple GPU"
        if not torch.backends.mps.is_built():
            return "this torch was built without MPS; reinstall it with `pip install --force-reinstall torch`"
        mac = facts()
        return f"torch {mac.torch} cannot use the Apple GPU on macOS {mac.macos}; update macOS"

    def precision_problem(self, precision: str) -> str | None:
        mac = facts()
        if precision == "bf16":
            return bfloat16_problem(mac.macos, mac.torch)
        if precision == "fp16" and release(mac.torch) < (2, 8):
            return "float16 with a loss scaler on the Apple GPU needs torch 2.8 or newer"
        return None

    def check_environment(self) -> str | None:
        problem = watermark_problem(os.environ)
        if problem:
            raise PippinError(f"{HIGH} and {LOW}: {problem}. Type: unset {HIGH} {LOW}")
        return f"{HIGH}=0: {NO_LIMIT}. Better: unset {HIGH}" if has_no_limit(os.environ) else None

    def several_processes_problem(self) -> str:
        return (
            "the Apple GPU takes no part in torch.distributed: gloo and nccl do not support its tensors. "
            "Start without torchrun, or train on the CPU with --use_cpu"
        )

    def explain(self, error: BaseException) -> str | None:
        found = _MISSING_OPERATOR.search(str(error)) if isinstance(error, NotImplementedError) else None
        if found is None:
            return super().explain(error)
        operator = found[1]
        first = _first_release(operator)
        newer = f"torch {first} brings it{_needs(first)}. Or" if first else "No release has it yet:"
        alone = "" if _has_no_cpu_kernel(operator) else "it on the CPU with --mps_fallback on, or "
        return (
            f"the operator {operator} does not exist on the Apple GPU in torch {facts().torch}. {newer} "
            f"run {alone}everything {'' if alone else 'on the CPU '}with --use_cpu."
        )

    def synchronize(self) -> None:
        import torch

        torch.mps.synchronize()

    def memory_now(self) -> int | None:
        if _elsewhere.get() is not None:
            return 0
        import torch

        return torch.mps.driver_allocated_memory()

    def memory_budget(self) -> int | None:
        return _budget()

    def memory_peak(self) -> int | None:
        return self._watch.peak if self._watch else self.memory_now()

    @contextmanager
    def watching_memory(self) -> Iterator[None]:
        import torch

        budget = torch.mps.recommended_max_memory()
        with MemoryWatch(torch.mps.driver_allocated_memory, budget, torch.mps.empty_cache) as self._watch:
            yield

    def watts(self) -> float | None:
        return battery_watts()

    @property
    def is_emulated(self) -> bool:
        stand_in = sys.modules.get("emulated_mps")
        return stand_in is not None and stand_in.is_installed()

    def relieve(self) -> Relief | None:
        return self._watch.relieve() if self._watch else None

    @contextmanager
    def counting_fallbacks(self, on_first: Callable[[str], None]) -> Iterator[Fallbacks]:
        from pippin.machine.drivers.mps_fallback import counted

        with counted(operators_of(facts().torch), on_first) as found:
            yield found

    def empty_cache(self) -> None:
        import torch

        torch.mps.empty_cache()

    def seed(self, seed: int) -> None:
        import torch

        torch.manual_seed(seed)
        torch.mps.manual_seed(seed)

    def random_state(self) -> dict[str, torch.Tensor]:
        import torch

        return {**super().random_state(), self.kind: torch.mps.get_rng_state()}

    def set_random_state(self, state: dict[str, torch.Tensor]) -> None:
        import torch

        super().set_random_state(state)
        if self.kind in state:
            torch.mps.set_rng_state(state[self.kind])

    def to_device(self, tensor: torch.Tensor) -> torch.Tensor:
        import torch

        # The device has no float64, and an asynchronous copy may read memory that is already freed.
        if tensor.dtype == torch.float64:
            tensor = tensor.float()
        return tensor.to(self.device)

    def lay_out(self, model: torch.nn.Module) -> None:
        import torch

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
            from pippin.machine.drivers.mps_guards import flatten_linears

            flatten_linears(model, LOST_BIAS.is_on(mac))

    def guards(self, work: Work) -> dict[str, str]:
        return {hazard.name: f"{hazard.wrong} ({hazard.source})" for hazard in hazards_of(facts(), work)}

    def most_rows(self, work: Work) -> tuple[int, str] | None:
        limit = most_rows(facts(), work)
        return limit and (limit[0], f"{limit[1].wrong} (PyTorch {limit[1].source})")

    def attention(self, work: Work) -> str | None:
        remedies = {hazard.remedy for hazard in hazards_of(facts(), work)}
        return "eager" if Remedy.PLAIN_ATTENTION in remedies else None

    def checkpoint_contexts(self) -> CheckpointContexts | None:
        from pippin.machine.drivers.mps_guards import same_randomness

        return same_randomness

    def guard(self, model: torch.nn.Module) -> None:
        from pippin.machine.drivers.mps_guards import ask_for_norm_input_gradients, refuse_lstm_dropout

        mac = facts()
        if LSTM_DROPOUT.is_on(mac):
            refuse_lstm_dropout(model)
        if NORM_GRADIENTS.is_on(mac):
            ask_for_norm_input_gradients(model)


@contextmanager
def planning_for(mac: MacFacts, budget: int) -> Iterator[None]:
    """Within, plans are made for a Mac that is not here, with so many bytes for its GPU."""
    before = _elsewhere.set((mac, budget))
    try:
        yield
    finally:
        _elsewhere.reset(before)


def facts() -> MacFacts:
    """This Mac, or the one that is planned for, as far as it decides what its GPU can do."""
    if (elsewhere := _elsewhere.get()) is not None:
        return elsewhere[0]
    import torch

    # Not the package's metadata: this is the torch that runs.
    return MacFacts(str(torch.__version__), macos_release(), _chip())


def _chip() -> str:
    import torch

    try:
        return str(torch.backends.mps.get_name())
    except (AttributeError, RuntimeError):  # torch before 2.9, or no such GPU here
        return chip_name()


def bfloat16_problem(macos: str, torch: str) -> str | None:
    """Why a Mac with this macOS and torch cannot train in bfloat16 on its GPU, or None when it can."""
    if release(macos) < (14, 0):
        return "bfloat16 on the Apple GPU needs macOS 14 or newer"
    if release(torch) < (2, 6):
        return "bfloat16 autocast on the Apple GPU needs torch 2.6 or newer"
    return None


def _needs(torch: str) -> str:
    """How to get a torch release on this Mac."""
    floor, macos = macos_floor(torch), facts().macos
    if macos and release(macos) < floor:
        return f", and needs macOS {floor[0]}: update it in System Settings, then pip install 'torch>={torch}'"
    return f": pip install 'torch>={torch}'"


def _budget() -> int | None:
    """What Metal recommends to use; None where torch does not tell, or does not start with the variables it finds."""
    if (elsewhere := _elsewhere.get()) is not None:
        return elsewhere[1]
    import torch

    try:
        return torch.mps.recommended_max_memory()
    except (AttributeError, RuntimeError):  # torch before 2.5, which the doctor describes all the same
        return None


def _has_no_cpu_kernel(operator: str) -> bool:
    """Whether no fallback can run an operator either."""
    try:
        return operators_of(facts().torch).coverage(operator) is Coverage.NEVER
    except LookupError:
        return False


def _first_release(operator: str) -> str | None:
    """The torch release that brings an operator to the Apple GPU; None where none does, or it is not torch's own."""
    try:
        return first_native(operator, since=facts().torch)
    except LookupError:
        return None
