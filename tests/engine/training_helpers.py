"""A clock that stands still until it is moved, and a device with little memory."""

from __future__ import annotations

import torch

from pippin.engine.sleep import TwoClocks


class HandClock(TwoClocks):
    def __init__(self) -> None:
        object.__setattr__(self, "times", {"wall": 1_700_000_000.0, "running": 50.0})
        super().__init__(lambda: self.times["wall"], lambda: self.times["running"])

    def work(self, seconds: float) -> None:
        """Time that both clocks count."""
        self.times["wall"] += seconds
        self.times["running"] += seconds

    def sleep(self, seconds: float) -> None:
        """Time that only the clock on the wall counts."""
        self.times["wall"] += seconds


#: How each device says that memory ran out.
OUT_OF_MEMORY = {
    "cuda": "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 7.79 GiB of which 1 GiB is",
    "mps": "MPS backend out of memory (MPS allocated: 5.02 GB, other allocations: 1.25 GB, max allowed: 9.07 GB). "
    "Tried to allocate 256.00 MB on private pool.",
    "mps, one buffer": "Invalid buffer size: 12.50 GiB",
    "cpu": "[enforce fail at alloc_cpu.cpp:117] . DefaultCPUAllocator: can't allocate memory: you tried to allocate 99 "
    "bytes. Error code 12 (Cannot allocate memory)",
}


class SmallMemory:
    """Lets a model run out of memory when more than so many tokens go through it at once."""

    def __init__(self, tokens: int, words: str = OUT_OF_MEMORY["cuda"]):
        self.tokens, self.words = tokens, words
        self.shapes: list[tuple[int, ...]] = []
        """Of the inputs that fitted."""
        self.failures = 0

    def watch(self, model: torch.nn.Module) -> torch.nn.Module:
        model.register_forward_pre_hook(self._before, with_kwargs=True)
        return model

    def _before(self, model: torch.nn.Module, inputs: tuple, named: dict[str, torch.Tensor]) -> None:
        shape = tuple(named["input_ids"].shape)
        if shape[0] * shape[1] > self.tokens:
            self.failures += 1
            raise RuntimeError(self.words)
        self.shapes.append(shape)
