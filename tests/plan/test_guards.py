"""A device's known faults in the plan: fewer rows at once, the same batch, and the reason said."""

from __future__ import annotations

import numpy as np
import pytest
from test_make import CPU, MAC, plan

from pippin.errors import PippinError
from pippin.machine.drivers import mps
from pippin.machine.faults import MacFacts

FULL = {"per_device_train_batch_size": 512, "pad_to_max_length": True, "max_seq_length": 128}


@pytest.fixture
def old_mac(monkeypatch):
    monkeypatch.setattr(mps, "facts", lambda: MacFacts("2.12.0", "15.0", "Apple M1"))


@pytest.mark.usefixtures("old_mac")
def test_rows_are_put_through_in_equal_parts():
    made = plan(FULL, (MAC, CPU))
    assert made.batch_size.value == 512
    assert made.micro_batch.value == 171  # three parts, where 255 rows of 128 tokens would be safe
    assert "not 512, since" in made.micro_batch.reason
    assert "#177116" in made.micro_batch.reason
    assert made.guards.value == ("linear gradients",)
    assert "32767 tokens" in made.guards.reason
    assert made.steps.value == plan(FULL, (CPU,)).steps.value


@pytest.mark.usefixtures("old_mac")
def test_parts_of_an_accumulated_batch():
    made = plan({**FULL, "per_device_train_batch_size": 256, "gradient_accumulation_steps": 2}, (MAC, CPU))
    assert (made.batch_size.value, made.micro_batch.value) == (512, 128)


@pytest.mark.usefixtures("old_mac")
def test_only_as_long_as_the_training_rows_are():
    short = {"per_device_train_batch_size": 512}
    made = plan(short, (MAC, CPU), lengths=np.full(1000, 60), evaluated=(np.full(9, 512),))
    assert made.micro_batch.value == 512
    assert made.guards.value == ()
    few = plan(FULL, (MAC, CPU), lengths=np.full(100, 60))
    assert (few.micro_batch.value, few.guards.value) == (512, ()), "there are never 512 rows"


@pytest.mark.usefixtures("old_mac")
def test_other_devices_take_the_whole_batch():
    made = plan(FULL, (CPU,))
    assert made.micro_batch.value == 512
    assert made.guards.value == ()
    assert made.guards.reason


@pytest.mark.usefixtures("old_mac")
def test_a_row_that_is_too_long_by_itself_is_refused():
    with pytest.raises(PippinError, match="rows of 40000 tokens are too long .*--max_seq_length.*--use_cpu"):
        plan({"max_seq_length": 40000}, (MAC, CPU), lengths=np.full(100, 40000))


@pytest.mark.usefixtures("old_mac")
def test_checkpointing_is_guarded_when_it_is_asked_for():
    assert plan({"gradient_checkpointing": True}, (MAC, CPU)).guards.value == ("recomputed dropout",)
    assert plan({"gradient_checkpointing": True}, (MAC, CPU), lengths=None).guards.value == (), "nothing is trained"


@pytest.mark.usefixtures("old_mac")
def test_model_that_looks_back():
    assert plan({}, (MAC, CPU), config={"is_decoder": True}).guards.value == ("tokens that see nothing",)
    both = plan({"bf16": True}, (MAC, CPU), config={"is_decoder": True}).guards
    assert both.value == ("causal attention", "tokens that see nothing")
    assert "tokens that come later (#195910); " in both.reason
