"""Word vectors that occur in the training rows, apart from those that never do.

A vector that never occurs has no gradient, and an optimiser without weight decay leaves it as it is. So only the ones
that occur are a parameter: no gradient, no moments and no update for the rest. What is saved is the whole table.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.nn import functional


class UsedRows(torch.nn.Embedding):
    """What an embedding becomes: in training it is asked for the used rows only."""

    weight: torch.nn.Parameter

    def keep(self, used: np.ndarray) -> None:
        # By way of the CPU: on the device the table would be held twice for a moment.
        device, whole, self.count = self.weight.device, self.weight.detach().cpu(), len(used)
        order = np.concatenate([used, np.setdiff1d(np.arange(self.num_embeddings), used)])
        place = np.empty_like(order)
        place[order] = np.arange(self.num_embeddings)
        self.order, self.place = (torch.from_numpy(array).to(device) for array in (order, place))
        """The used rows, then the others; and where each row stands there."""
        self.weight = torch.nn.Parameter(whole[order[: self.count]].to(device))
        self.others = whole[order[self.count :]].to(device)
        # Torch gives this row no gradient. Where it does not occur, it has none anyway.
        occurs = self.padding_idx is not None and self.padding_idx in used
        self.padding_place = int(place[self.padding_idx]) if occurs else None

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        places = self.place[input]
        if self.training:
            return functional.embedding(places, self.weight, self.padding_place)
        found = functional.embedding(places.clamp(max=self.count - 1), self.weight)
        if not len(self.others):
            return found
        other = functional.embedding((places - self.count).clamp(min=0), self.others)
        return torch.where((places < self.count)[..., None], found, other)

    def expanded(self, tensor: torch.Tensor) -> torch.Tensor:
        """Something that belongs to the used rows, for the whole table in its own order; zero for the rest."""
        others = torch.zeros_like(self.others, dtype=tensor.dtype, device=tensor.device)
        return torch.cat([tensor, others])[self.place.to(tensor.device)]

    def compacted(self, whole: torch.Tensor) -> torch.Tensor:
        """The part of ``expanded`` that belongs to the used rows."""
        return whole[self.order[: self.count].to(whole.device)]

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        destination[prefix + "weight"] = torch.cat([self.weight.detach(), self.others])[self.place]

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *arguments: Any) -> None:
        whole = state_dict[prefix + "weight"].to(self.others.device)[self.order]
        with torch.no_grad():
            self.weight.copy_(whole[: self.count])
            self.others.copy_(whole[self.count :])


def train_used_rows(model: Any, tokens: np.ndarray) -> None:
    """Train the vectors of these tokens only, where the model's embedding is of the plain kind."""
    embedding = model.get_input_embeddings()
    if type(embedding) is torch.nn.Embedding and embedding.weight.requires_grad:
        embedding.__class__ = UsedRows  # not a new module: hooks stay
        embedding.keep(np.unique(tokens))
