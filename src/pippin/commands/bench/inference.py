"""Inference by batch size, by length of the rows and by precision: a batch of tokens in, its logits on the CPU out."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from pippin.commands.bench.results import INFERENCE, Setting
from pippin.commands.bench.schedule import Sample, Stopwatch, WarmUp
from pippin.commands.bench.subject import Subject
from pippin.commands.bench.watch import fitting, watching
from pippin.data.encoding import Encoded
from pippin.engine.network import make_network
from pippin.machine.drivers import get_backend
from pippin.models.attention import work_of
from pippin.models.network import Network
from pippin.plan.layout import choose_last_layer, choose_layout

BATCHES = (1, 2, 4, 8, 16, 32, 64)
#: Tokens of a row where other things are compared; beside it, a short and a long one.
LENGTH, OTHER_LENGTHS = 128, (32, 512)
PRECISIONS = ("fp32", "bf16", "fp16")
#: A repeat lasts at least so long, with up to so many batches.
_LEAST_SECONDS, _MOST_CALLS = 0.2, 500


@dataclass(frozen=True)
class _PlacedModel:
    network: Network
    bytes: int

    def answer(self, encoded: Encoded) -> torch.Tensor:
        """The logits of all rows as one batch."""
        with torch.inference_mode(), self.network.backend.own_stream():
            batch = self.network.collate(encoded, np.arange(len(encoded)))
            return self.network.logits(batch).float().cpu()


class InferenceTest:
    """Every device in every setting; each device's model is loaded once for each precision."""

    def __init__(self, subject: Subject, devices: tuple[str, ...], clock: Stopwatch):
        self.subject, self.devices, self.clock = subject, devices, clock
        self.length = min(LENGTH, subject.longest)
        self._loaded: dict[tuple[str, str], _PlacedModel] = {}
        self._calls: dict[Setting, int] = {}

    def groups(self) -> list[list[Setting]]:
        lengths = [length for length in OTHER_LENGTHS if length <= self.subject.longest and length != self.length]
        looks = [("fp32", self.length), *(("fp32", each) for each in lengths if each < self.length)]
        looks += [(precision, self.length) for precision in PRECISIONS[1:]]
        looks += [("fp32", each) for each in lengths if each > self.length]
        found = [
            [
                Setting(INFERENCE, device, precision, batch, length)
                for device in self.devices
                if precision not in get_backend(device).precision_problems()
            ]
            for precision, length in looks
            for batch in BATCHES
        ]
        return [group for group in found if group]

    def guess(self, setting: Setting, known: dict[Setting, float]) -> float:
        """Twice what half the batch took, else the work of the nearest setting in proportion."""
        alike = [other for other in known if other.device == setting.device]
        if not alike:
            return 0.0

        def distance(other: Setting) -> tuple[bool, bool, float]:
            steps = abs(math.log2(other.batch / setting.batch))
            return other.precision != setting.precision, other.length != setting.length, steps

        nearest = min(alike, key=distance)
        more = setting.batch * (setting.length or 1) / (nearest.batch * (nearest.length or 1))
        calls = self._calls.get(nearest, 1)
        return max(_LEAST_SECONDS, known[nearest] / calls * more)

    def warm_up(self, setting: Setting) -> WarmUp:
        answer = self._ready(setting)
        answer()
        with watching(self._network(setting).network.backend) as watched:
            start = self.clock.now()
            answer()
            seconds = self.clock.now() - start
        calls = min(_MOST_CALLS, max(1, math.ceil(_LEAST_SECONDS / max(seconds, 1e-6))))
        self._calls[setting] = calls
        memory = None if watched.memory is None else self._network(setting).bytes + watched.memory
        return WarmUp(calls * seconds, memory)

    def measure(self, setting: Setting) -> Sample:
        answer, calls = self._ready(setting), self._calls[setting]
        backend = self._network(setting).network.backend
        backend.synchronize()
        start = self.clock.now()
        for _ in range(calls):
            answer()
        backend.synchronize()
        return Sample(setting.batch, (self.clock.now() - start) / calls)

    def _ready(self, setting: Setting) -> Callable[[], torch.Tensor]:
        """A call that answers one batch."""
        assert setting.length is not None
        loaded = self._network(setting)
        encoded = self.subject.rows_of_length(setting.batch, setting.length)
        return partial(fitting, loaded.network.backend, partial(loaded.answer, encoded))

    def _network(self, setting: Setting) -> _PlacedModel:
        device, precision = key = (setting.device, setting.precision)
        if key in self._loaded:
            return self._loaded[key]
        subject, job = self.subject, self.subject.job
        backend, recipe, config = get_backend(device), job.recipe, job.config
        model: Any = backend.place(subject.load(recipe, config, backend.attention(work_of(config, precision))))
        model.eval()
        left = job.tokenizer.padding_side == "left"
        layout = choose_layout(recipe, job.facts, backend.traits, precision, subject.longest, left).value
        network = make_network(model, backend, precision, layout, choose_last_layer(job.facts, left).value, ())
        network.keep_products_in_half()
        tensors = [*model.parameters(), *model.buffers()]
        self._loaded[key] = _PlacedModel(network, sum(tensor.nbytes for tensor in tensors))
        return self._loaded[key]
