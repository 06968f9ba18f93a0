"""Some rows as one batch of tensors: padded to one length, or packed end to end without padding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pippin.data.batches import padded_lengths, plan_lengths
from pippin.data.encoding import Encoded

if TYPE_CHECKING:
    import torch

#: Most groups of rows that attention pads together, and the share of padding below which one group is enough.
_MOST_GROUPS, _LITTLE_PADDING = 4, 0.05
#: The label of a token that has none, such as padding: torch's and Hugging Face's number for it.
NO_LABEL = -100


@dataclass(frozen=True)
class LengthGroup:
    """Rows of about one length in a packed batch; attention alone sees them padded to the longest of them."""

    first_row: int
    rows: int
    width: int
    first_token: int
    tokens: int
    places: torch.Tensor | None
    """For each place of the padded rows its token, counted from the group's first; None where nothing is padded."""
    unpadded: torch.Tensor | None
    """For each token its place in the padded rows."""
    seen: torch.Tensor | None
    """Rows × 1 × 1 × width: True for tokens, False for padding."""


@dataclass(frozen=True)
class Packing:
    """Where the rows lie in a packed batch."""

    starts: torch.Tensor
    """The first token of each sequence, and the end of the last (int32). Sequences after the rows fill a shape."""
    each: torch.Tensor
    """The same where only the first token of each row is left: 0, 1, 2, …"""
    rows: int
    longest: int
    groups: tuple[LengthGroup, ...] = ()
    """For devices whose attention needs padding; in order of length."""
    lasts: torch.Tensor | None = None
    """The last token of each row, for heads that read it."""

    def moved(self, move: Callable[[torch.Tensor], torch.Tensor]) -> Packing:
        """The same on a device."""
        lasts = None if self.lasts is None else move(self.lasts)
        return replace(self, starts=move(self.starts), each=move(self.each), lasts=lasts)


