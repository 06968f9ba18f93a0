"""CUDA graphs: work of one shape, recorded once and then started with a single call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Tensors = dict[str, torch.Tensor]


class Recorded:
    """Work on inputs of fixed shapes. What it computes lies in the same memory after every run."""

    def __init__(self, work: Callable[[Tensors], Any], inputs: Tensors, device: torch.device, pool: Any):
        self.inputs = {name: torch.empty_like(tensor, device=device) for name, tensor in inputs.items()}
        self.graph = torch.cuda.CUDAGraph()
        # Inputs must make sense even while nothing is computed: some kernels look at them when they are set up.
        self._fill(inputs)
        with torch.cuda.graph(self.graph, pool=pool, stream=torch.cuda.current_stream(device)):
            self.results = work(self.inputs)

    def __call__(self, inputs: Tensors) -> Any:
        """Start the work on new inputs from the CPU."""
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
