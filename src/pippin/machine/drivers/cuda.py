"""NVIDIA GPUs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from pippin.machine.drivers.base import Backend
from pippin.machine.system import nvidia_watts
from pippin.machine.traits import CUDA, TRAITS, DeviceTraits

Tensors = dict[str, torch.Tensor]


class Recorded:
    """A CUDA graph: work on inputs of fixed shapes, recorded once and then started with a single call. What it computes
    lies in the same memory after every run."""

    def __init__(self, work: Callable[[Tensors], Any], inputs: Tensors, device: torch.device, pool: Any):
        self.inputs = {name: torch.empty_like(tensor, device=device) for name, tensor in inputs.items()}
        self.graph = torch.cuda.CUDAGraph()
        # Inputs must make sense even while nothing is computed: some kernels look at them when they are set up.
        self._fill(inputs)
        with torch.cuda.graph(self.graph, pool=pool, stream=torch.cuda.current_stream(device)):
            self.results = work(self.inputs)

    def __call__(self, inputs: Tensors) -> Any:
        self._fill(inputs)
        self.graph.replay()
        return self.results

    def _fill(self, inputs: Tensors) -> None:
        for name, tensor in inputs.items():
            self.inputs[name].copy_(tensor.pin_memory(), non_blocking=True)


class Recorder:
    """Makes records that share their memory: they never run at the same time."""

    def __init__(self, device: torch.device):
        self.device = device
        self.pool = torch.cuda.graph_pool_handle()

    def __call__(self, work: Callable[[Tensors], Any], inputs: Tensors) -> Recorded:
        torch.cuda.synchronize(self.device)
        return Recorded(work, inputs, self.device, self.pool)


#: One for each card: memory that one stream has given back is not for another.
_streams: dict[int, torch.cuda.Stream] = {}


class CudaBackend(Backend):
    kind = CUDA
    traits = TRAITS[CUDA]
    clips_in_step = True
    takes_fake_tensors = True

    def devices(self) -> list[DeviceTraits]:
        found = []
        for index in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
            facts, problems = torch.cuda.get_device_properties(index), CudaBackend(index).precision_problems()
            card = replace(self.traits, name=facts.name, memory_bytes=facts.total_memory, bf16=facts.major >= 8)
            unit = str(getattr(facts, "uuid", ""))  # torch before 2.6 does not tell
            found.append(replace(card, precision_problems=problems, unit=unit))
        return found

    def is_built(self) -> bool:
        return torch.version.cuda is not None

    def why_missing(self) -> str:
        if torch.version.cuda is None:
            return "this torch was built without CUDA; install a CUDA build of torch"
        return "torch finds no NVIDIA GPU; check the driver with `nvidia-smi`"

    def precision_problems(self) -> dict[str, str]:
        with torch.cuda.device(self.device):
            has_bf16 = torch.cuda.is_bf16_supported()
        return {} if has_bf16 else {"bf16": "this GPU has no bfloat16; use --fp16 or neither"}

    def use(self) -> None:
        torch.cuda.set_device(self.device)

    def synchronize(self) -> None:
        torch.cuda.synchronize(self.device)

    def memory_now(self) -> int | None:
        return torch.cuda.memory_allocated(self.device)

    def memory_peak(self) -> int | None:
        return torch.cuda.max_memory_allocated(self.device)

    def forget_peak(self) -> None:
        torch.cuda.reset_peak_memory_stats(self.device)

    def watts(self) -> float | None:
        try:
            return torch.cuda.power_draw(self.device) / 1000
        except Exception:  # it needs a package of NVIDIA's, and each thing that is missing raises another kind
            return nvidia_watts(self.index or 0)

    def memory_budget(self) -> int | None:
        if not torch.cuda.is_available():
            return None
        free, total = torch.cuda.mem_get_info(self.device)
        share = getattr(torch.cuda, "get_per_process_memory_fraction", lambda _: 1.0)  # torch before 2.6 has none
        # What torch keeps for reuse is free for this job.
        return min(free + torch.cuda.memory_reserved(self.device), int(share(self.index or 0) * total))

    def empty_cache(self) -> None:
        torch.cuda.empty_cache()

    def random_state(self) -> dict[str, torch.Tensor]:
        return {**super().random_state(), self.kind: torch.cuda.get_rng_state(self.device)}

    def set_random_state(self, state: dict[str, torch.Tensor]) -> None:
        super().set_random_state(state)
        if self.kind in state:
            torch.cuda.set_rng_state(state[self.kind], self.device)

    def to_device(self, tensor: torch.Tensor) -> torch.Tensor:
        if tensor.device.type == self.kind:
            return tensor
        # Pinned memory is what lets the copy run beside the GPU's work.
        return tensor.pin_memory().to(self.device, non_blocking=True)

    def recorder(self) -> Recorder:
        return Recorder(self.device)

    @contextmanager
    def own_stream(self) -> Iterator[None]:
        # Nothing can be recorded on the stream that all work shares.
        shared = torch.cuda.current_stream(self.device)
        own = _streams.setdefault(self.index or 0, torch.cuda.Stream(self.device))
        if shared == own:
            yield
            return
        own.wait_stream(shared)
        with torch.cuda.stream(own):
            yield
        shared.wait_stream(own)

    def prepare_deterministic(self) -> None:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

    def set_tf32(self, on: bool) -> None:
        torch.backends.cuda.matmul.allow_tf32 = on
        torch.backends.cudnn.allow_tf32 = on