@dataclass(frozen=True)
class Shapes:
    """Few shapes for packed batches of so many rows: each is filled up to the next capacity in tokens."""

    rows: int
    capacities: tuple[int, ...]
    longest: int
    """Tokens of the longest row that may come."""
    targets: tuple[int, ...] = ()
    """For each capacity the most tokens that have a label, where the head reads these alone."""

    def holds(self, batch: Batch) -> bool:
        """Whether a batch has one of the shapes."""
        if batch.packing is None or len(batch.rows) != self.rows or batch.tokens not in self.capacities:
            return False
        return batch.targets is None or len(batch.targets) == self.targets[self.capacities.index(batch.tokens)]

    def filled(self, batch: Batch, pad_token: int) -> Batch:
        """The batch in one of the shapes; as it is where it has other rows or fits into none."""
        import torch

        packing = batch.packing
        assert packing is not None
        capacity = next((each for each in self.capacities if each >= batch.tokens), None)
        if packing.rows != self.rows or capacity is None or packing.longest > self.longest:
            return batch
        targets = batch.targets
        if targets is not None:
            room = self.targets[self.capacities.index(capacity)] - len(targets)
            if room < 0:
                return batch
            # The last place is that of a row's last token, which foretells nothing, or of what fills the shape.
            targets = torch.cat([targets, torch.full((room,), capacity - 1)])
        # Sequences after the rows take up the rest; their number is the same for every batch of this capacity.
        missing, most = capacity - batch.tokens, -(-capacity // self.longest)
        ends = torch.arange(1, most + 1, dtype=torch.int32).mul_(self.longest).clamp_(max=missing).add_(batch.tokens)
        pad = torch.nn.functional.pad
        inputs = {
            name: pad(tensor, (0, missing), value=pad_token if name == "input_ids" else 0)
            for name, tensor in batch.inputs.items()
        }
        labels = batch.labels
        if labels is not None and batch.per_token:
            labels = pad(labels, (0, missing), value=NO_LABEL)
        packing = replace(packing, starts=torch.cat([packing.starts, ends]), longest=self.longest)
        return replace(batch, inputs=inputs, labels=labels, packing=packing, targets=targets)


@dataclass(frozen=True)
class Collator:
    """How the rows of a job become batches: padded to the planned lengths, or packed."""

    pad_lengths: tuple[int, ...] = ()
    packs: bool = False
    in_groups: bool = False
    first_position: int = 0
    last_tokens: bool = False
    """Whether the head reads the last token of each row."""
    shapes: Shapes | None = None
    """Where packed batches are to have few shapes."""
    equal_lengths: bool = False
    """Whether a group holds rows of one length only, so that a row's result does not depend on the others."""
    targets: bool = False
    """Whether the head reads the tokens that have a label alone."""

    def with_targets(self) -> Collator:
        return replace(self, targets=True)

    def __call__(self, encoded: Encoded, rows: np.ndarray) -> Batch:
        if self.packs:
            batch = pack(encoded, rows, self.first_position, self.in_groups, self.equal_lengths, self.last_tokens)
        else:
            batch = collate(encoded, rows, self.pad_lengths)
        if self.targets and encoded.labels is not None:
            batch = replace(batch, targets=_targets(encoded, batch, rows))
        return self.shapes.filled(batch, encoded.pad_token) if self.shapes and self.packs else batch


@dataclass(frozen=True)
class Batch:
    """The inputs of some rows, on the CPU."""

    inputs: dict[str, torch.Tensor]
    labels: torch.Tensor | None
    """Of each row, or laid out as the tokens are."""
    rows: np.ndarray
    packing: Packing | None = None
    """Where the rows lie; None where each has a line of its own, padded."""
    hidden_states: torch.Tensor | None = None
    """What a frozen part of the model gives for these rows, where that is known."""
    per_token: bool = False
    """Whether labels are of tokens."""
    targets: torch.Tensor | None = None
    """The places of the tokens that have a label, where the head reads these alone."""

    @property
    def tokens(self) -> int:
        """Tokens with padding: what the device computes."""
        return self.inputs["input_ids"].numel()


def collate(encoded: Encoded, rows: np.ndarray, pad_lengths: tuple[int, ...] = ()) -> Batch:
    """Pad some rows to the smallest planned length that holds them (to their longest where none does)."""
    import torch

    lengths = _lengths(encoded, rows)
    width = int(padded_lengths(lengths.max(), pad_lengths))
    mask = np.arange(width)[None, :] < lengths[:, None]
    if encoded.pad_left:
        mask = mask[:, ::-1]

    def padded(values: np.ndarray, padding: int, kind: Any = np.int64) -> torch.Tensor:
        whole = np.full((len(rows), width), padding, kind)
        whole[mask] = values
        return torch.from_numpy(whole)

    places = places_of(encoded, rows)
    inputs = {
        "input_ids": padded(encoded.tokens[places], encoded.pad_token),
        "attention_mask": torch.from_numpy(mask.astype(np.int64, order="C")),
    }
    if encoded.token_type_ids is not None:
        inputs["token_type_ids"] = padded(encoded.token_type_ids[places], 0)
    if encoded.labels is None or not encoded.per_token:
        return Batch(inputs, labels_of(encoded, rows), rows)
    return Batch(inputs, padded(encoded.labels[places], NO_LABEL, encoded.labels.dtype), rows, per_token=True)


def pack(
    encoded: Encoded,
    rows: np.ndarray,
    first_position: int = 0,
    in_groups: bool = False,
    equal_lengths: bool = False,
    last_tokens: bool = False,
) -> Batch:
    """Lay some rows end to end in one line, shortest first; positions count from ``first_position`` in each.

    Where that is not 0, the model counts no padding token, not even one that stands in a text.
    """
    import torch

    rows = rows[np.argsort(_lengths(encoded, rows), kind="stable")]
    lengths = _lengths(encoded, rows)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    places = places_of(encoded, rows)
    tokens = encoded.tokens[places].astype(np.int64)
    positions = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
    if first_position:
        counted = tokens != encoded.pad_token
        before = np.concatenate([[0], np.cumsum(counted)])
        positions = (before[:-1] - np.repeat(before[starts[:-1]], lengths) + 1) * counted + first_position - 1
    inputs = {"input_ids": torch.from_numpy(tokens)[None], "position_ids": torch.from_numpy(positions)[None]}
    if encoded.token_type_ids is not None:
        inputs["token_type_ids"] = torch.from_numpy(encoded.token_type_ids[places].astype(np.int64))[None]
    labels = labels_of(encoded, rows)
    if labels is not None and encoded.per_token:
        labels = labels[None]
    packing = packing_of(lengths, in_groups, equal_lengths)
    if last_tokens:
        # As transformers has it: the last that is no padding token, though one may stand in a text.
        counted = np.where(tokens != encoded.pad_token, np.arange(len(tokens)), 0)
        lasts = np.maximum(np.maximum.reduceat(counted, starts[:-1]), starts[:-1])
        packing = replace(packing, lasts=torch.from_numpy(lasts))
    return Batch(inputs, labels, rows, packing, per_token=encoded.per_token)


def _targets(encoded: Encoded, batch: Batch, rows: np.ndarray) -> torch.Tensor:
    """The places of the tokens that have a label. From the rows: a tensor of the batch may be without contents."""
    import torch

    assert encoded.labels is not None
    has_label = encoded.labels[places_of(encoded, batch.rows)] != NO_LABEL
    if batch.packing is not None:
        return torch.from_numpy(np.flatnonzero(has_label))
    width = batch.inputs["input_ids"].shape[1]
    inside = np.arange(width) < _lengths(encoded, rows)[:, None]
    inside = inside[:, ::-1] if encoded.pad_left else inside
    return torch.from_numpy(np.flatnonzero(inside)[has_label])


def packing_of(lengths: np.ndarray, in_groups: bool, equal_lengths: bool = False) -> Packing:
    """Where rows of these lengths lie, which come shortest first."""
    import torch

    starts = np.concatenate([[0], np.cumsum(lengths)])
    return Packing(
        torch.from_numpy(starts.astype(np.int32)),
        torch.arange(len(lengths) + 1, dtype=torch.int32),
        len(lengths),
        int(lengths[-1]),
        _groups(lengths, starts, equal_lengths) if in_groups else (),
    )


def _groups(lengths: np.ndarray, starts: np.ndarray, equal_lengths: bool) -> tuple[LengthGroup, ...]:
    """The rows, which come in order of length, in few groups with little padding, or in one for each length."""
    import torch

    widths = [int(lengths[-1])]
    if equal_lengths:
        widths = np.unique(lengths).tolist()
    elif 1 - lengths.sum() / (len(lengths) * widths[0]) > _LITTLE_PADDING:
        widths = list(plan_lengths(lengths, _MOST_GROUPS))
    cuts = [0, *np.searchsorted(lengths, widths, side="right").tolist()]
    groups = []
    for first, stop, width in zip(cuts, cuts[1:], widths, strict=False):
        own = lengths[first:stop]
        places = unpadded = seen = None
        if own[0] < width:
            inside = np.arange(width)[None, :] < own[:, None]
            offsets = (starts[first:stop] - starts[first])[:, None] + np.arange(width)[None, :]
            places = torch.from_numpy(np.where(inside, offsets, 0).reshape(-1))
            unpadded = torch.from_numpy(np.flatnonzero(inside))
            seen = torch.from_numpy(inside)[:, None, None, :]
        begin, end = int(starts[first]), int(starts[stop])
        groups.append(LengthGroup(first, stop - first, width, begin, end - begin, places, unpadded, seen))
    return tuple(groups)


def _lengths(encoded: Encoded, rows: np.ndarray) -> np.ndarray:
    return encoded.offsets[rows + 1] - encoded.offsets[rows]


def taken(encoded: Encoded, rows: np.ndarray) -> Encoded:
    """The rows at these places, in this order; one may come several times."""
    places = places_of(encoded, rows)
    return replace(
        encoded,
        tokens=encoded.tokens[places],
        token_type_ids=None if encoded.token_type_ids is None else encoded.token_type_ids[places],
        offsets=np.concatenate([[0], np.cumsum(encoded.lengths[rows])]),
        labels=None if encoded.labels is None else encoded.labels[places if encoded.per_token else rows],
    )


def places_of(encoded: Encoded, rows: np.ndarray) -> np.ndarray:
    """Where the tokens of these rows are, end to end."""
    lengths = _lengths(encoded, rows)
    ends = np.cumsum(lengths)
    return np.arange(ends[-1]) + np.repeat(encoded.offsets[rows] - ends + lengths, lengths)


def labels_of(encoded: Encoded, rows: np.ndarray) -> torch.Tensor | None:
    """The labels of these rows, where they have any: one for each row, or for each of their tokens end to end."""
    import torch

    if encoded.labels is None:
        return None
    return torch.from_numpy(encoded.labels[places_of(encoded, rows) if encoded.per_token else rows])


def tokens_of_rows(batch: Batch) -> np.ndarray:
    """How many tokens each row of a batch has."""
    if batch.packing is not None:
        return np.diff(batch.packing.starts[: batch.packing.rows + 1].numpy())
    return batch.inputs["attention_mask"].sum(1).numpy()


def token_mask(batch: Batch, rows: int) -> np.ndarray:
    """Of all places for tokens in a batch, line after line, those that hold a token of its first so many rows."""
    if batch.packing is not None:
        return np.arange(batch.tokens) < int(batch.packing.starts[rows])
    mask = batch.inputs["attention_mask"].numpy().astype(bool)
    mask[rows:] = False
    return mask.reshape(-1)
