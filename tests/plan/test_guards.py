"""A device's known faults in the plan: fewer rows at once, the same batch, and the reason said."""

from __future__ import annotations

import numpy as np
import pytest
from test_make import CPU, plan

from pippin.errors import PippinError
from pippin.machine.faults import MacFacts
from pippin.machine.traits import apple_gpu
from pippin.machine.work import Work

FULL = {"per_device_train_batch_size": 512, "pad_to_max_length": True, "max_seq_length": 128}


MAC = apple_gpu(MacFacts("2.12.0", "15.0", "Apple M1"), 10 * 2**30)


def test_rows_are_put_through_in_equal_parts():
    made = plan(FULL, (MAC, CPU))
    assert made.batches.batch_size.value == 512
    assert made.batches.micro_batch.value == 171  # three parts, where 255 rows of 128 tokens would be safe
    assert "not 512, since" in made.batches.micro_batch.reason
    assert "#177116" in made.batches.micro_batch.reason
    assert made.execution.guards.value == ("linear gradients",)
    assert "32767 tokens" in made.execution.guards.reason
    assert made.schedule.steps.value == plan(FULL, (CPU,)).schedule.steps.value


def test_parts_of_an_accumulated_batch():
    made = plan({**FULL, "per_device_train_batch_size": 256, "gradient_accumulation_steps": 2}, (MAC, CPU))
    assert (made.batches.batch_size.value, made.batches.micro_batch.value) == (512, 128)


def test_only_as_long_as_the_training_rows_are():
    short = {"per_device_train_batch_size": 512}
    made = plan(short, (MAC, CPU), lengths=np.full(1000, 60), evaluated=(np.full(9, 512),))
    assert made.batches.micro_batch.value == 512
    assert made.execution.guards.value == ()
    few = plan(FULL, (MAC, CPU), lengths=np.full(100, 60))
    assert (few.batches.micro_batch.value, few.execution.guards.value) == (512, ()), "there are never 512 rows"


def test_other_devices_take_the_whole_batch():
    made = plan(FULL, (CPU,))
    assert made.batches.micro_batch.value == 512
    assert made.execution.guards.value == ()
    assert made.execution.guards.reason


def test_a_row_that_is_too_long_by_itself_is_refused():
    with pytest.raises(PippinError, match="rows of 40000 tokens are too long .*--max_seq_length.*--use_cpu"):
        plan({"max_seq_length": 40000}, (MAC, CPU), lengths=np.full(100, 40000))


def test_checkpointing_is_guarded_when_it_is_asked_for():
    assert plan({"gradient_checkpointing": True}, (MAC, CPU)).execution.guards.value == ("recomputed dropout",)
    assert plan({"gradient_checkpointing": True}, (MAC, CPU), lengths=None).execution.guards.value == (), (
        "nothing is trained"
    )


def test_causal_model():
    causal = plan({}, (MAC, CPU), work=Work(causal=True))
    assert causal.execution.guards.value == ("tokens that see nothing",)
    assert (causal.execution.attention, plan({}, (MAC, CPU)).execution.attention) == ("eager", None)
    both = plan({"bf16": True}, (MAC, CPU), work=Work(causal=True)).execution.guards
    assert both.value == ("causal attention", "tokens that see nothing")
    assert "tokens that come later (#195910); " in both.reason
