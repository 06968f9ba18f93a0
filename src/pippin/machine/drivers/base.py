"""What every backend answers. The defaults are those of a plain device such as the CPU."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from pippin.errors import PippinError
from pippin.machine.fallbacks import Fallbacks
from pippin.machine.faults import MacFacts, most_rows, safe_attention
from pippin.machine.traits import DeviceTraits
from pippin.machine.work import Work

if TYPE_CHECKING:
    import torch

    from pippin.machine.drivers.cuda import Recorder

#: Gives the two contexts of a checkpointed part: of its first run, and of the one that backward needs.
CheckpointContexts = Callable[[], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]]
#: CUDA's and MPS's own words, MPS's for one tensor that is too large, and those of torch's allocator on the CPU.
_OUT_OF_MEMORY = (
    "out of memory",
    "Invalid buffer size",
    "not enough memory: you tried to allocate",
    "can't allocate memory: you tried",
    "CUBLAS_STATUS_ALLOC_FAILED",
)


class Backend:
    """A device: its name, its memory, its random state, and what is safe on it."""

    kind: str
    #: What all devices of this kind have in common.
    traits: DeviceTraits
    #: Whether the optimiser's fused step can clip the gradient on its way.
    clips_in_step = False
    #: Whether torch's dropout draws its random numbers one by one here.
    slow_dropout = False
    #: Whether fake tensors can stand on this device, where it is here; else they stand on the CPU for it.
    takes_fake_tensors = False

    def __init__(self, index: int | None = None):
        self.index = index

    @property
    def device(self) -> torch.device:
        import torch

        return torch.device(self.kind if self.index is None else f"{self.kind}:{self.index}")

    def devices(self) -> list[DeviceTraits]:
        """The devices of this kind that are here; empty where there are none."""
        raise NotImplementedError

    def is_built(self) -> bool:
        """Whether the installed torch was built for this kind of device."""
        return True

    def why_missing(self) -> str:
        """Why ``devices`` is empty, and what to do."""
        return f"torch finds no {self.kind} device on this computer"

    @property
    def mac(self) -> MacFacts | None:
        """What decides which faults of the Apple GPU it has; None for other devices."""
        return self.traits.mac

    def precision_problems(self) -> dict[str, str]:
        """Why bf16 or fp16 cannot be used here."""
        return self.traits.precision_problems

    def check_environment(self) -> str | None:
        """Refuse variables that keep the device from starting; returns a warning about those that are dangerous."""
        return None

    def use(self) -> None:
        """Make it this process's device of its kind, where there are several."""

    def synchronize(self) -> None:
        """Wait for all work queued on the device."""

    def memory_now(self) -> int | None:
        """Bytes that this process holds on the device now."""
        return None

    def memory_peak(self) -> int | None:
        return self.memory_now()

    def forget_peak(self) -> None:
        """Let ``memory_peak`` begin anew, where that can be."""

    def watts(self) -> float | None:
        """What the device draws now, where it tells without root."""
        return None

    def joules(self) -> float | None:
        """Energy that the device has used since some moment, where it counts that and tells without root."""
        return None

    @property
    def is_emulated(self) -> bool:
        """Whether something else computes in the device's name: its times say nothing about it."""
        return False

    def memory_budget(self) -> int | None:
        """Bytes that a job may hold on the device, with what this process holds already; None where nobody knows."""
        return None

    def watching_memory(self) -> AbstractContextManager[Any]:
        """Whatever it takes for ``memory_peak`` to be true, while the context lasts."""
        return nullcontext()

    def empty_cache(self) -> None:
        """Give unused memory back."""

    def relieve(self) -> tuple[int, int] | None:
        """Give unused memory back where it is getting scarce: bytes held before and after; None where it is not."""
        return None

    def counting_fallbacks(self, on_first: Callable[[str], None]) -> AbstractContextManager[Fallbacks]:
        """Run on the CPU what the device has no kernel for, and count it; `on_first` hears each operator once."""
        return nullcontext(Fallbacks())

    def seed(self, seed: int) -> None:
        """Seed all of torch's generators, the device's among them."""
        import torch

        torch.manual_seed(seed)

    def random_state(self) -> dict[str, torch.Tensor]:
        """The state of every generator that a job on this device draws from, by name, on the CPU."""
        import torch

        return {"cpu": torch.get_rng_state()}

    def set_random_state(self, state: dict[str, torch.Tensor]) -> None:
        """Go on from an earlier ``random_state``."""
        import torch

        torch.set_rng_state(state["cpu"])

    def autocast(self, precision: str) -> AbstractContextManager[Any]:
        """Mixed precision for `bf16` and `fp16`, nothing for `fp32` and `tf32`."""
        if precision in ("fp32", "tf32"):
            return nullcontext()
        import torch

        dtype = torch.bfloat16 if precision == "bf16" else torch.float16
        return torch.autocast(self.kind, dtype=dtype)

    def to_device(self, tensor: torch.Tensor) -> torch.Tensor:
        """A tensor on the device, by the fastest copy that is safe there."""
        return tensor.to(self.device)

    def lay_out(self, model: torch.nn.Module) -> None:
        """Make a model safe to be called on the device, whether it is trained or not."""

    def place(self, model: torch.nn.Module) -> torch.nn.Module:
        """A model on the device, laid out as the device needs it."""
        self.lay_out(model)
        try:
            return model.to(self.device)
        except (RuntimeError, MemoryError) as error:
            if not self.is_out_of_memory(error):
                raise
            raise PippinError(
                f"the model does not fit into the free memory of the device {self.kind}. Close other programs that use "
                "it, choose a smaller model, or use the CPU."
            ) from error

    def most_rows(self, work: Work) -> tuple[int, str] | None:
        """The most rows that training may put through the model at once, and why; None where all of them may."""
        return most_rows(self.mac, work)

    def attention(self, work: Work) -> str | None:
        """The attention, by transformers' name, that is right for this work; None: the model's own choice is."""
        return safe_attention(self.mac, work)

    def checkpoint_contexts(self) -> CheckpointContexts | None:
        """What gives torch's checkpoint() its contexts, where it cannot draw the same random numbers twice unaided."""
        return None

    def guard(self, model: torch.nn.Module) -> None:
        """Make a model that will be trained safe from the device's known faults, or refuse it."""

    def explain(self, error: BaseException) -> str | None:
        """What an error of the device means and what to type next; None for errors that are not the device's."""
        if self.is_out_of_memory(error):
            return (
                f"the device {self.kind} ran out of memory, and smaller batches do not help: not even one row fits, or "
                "the optimiser does not. Close other programs that use it, lower --max_seq_length, add "
                "--gradient_checkpointing, use --optim adafactor or sgd, or choose a smaller model."
            )
        return None

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Whether an error says that memory ran out, by the words that each device uses."""
        said = isinstance(error, RuntimeError) and any(words in str(error) for words in _OUT_OF_MEMORY)
        return said or isinstance(error, MemoryError)

    def recorder(self) -> Recorder:
        """What records work, where ``captures_steps``."""
        raise NotImplementedError

    def quick_arithmetic(self) -> AbstractContextManager[Any]:
        """Without what slows arithmetic down and changes no result that matters; begun before anything is computed."""
        return nullcontext()

    def own_stream(self) -> AbstractContextManager[Any]:
        """A queue of work of the job's own, where the device has several."""
        return nullcontext()

    def prepare_deterministic(self) -> None:
        """What the device needs before deterministic kernels can be asked for."""

    def set_tf32(self, on: bool) -> None:
        """TF32 for fp32 matrix products, where the device has it."""
        if on:
            raise PippinError(f"--tf32: the device {self.kind} has no TF32. Leave it out.")
