"""Batches of tensors: padded to planned lengths, or packed end to end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pippin.data.collate import collate, pack
from pippin.data.encoding import Encoded


@pytest.fixture
def encoded() -> Encoded:
    """Three rows of 2, 4 and 1 tokens."""
    return Encoded(
        tokens=np.array([11, 12, 21, 22, 23, 24, 31], dtype=np.int32),
        token_type_ids=np.array([0, 1, 0, 0, 1, 1, 0], dtype=np.int32),
        offsets=np.array([0, 2, 6, 7]),
        labels=np.array([5, 6, 7]),
        cut=0,
    )


def test_collate_pads_to_the_smallest_planned_length(encoded):
    batch = collate(replace(encoded, pad_token=99), np.array([2, 0]), (3, 8))
    assert batch.inputs["input_ids"].tolist() == [[31, 99, 99], [11, 12, 99]]
    assert batch.inputs["attention_mask"].tolist() == [[1, 0, 0], [1, 1, 0]]
    assert batch.inputs["token_type_ids"].tolist() == [[0, 0, 0], [0, 1, 0]]
    assert batch.labels.tolist() == [7, 5]
    assert batch.rows.tolist() == [2, 0]
    assert batch.tokens == 6
    assert {str(tensor.dtype) for tensor in [*batch.inputs.values(), batch.labels]} == {"torch.int64"}


def test_collate_pads_nothing_where_a_planned_length_fits(encoded):
    assert collate(encoded, np.array([0]), (2, 4)).inputs["input_ids"].tolist() == [[11, 12]]


def test_collate_takes_the_longest_where_no_planned_length_holds_it(encoded):
    batch = collate(encoded, np.array([0, 1]), (2, 3))
    assert batch.inputs["input_ids"].tolist() == [[11, 12, 0, 0], [21, 22, 23, 24]]
    assert batch.inputs["attention_mask"].tolist() == [[1, 1, 0, 0], [1, 1, 1, 1]]
    assert batch.inputs["token_type_ids"].tolist() == [[0, 1, 0, 0], [0, 0, 1, 1]]


def test_collate_without_segments_and_labels(encoded):
    bare = Encoded(encoded.tokens, None, encoded.offsets, None, 0)
    batch = collate(bare, np.array([0]), ())
    assert set(batch.inputs) == {"input_ids", "attention_mask"}
    assert batch.labels is None


def test_collate_pads_on_the_left_where_the_model_wants_it(encoded):
    batch = collate(replace(encoded, pad_left=True, pad_token=99), np.array([0, 1]))
    assert batch.inputs["input_ids"].tolist() == [[99, 99, 11, 12], [21, 22, 23, 24]]
    assert batch.inputs["attention_mask"].tolist() == [[0, 0, 1, 1], [1, 1, 1, 1]]
    assert batch.inputs["token_type_ids"].tolist() == [[0, 0, 0, 1], [0, 0, 1, 1]]


def test_pack_lays_rows_end_to_end_shortest_first(encoded):
    batch = pack(encoded, np.array([0, 1, 2]))
    assert batch.rows.tolist() == [2, 0, 1]
    assert batch.inputs["input_ids"].tolist() == [[31, 11, 12, 21, 22, 23, 24]]
    assert batch.inputs["position_ids"].tolist() == [[0, 0, 1, 0, 1, 2, 3]]
    assert batch.inputs["token_type_ids"].tolist() == [[0, 0, 1, 0, 0, 1, 1]]
    assert batch.labels.tolist() == [7, 5, 6]
    assert batch.packing.starts.tolist() == [0, 1, 3, 7]
    assert (batch.packing.rows, batch.packing.longest, batch.tokens) == (3, 4, 7)


def test_pack_counts_positions_after_padding_without_padding(encoded):
    odd = replace(encoded, tokens=np.array([11, 12, 21, 1, 23, 24, 31], dtype=np.int32), pad_token=1)
    assert pack(odd, np.array([0, 1]), first_position=2).inputs["position_ids"].tolist() == [[2, 3, 2, 1, 3, 4]]


@pytest.mark.parametrize("lengths", [[4, 4, 4], [1, 2, 3, 50], list(range(1, 40)), [7], [3, 3, 9, 9, 9, 9]])
def test_groups_hold_every_token_once(lengths):
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    rows = Encoded(np.arange(offsets[-1], dtype=np.int32), None, offsets, None)
    batch = pack(rows, np.random.default_rng(0).permutation(len(lengths)), in_groups=True)
    tokens = batch.inputs["input_ids"][0]
    found, padded = [], 0
    for group in batch.packing.groups:
        own = tokens[group.first_token : group.first_token + group.tokens]
        padded += group.rows * group.width
        if group.places is None:
            assert len(own) == group.rows * group.width
        else:
            shaped = own[group.places].view(group.rows, group.width)
            assert own.equal(shaped.flatten()[group.unpadded])
            assert own.equal(shaped[group.seen[:, 0, 0]])
        found += own.tolist()
    assert found == tokens.tolist()
    assert len(batch.packing.groups) <= 4
    assert padded <= max(1.4 * offsets[-1], offsets[-1] + 8)
