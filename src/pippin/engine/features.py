"""What a frozen part of the model gives for each row: computed once, kept, and used in every epoch and later run.

A row's states must not depend on the rows beside it, else a run that keeps them would differ from one that does not.
On the CPU that takes two things: attention sees rows of one length at a time, and products are never of so few rows
that they are added up in another order.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch

from pippin import cache
from pippin.data.batches import evaluation_order, fixed_order
from pippin.data.collate import Batch, Collator, labels_of, places_of, taken
from pippin.data.encoding import Encoded
from pippin.engine.group import SOLO, Group
from pippin.engine.inference import MOST_ROWS
from pippin.engine.memory import in_batches_that_fit
from pippin.engine.repeatable import repeatable
from pippin.engine.seeding import arithmetic
from pippin.models.families import family_of
from pippin.models.freezing import FrozenPart
from pippin.models.labels import THRESHOLDS
from pippin.models.network import Network
from pippin.plan.frozen import NOT_KEPT, ON_DISK, can_keep_states, frozen_layers
from pippin.plan.plan import Plan
from pippin.tasks.base import Reads

#: Of fewer rows than this the CPU's libraries may add up in another order; rows of one token make up for them.
_FEWEST_ROWS = 32


def freeze(
    network: Network,
    plan: Plan,
    settings: str = "",
    pads_left: bool = False,
    fresh: bool = False,
    reads: Reads = "first token",
    group: Group = SOLO,
) -> None:
    """Freeze what the plan says. Where it is known what the head reads, batches carry the states of their rows.

    ``settings`` are those beside the plan that the states depend on; ``fresh`` makes anew what the cache holds.
    """
    part = FrozenPart(network.model, frozen_layers(plan.execution.frozen.value), every_token=reads == "targets")
    if not can_keep_states(family_of(network.model.config)[0], pads_left, reads):
        return  # the model is called as it is
    features = Features(network, part, plan.execution.states.value, settings, fresh, group)
    network.collate = WithStates(
        pad_lengths=network.collate.pad_lengths, targets=network.collate.targets, features=features
    )
    network.frozen = part


class Features:
    """The states of rows, one vector for each row or each token, on the CPU."""

    def __init__(
        self,
        network: Network,
        part: FrozenPart,
        keep: str,
        settings: str = "",
        fresh: bool = False,
        group: Group = SOLO,
    ):
        self.network, self.part, self.keep, self.settings, self.fresh = network, part, keep, settings, fresh
        self.group = group
        self.plain = network.collate  # makes batches without states
        self.most_tokens = network.backend.traits.evaluation_tokens
        self._kept: dict[int, tuple[Encoded, torch.Tensor | None]] = {}

    def __call__(self, encoded: Encoded, rows: np.ndarray) -> torch.Tensor:
        """The states of these rows end to end."""
        kept = self._find(encoded)
        if kept is None:
            return self._computed(replace(taken(encoded, rows), labels=None))
        return kept.index_select(0, torch.from_numpy(self._places(encoded, rows)))

    def _places(self, encoded: Encoded, rows: np.ndarray) -> np.ndarray:
        return rows if self.part.one_vector_a_row else places_of(encoded, rows)

    def _count(self, encoded: Encoded) -> int:
        return len(encoded) if self.part.one_vector_a_row else len(encoded.tokens)

    def _find(self, encoded: Encoded) -> torch.Tensor | None:
        """The states of all rows; None where they are not kept."""
        if self.keep == NOT_KEPT:
            return None
        if id(encoded) not in self._kept:
            self.make_ready(encoded)
        return self._kept[id(encoded)][1]

    def make_ready(self, encoded: Encoded) -> None:
        """Find or compute the states of these rows. Several processes do it together, so all must ask for it."""
        if self.keep == NOT_KEPT or id(encoded) in self._kept:
            return
        key = self._key(encoded)
        found = None if self.fresh else _opened(cache.get(key))
        if self.group.agree(found is None):  # else all of them have them
            found = self._make(encoded, key)
        self._kept[id(encoded)] = (encoded, found)

    def _make(self, encoded: Encoded, key: str) -> torch.Tensor | None:
        if self.keep != ON_DISK:
            states = self._shared(encoded)
            cache.put(key, {_name(states.dtype): _array(states)})
            return states
        batches = self._batches(encoded)
        places, states = next(batches)
        shape = (self._count(encoded), states.shape[1])
        with cache.writing(key, {_name(states.dtype): (shape, _array(states).dtype)}) as arrays:
            if arrays is None:  # there is no room any more: from now on they are computed when they are asked for
                return None
            for array in arrays.values():
                array[places] = _array(states)
                for places, states in batches:
                    array[places] = _array(states)
            del array  # the files are closed with the block
        return _opened(cache.get(key))

    def _shared(self, encoded: Encoded) -> torch.Tensor:
        """The states of all rows, of which each process computes some."""
        if self.group.size == 1:
            return self._computed(encoded)
        own = np.arange(self.group.rank, len(encoded), self.group.size)
        mine = self._computed(replace(taken(encoded, own), labels=None)) if len(own) else None
        width, kind = next(each for each in self.group.gather(mine is not None and (mine.shape[1], mine.dtype)) if each)
        states = torch.zeros(self._count(encoded), width, dtype=kind)
        if mine is not None:
            states[torch.from_numpy(self._places(encoded, own))] = mine
        return torch.from_numpy(self.group.total(_array(states))).view(kind)

    def _computed(self, encoded: Encoded) -> torch.Tensor:
        """The states of all rows, in their order."""
        found: torch.Tensor | None = None
        for places, states in self._batches(encoded):
            if found is None:
                found = torch.empty(self._count(encoded), states.shape[1], dtype=states.dtype)
            found[torch.from_numpy(places)] = states
        assert found is not None
        return found

    def _batches(self, encoded: Encoded) -> Iterator[tuple[np.ndarray, torch.Tensor]]:
        """Batch by batch states and their places among all. Where memory runs out, batches are of half the size."""

        def halve(rows: np.ndarray, size: int) -> None:
            self.most_tokens = int(size * encoded.lengths[rows].max()) // 2

        found = in_batches_that_fit(
            self.network.backend,
            encoded.lengths,
            self._order,
            # Rows come again to fill a shape.
            lambda rows, size: self._states(replace(taken(encoded, np.resize(rows, size)), labels=None), len(rows)),
            halve,
        )
        return ((self._places(encoded, rows), states) for rows, states in found)

    def _order(self, lengths: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
        if self.plain.pad_lengths:
            return fixed_order(lengths, self.plain.pad_lengths, MOST_ROWS, self.most_tokens)
        return ((rows, len(rows)) for rows in evaluation_order(lengths, MOST_ROWS, self.most_tokens))

    def _states(self, encoded: Encoded, wanted: int) -> torch.Tensor:
        if self.network.backend.traits.packed_attention == "groups" and len(encoded) < _FEWEST_ROWS:
            encoded = _with_short_rows(encoded, _FEWEST_ROWS - len(encoded))
        batch = replace(self.plain, equal_lengths=True)(encoded, np.arange(len(encoded)))
        with repeatable(self._run, batch):
            states = self._run(batch).cpu()
        if not self.part.one_vector_a_row:
            states = states[0] if batch.packing is not None else states[batch.inputs["attention_mask"].bool()]
        in_order = torch.empty_like(states)
        in_order[torch.from_numpy(self._places(encoded, batch.rows))] = states
        return in_order[: wanted if self.part.one_vector_a_row else encoded.offsets[wanted]]

    def _run(self, batch: Batch) -> torch.Tensor:
        with torch.inference_mode():
            return self.part.hidden_states(lambda: self.network.logits(batch))

    def _key(self, encoded: Encoded) -> str:
        arrays = (encoded.tokens, encoded.offsets, encoded.token_type_ids)
        return cache.key_of(
            self._key_of_model,
            encoded.pad_token,
            *(None if array is None else np.ascontiguousarray(array).tobytes() for array in arrays),
        )

    @cached_property
    def _key_of_model(self) -> str:
        """Changes with anything that the states depend on, beside the rows."""
        digest = hashlib.sha256()
        for name, tensor in self.part.tensors():
            digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)} ".encode())
            digest.update(_array(tensor.cpu().contiguous()).data)
        model, collate = self.network.model, self.plain
        return cache.key_of(
            "frozen states 1",
            self.part.layers,
            digest.hexdigest(),
            type(model).__name__,
            json.dumps({**model.config.to_dict(), THRESHOLDS: None}, sort_keys=True, default=str),
            self.network.backend.kind,
            self.network.precision,
            self.settings,
            repr((collate.pad_lengths, collate.packs, collate.in_groups)),
            *arithmetic(self.network.backend).values(),
        )


@dataclass(frozen=True)
class WithStates(Collator):
    features: Features | None = None

    def __call__(self, encoded: Encoded, rows: np.ndarray) -> Batch:
        assert self.features is not None
        if self.features.part.one_vector_a_row:
            # Of the tokens nothing is left but that each row has a first one.
            inputs = {name: torch.ones(len(rows), 1, dtype=torch.int64) for name in ("input_ids", "attention_mask")}
            return Batch(inputs, labels_of(encoded, rows), rows, hidden_states=self.features(encoded, rows))
        batch = self.features.plain(encoded, rows)
        states = self.features(encoded, batch.rows)
        if batch.packing is not None:
            return replace(batch, hidden_states=states[None])
        mask = batch.inputs["attention_mask"].bool()
        padded = torch.zeros(*mask.shape, states.shape[1], dtype=states.dtype)
        padded[mask] = states
        return replace(batch, hidden_states=padded)


def _with_short_rows(encoded: Encoded, count: int) -> Encoded:
    """The same with so many rows of one token more."""
    tokens, token_type_ids = (
        None if array is None else np.append(array, np.repeat(array[:1], count))
        for array in (encoded.tokens, encoded.token_type_ids)
    )
    offsets = np.append(encoded.offsets, encoded.offsets[-1] + np.arange(1, count + 1))
    assert tokens is not None
    return replace(encoded, tokens=tokens, token_type_ids=token_type_ids, offsets=offsets)


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _array(states: torch.Tensor) -> np.ndarray:
    """As numpy holds it, which does not know bfloat16."""
    return (states.view(torch.int16) if states.dtype == torch.bfloat16 else states).numpy()


def _opened(arrays: dict[str, np.ndarray] | None) -> torch.Tensor | None:
    """The states of an entry of the cache: its one array bears the name of their type."""
    if arrays is None:
        return None
    (name, array), *_ = arrays.items()
    return torch.from_numpy(array).view(getattr(torch, name))
