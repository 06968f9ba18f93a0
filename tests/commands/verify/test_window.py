"""Rows made for models with a window: long enough for padding that sees no text, and no longer than allowed."""

from __future__ import annotations

import numpy as np
import pytest

from pippin.commands.verify.verify import past_window
from pippin.data.encoding import Encoded


@pytest.fixture
def encoded() -> Encoded:
    tokens = np.array([2, 7, 3, 2, 8, 9, 10, 3, 2, 5, 6, 3])
    return Encoded(
        tokens, np.zeros(12, int), np.array([0, 3, 8, 12]), np.array([0, 1, 1]), origin="a.csv", rows=[1, 4, 5]
    )


def test_both_alone_and_the_shortest_beside_one(encoded):
    found, batches = past_window(encoded, np.array([0, 1, 2]), window=6, longest=64)
    assert [batch.tolist() for batch in batches] == [[3, 4], [0, 3]]
    lengths = found.lengths
    assert lengths.tolist() == [3, 5, 4, 17, 17]
    assert lengths[3] - lengths[0] > 6, "padding beside the shortest is farther off than the window reaches"
    assert found.tokens[12:19].tolist() == [2, 7, 3, 2, 7, 3, 2]
    assert len(found.token_type_ids) == len(found.tokens)
    assert found.labels.tolist() == [0, 1, 1, 0, 1]
    assert list(found.rows) == [1, 4, 5, 1, 5]
    assert len(encoded) == 3, "the job's own rows stay as they are"


def test_only_where_a_row_may_be_so_long(encoded):
    assert past_window(encoded, np.array([0, 1]), window=6, longest=16) == (encoded, [])
    assert past_window(encoded, np.array([0, 1]), window=6, longest=17)[1]


def test_rows_without_segments_labels_and_numbers():
    plain = Encoded(np.array([4, 5, 6]), None, np.array([0, 2, 3]), None)
    found, batches = past_window(plain, np.array([0, 1]), window=3, longest=20)
    assert found.lengths.tolist() == [2, 1, 12, 12]
    assert [batch.tolist() for batch in batches] == [[2, 3], [1, 2]]
    assert (found.token_type_ids, found.labels, len(found.rows)) == (None, None, 0)
