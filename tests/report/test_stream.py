"""Output whose reader is gone goes nowhere, without a word."""

from __future__ import annotations

import os

import pytest

from pippin.report.stream import LastingStream


@pytest.mark.parametrize("buffering", [1, 4096], ids=["lines", "blocks"])
def test_a_pipe_that_nobody_reads(buffering):
    reader, writer = os.pipe()
    with os.fdopen(writer, "w", buffering=buffering) as inner:
        stream = LastingStream(inner)
        os.close(reader)
        for _ in range(2):
            assert stream.write("words\n") == 6
            stream.flush()
        assert stream.fileno() == writer
