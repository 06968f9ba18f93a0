"""A model as training and prediction call it: a batch in, the logits of its rows out.

Rows go through the model padded, or packed end to end where its attention can be told where each begins. Either way
the last layer computes no more than the head reads, where that is each row's first token. Both reach into the model
through transformers' attention registry and through hooks: its own code runs, and its weights keep their names.
"""

from __future__ import annotations

from typing import Any

import torch

from pippin.data.collate import Batch, Collator, Packing
from pippin.machine.drivers.base import Backend
from pippin.models.families import Family, first_position
from pippin.models.first_token import read_first_tokens
from pippin.models.freezing import FrozenPart
from pippin.models.packed_attention import by_kernel, in_groups
from pippin.models.registry import AttentionLayout, use_attention

#: Attention over packed rows, by the device's word for it.
ATTEND = {"groups": in_groups, "kernel": by_kernel}


class Network:
    """A model on its device, with everything around its call.

    ``family`` tells where things are in the model; without it the model is called as it is, with padded rows.
    """

    def __init__(
        self,
        model: Any,
        backend: Backend,
        precision: str = "fp32",
        family: Family | None = None,
        packs: bool = False,
        pad_lengths: tuple[int, ...] = (),
        reads_one: bool = True,
    ):
        """``reads_one``: whether the head reads one token of each row alone, the first or of causal models the last."""
        self.model, self.backend, self.precision = model, backend, precision
        self.collate = Collator(pad_lengths)
        self.layout = AttentionLayout(None)
        self.frozen: FrozenPart | None = None  # the part that is passed over where a batch carries its hidden states
        if family is None or (family.causal and not packs):
            return
        if packs:
            assert backend.traits.packed_attention is not None
            self.layout.attend = ATTEND[backend.traits.packed_attention]
            groups = backend.traits.packed_attention == "groups"
            lasts = family.causal and reads_one
            self.collate = Collator((), True, groups, first_position(family, model.config), lasts)
        use_attention(model, self.layout)
        if reads_one and not family.causal:
            read_first_tokens(model, family, self.layout)

    def keep_products_in_half(self) -> None:
        """Where products are in half precision, keep their weights so too: autocast would round them every time."""
        dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(self.precision)
        if dtype is not None:
            for module in self.model.modules():
                if isinstance(module, torch.nn.Linear):
                    module.to(dtype)

    def logits(self, batch: Batch) -> torch.Tensor:
        """On the device, with a gradient where one is wanted."""
        inputs, packing = self.on_device(batch)
        if batch.hidden_states is None:
            return self.run(inputs, packing)
        assert self.frozen is not None
        with self.frozen.giving(self.backend.to_device(batch.hidden_states)):
            return self.run(inputs, packing)

    def on_device(self, batch: Batch) -> tuple[dict[str, torch.Tensor], Packing | None]:
        """A batch's inputs, and where its rows lie; groups are for devices that share the CPU's memory."""
        inputs = {name: self.backend.to_device(tensor) for name, tensor in batch.inputs.items()}
        packing = batch.packing
        if packing is not None and not packing.groups:
            packing = packing.moved(self.backend.to_device)
        return inputs, packing

    def run(self, inputs: dict[str, torch.Tensor], packing: Packing | None) -> torch.Tensor:
        """The same for what is on the device already."""
        self.layout.packing = packing
        with self.backend.autocast(self.precision):
            if packing is None or packing.lasts is None:
                return self.model(**inputs).logits
            hidden_states = self.model.base_model(**inputs, use_cache=False).last_hidden_state
            return self.model.score(hidden_states[0].index_select(0, packing.lasts))
