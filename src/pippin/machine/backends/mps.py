"""The Apple GPU, by its documented rules. Not measured by us on a Mac."""

from __future__ import annotations

import platform
import re
from importlib.metadata import version
from typing import TYPE_CHECKING

from pippin.machine.backends.base import Backend
from pippin.machine.backends.mps_operators import first_native
from pippin.machine.check import release
from pippin.machine.machine import Device

if TYPE_CHECKING:
    import torch

#: torch's own words, in all releases.
_MISSING_OPERATOR = re.compile(r"operator '([\w:.]+)' is not current")


class MpsBackend(Backend):
    kind = "mps"
    # Each new shape costs a compiled graph and memory that older releases never give back.
    shape_limit = 8
    evaluation_tokens = 8192

    def devices(self) -> list[Device]:
        import torch

        if not (torch.backends.mps.is_built() and torch.backends.mps.is_available()):
            return []
        return [
            Device(
                self.kind,
                "Apple GPU",
                torch.mps.recommended_max_memory(),
                bf16=bfloat16_problem(platform.mac_ver()[0], version("torch")) is None,
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
        return f"torch {torch.__version__} cannot use the Apple GPU on macOS {platform.mac_ver()[0]}; update macOS"

    def precision_problem(self, precision: str) -> str | None:
        here = version("torch")
        if precision == "bf16":
            return bfloat16_problem(platform.mac_ver()[0], here)
        if precision == "fp16" and release(here) < (2, 8):
            return "float16 with a loss scaler on the Apple GPU needs torch 2.8 or newer"
        return None

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
        newer = f"torch {first} brings it: pip install 'torch>={first}'. Or" if first else "No release has it yet:"
        return (
            f"the operator {operator} does not exist on the Apple GPU in torch {version('torch')}. {newer} "
            "run it on the CPU with --mps_fallback on, or everything with --use_cpu."
        )

    def synchronize(self) -> None:
        import torch

        torch.mps.synchronize()

    def memory_now(self) -> int | None:
        import torch

        return torch.mps.driver_allocated_memory()

    def empty_cache(self) -> None:
        import torch

        torch.mps.empty_cache()

    def seed(self, seed: int) -> None:
        import torch

        torch.manual_seed(seed)
        torch.mps.manual_seed(seed)

    def to_device(self, tensor: torch.Tensor) -> torch.Tensor:
        import torch

        # The device has no float64, and an asynchronous copy may read memory that is already freed.
        if tensor.dtype == torch.float64:
            tensor = tensor.float()
        return tensor.to(self.device)

    def place(self, model: torch.nn.Module) -> torch.nn.Module:
        import torch

        # In-place optimiser kernels of older releases lose writes to parameters that are not contiguous.
        for parameter in model.parameters():
            parameter.data = parameter.data.contiguous()
        for module in model.modules():
            for name, buffer in module.named_buffers(recurse=False):
                if buffer.dtype == torch.float64:
                    setattr(module, name, buffer.float())
        return model.to(self.device)


def bfloat16_problem(macos: str, torch: str) -> str | None:
    """Why a Mac with this macOS and torch cannot train in bfloat16 on its GPU, or None when it can."""
    if release(macos) < (14, 0):
        return "bfloat16 on the Apple GPU needs macOS 14 or newer"
    if release(torch) < (2, 6):
        return "bfloat16 autocast on the Apple GPU needs torch 2.6 or newer"
    return None


def _first_release(operator: str) -> str | None:
    """The torch release that brings an operator to the Apple GPU; None where none does, or it is not torch's own."""
    try:
        return first_native(operator, since=version("torch"))
    except LookupError:
        return None
