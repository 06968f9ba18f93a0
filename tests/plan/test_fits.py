"""What the plan does about memory: nothing where there is enough, then the cheapest that helps, with its reason."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from test_make import CLASSES, CPU, MAC, NVIDIA, machine, plan
from transformers import BertConfig

from pippin.models.facts import facts_of
from pippin.plan import fits
from pippin.plan.facts import Rows
from pippin.plan.make import make_plan
from pippin.plan.memory import Estimate
from pippin.plan.plan import Plan
from pippin.recipe.reading import recipe_from

LARGE = {"do_train": True, "per_device_train_batch_size": 32}


MODEL = facts_of(BertConfig(), outputs=2, longest_input=512)


def made(
    limit: float | None = None,
    devices=(MAC, CPU),
    length: int = 128,
    budget: int | None = 100 * 2**30,
    estimator=None,
    **settings,
) -> Plan:
    asked = {**LARGE, **settings} | ({"memory_limit": limit} if limit else {})
    rows = Rows(np.full(400, length), (np.array([60]),), has_validation=True, words=30522)
    here = machine(*(replace(device, memory_bytes=None, budget_bytes=budget) for device in devices))
    return make_plan(recipe_from(asked).recipe, here, replace(CLASSES, outputs=2), MODEL, rows, estimator=estimator)


def test_nothing_is_done_where_there_is_room():
    roomy = made()
    assert (roomy.batches.micro_batch.value, roomy.memory.activations.value, roomy.memory.updates.value) == (
        32,
        "kept",
        "after backward",
    )
    assert roomy.memory.budget.value == 100 * 2**30
    assert roomy.memory.needed.reason.startswith("fits: about 4.6 GB of 100.0 GB (layers ")


def test_smaller_micro_batches_come_first():
    sizes = [made(limit).batches.micro_batch.value for limit in (6, 4, 3, 2.2)]
    assert sizes[0] == 32
    assert sizes == sorted(set(sizes), reverse=True)
    small = made(3)
    assert (small.memory.activations.value, small.batches.batch_size.value) == ("kept", 32)
    assert small.memory.needed.value <= 3 * 2**30
    assert "not 32: otherwise it would need about 4.6 GB; their gradients" in small.batches.micro_batch.reason
    assert small.memory.budget.reason == "set by --memory_limit"


def test_then_activations_are_recomputed():
    narrow = made(2, length=512)
    assert narrow.memory.activations.value == "recomputed"
    assert "about a third slower" in narrow.memory.activations.reason
    assert narrow.memory.needed.value <= 2 * 2**30
    assert 1 < narrow.batches.micro_batch.value < 32
    assert narrow.execution.guards.value == made(gradient_checkpointing=True).execution.guards.value != ()


def test_what_was_asked_for_stays():
    asked = made(gradient_checkpointing=True)
    assert (asked.memory.activations.value, asked.batches.micro_batch.value) == ("recomputed", 32)
    assert "--gradient_checkpointing" in asked.memory.activations.reason
    assert made(gradient_accumulation_steps=4, per_device_train_batch_size=8).batches.micro_batch.value == 8


def test_updates_in_backward_only_where_nothing_needs_the_whole_gradient():
    few = {"per_device_train_batch_size": 1}
    assert made(1.5, **few, max_grad_norm=0).memory.updates.value == "in backward"
    assert made(1.5, **few, max_grad_norm=0).batches.micro_tokens.value == 0
    assert made(1.5, **few).memory.updates.value == "after backward"
    assert made(1.5, **few, max_grad_norm=0, gradient_accumulation_steps=2).memory.updates.value == "after backward"
    assert made(10, **few, max_grad_norm=0).memory.updates.value == "after backward"


def test_what_does_not_fit_is_said():
    hopeless = made(1)
    assert hopeless.memory.needed.reason.startswith("does not fit: needs about 1.")
    assert hopeless.memory.activations.value == "recomputed"


def test_the_cpu_takes_no_more_at_once_than_makes_it_fast():
    on_cpu = made(devices=(CPU,))
    assert (on_cpu.batches.micro_batch.value, on_cpu.batches.micro_tokens.value) == (32, 512)
    assert on_cpu.memory.saving.value == "beside the steps"
    assert on_cpu.memory.needed.value < 3.5 * 2**30
    narrow = made(2.5, devices=(CPU,))
    assert (narrow.memory.saving.value, narrow.batches.micro_batch.value) == ("between steps", 32), (
        "the first that is done without"
    )
    assert made().batches.micro_tokens.value == 0


def test_the_head_alone_takes_all_rows_at_once():
    assert made(devices=(CPU,), freeze="core").batches.micro_tokens.value == 0
    assert made(devices=(CPU,), freeze="6").batches.micro_tokens.value == 512
    assert made(freeze="6").memory.needed.value < 0.7 * made().memory.needed.value


def test_recorded_steps_are_given_up_before_activations():
    many = {"max_steps": 1000, "bf16": False}
    kind = {"devices": (NVIDIA, CPU)}
    assert made(**kind, **many).execution.step.value == "captured"
    narrow = made(1.9, **kind, **many)
    assert (narrow.execution.step.value, narrow.memory.activations.value) == ("plain calls", "kept")
    assert "recorded steps hold extra memory" in narrow.execution.step.reason


def test_recorded_steps_have_parts_of_one_size():
    many = {"max_steps": 1000, "devices": (NVIDIA, CPU)}
    found = [made(budget / 10, **many) for budget in range(20, 45)]
    recorded = {each.batches.micro_batch.value for each in found if each.execution.step.value == "captured"}
    assert len(recorded) > 1
    assert all(32 % rows == 0 for rows in recorded)


def test_other_rows_are_not_left_out_for_memory():
    last = {"dataloader_drop_last": True, "num_train_epochs": 1.0}
    assert made(2.2, **last).batches.micro_batch.value < 32
    assert made(2.2, **last).schedule.steps.value == made(**last).schedule.steps.value == 12


def test_nothing_is_known_of_other_models_or_devices():
    unknown = plan({"memory_limit": 1})
    assert (unknown.memory.needed.value, unknown.memory.needed.reason) == (0, "not known for this kind of model")
    assert made(budget=None).memory.budget.value == 0
    assert made(budget=None).memory.needed.reason.startswith("about 4.6 GB: ")


@pytest.mark.parametrize(
    "settings", [{}, {"per_device_train_batch_size": 10**15}, {"gradient_accumulation_steps": 10**9}]
)
@pytest.mark.parametrize("limit", [None, 3, 0.5], ids=["room", "little", "too little"])
@pytest.mark.parametrize("devices", [(CPU,), (MAC, CPU), (NVIDIA, CPU)], ids=["cpu", "mps", "cuda"])
def test_batches_of_any_size_are_weighed_by_the_rows_that_there_are(monkeypatch, settings, limit, devices):
    """As many looks as there are different parts of the rows, not as many as rows were asked for."""
    looks = []
    real = fits.quick_estimator

    def counting(*facts):
        quick = real(*facts)
        return lambda plan: looks.append(1) or quick(plan)

    monkeypatch.setattr("pippin.plan.make.quick_estimator", counting)
    asked = {"per_device_train_batch_size": 10**9, **settings}
    huge = made(limit, devices, **asked)
    assert len(looks) < 50
    if "gradient_accumulation_steps" not in settings:
        all_rows = made(limit, devices, per_device_train_batch_size=400)
        assert huge.memory.needed.value == all_rows.memory.needed.value
        assert min(huge.batches.micro_batch.value, 400) == all_rows.batches.micro_batch.value


@pytest.mark.parametrize("whole", [1, 2, 3, 7, 32, 97, 400, 4096])
def test_parts_of_a_batch(whole):
    assert fits._parts_of(whole) == sorted({-(-whole // parts) for parts in range(2, whole + 1)}, reverse=True)


def test_of_very_many_parts_the_heaviest_are_weighed(monkeypatch):
    """A million rows one by one would take a million looks."""
    few = made(2, per_device_train_batch_size=400, devices=(CPU,))
    monkeypatch.setattr(fits, "_MOST_PARTS", 10**9)
    assert made(2, per_device_train_batch_size=400, devices=(CPU,)) == few


def test_another_estimator_decides_in_its_place():
    """It sees whole plans, and what depends on a change is derived again."""
    seen = []

    def by_rows(plan: Plan) -> Estimate:
        seen.append(plan)
        recorded = plan.execution.step.value == "captured"
        return Estimate({"rows": plan.batches.micro_batch.value << 30, "recorded steps": 100 << 30 if recorded else 0})

    many = {"max_steps": 1000, "devices": (NVIDIA, CPU), "estimator": by_rows}
    roomy = made(1000, **many)
    assert (roomy.execution.step.value, len(roomy.execution.capacities.value) > 0, len(seen)) == ("captured", True, 1)
    narrow = made(12, **many)
    assert (narrow.batches.micro_batch.value, narrow.memory.needed.value) == (11, 11 << 30)
    assert (narrow.execution.step.value, narrow.execution.compiled.value, narrow.execution.capacities.value) == (
        "plain calls",
        "never",
        (),
    )
    assert made(0.5, **many).memory.activations.value == "kept", "what does not help is not done"
    assert len(seen) < 25
