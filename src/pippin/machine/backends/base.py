"""What every backend answers. The defaults are those of a plain device such as the CPU."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from pippin.errors import PippinError
from pippin.machine.machine import Device

if TYPE_CHECKING:
    import torch

#: CUDA's and MPS's own words, and those of torch's allocator on the CPU.
_OUT_OF_MEMORY = ("out of memory", "not enough memory: you tried to allocate")


class Backend:
    """A device: its name, its memory, its random state, and what is safe on it."""

    kind: str
    #: Most distinct batch shapes that a run should show the device; None: any number is fine.
    shape_limit: int | None = None
    #: Padded tokens per batch where nothing is trained.
    evaluation_tokens = 2048

    def __init__(self, index: int | None = None):
        self.index = index

    @property
    def device(self) -> torch.device:
        import torch

        return torch.device(self.kind if self.index is None else f"{self.kind}:{self.index}")

    def devices(self) -> list[Device]:
        """The devices of this kind that are here; empty where there are none."""
        raise NotImplementedError

    def is_built(self) -> bool:
        """Whether the installed torch was built for this kind of device."""
        return True

    def why_missing(self) -> str:
        """Why ``devices`` is empty, and what to do."""
        return f"torch finds no {self.kind} device on this computer"

    def precision_problem(self, precision: str) -> str | None:
        """Why bf16 or fp16 cannot be used here, or None when it can."""
        return None

    def synchronize(self) -> None:
        """Wait for all work queued on the device."""

    def memory_now(self) -> int | None:
        """Bytes that this process holds on the device now."""
        return None

    def memory_peak(self) -> int | None:
        """Most bytes held so far."""
        return self.memory_now()

    def empty_cache(self) -> None:
        """Give unused memory back."""

    def seed(self, seed: int) -> None:
        """Seed the device's generator."""
        import torch

        torch.manual_seed(seed)

    def autocast(self, precision: str) -> AbstractContextManager[Any]:
        """Mixed precision for `bf16` and `fp16`, nothing for `fp32`."""
        if precision == "fp32":
            return nullcontext()
        import torch

        dtype = torch.bfloat16 if precision == "bf16" else torch.float16
        return torch.autocast(self.kind, dtype=dtype)

    def to_device(self, tensor: torch.Tensor) -> torch.Tensor:
        """A tensor on the device, by the fastest copy that is safe there."""
        return tensor.to(self.device)

    def place(self, model: torch.nn.Module) -> torch.nn.Module:
        """A model on the device, laid out as the device needs it."""
        return model.to(self.device)

    def explain(self, error: BaseException) -> str | None:
        """What an error of the device means and what to type next; None for errors that are not the device's."""
        if self.is_out_of_memory(error):
            return (
                f"the device {self.kind} ran out of memory. Halve --per_device_train_batch_size and double "
                "--gradient_accumulation_steps: the gradient stays the same. --max_seq_length and "
                "--gradient_checkpointing help too."
            )
        return None

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Whether an error says that memory ran out, by the words that each device uses."""
        text = str(error)
        return isinstance(error, (RuntimeError, MemoryError)) and (
            isinstance(error, MemoryError) or any(words in text for words in _OUT_OF_MEMORY)
        )

    def several_processes_problem(self) -> str:
        """Why a job cannot be spread over several processes."""
        return "Pippin trains in one process: start it without torchrun"

    def prepare_deterministic(self) -> None:
        """What the device needs before deterministic kernels can be asked for."""

    def set_tf32(self, on: bool) -> None:
        """TF32 for fp32 matrix products, where the device has it."""
        if on:
            raise PippinError(f"--tf32: the device {self.kind} has no TF32. Leave it out.")
