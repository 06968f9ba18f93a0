"""The plan: what each choice is, and that its reason is said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pippin.errors import PippinError
from pippin.machine.faults import MacFacts
from pippin.machine.machine import Machine
from pippin.machine.traits import DeviceTraits, apple_gpu, traits_of
from pippin.machine.work import Work
from pippin.models.facts import ModelFacts
from pippin.plan.facts import Rows, TaskFacts
from pippin.plan.make import make_plan
from pippin.plan.plan import Plan
from pippin.recipe.reading import recipe_from

CPU = traits_of("cpu", "some processor")
MAC = apple_gpu(MacFacts("2.13.0", "14.5", "Apple M3"), 10 * 2**30)
NVIDIA = traits_of("cuda", "NVIDIA card", memory_bytes=80 * 2**30)
CLASSES = TaskFacts(("accuracy", "f1_macro", "loss"), "accuracy", outputs=6)
NUMBERS = TaskFacts(("pearson", "mse", "loss"), "pearson", 1, lower_is_better=frozenset({"loss", "mse"}))
MODEL = ModelFacts(hidden_size=384, longest_input=512)


def machine(*devices: DeviceTraits) -> Machine:
    return Machine("Darwin", "14.5", "arm64", "3.11", "2.13.0", "5.22.2", 8, 16 * 2**30, devices)


def plan(
    settings: dict | None = None,
    devices: tuple[DeviceTraits, ...] = (CPU,),
    task=CLASSES,
    processes: int = 1,
    launcher: str = "",
    **rows,
) -> Plan:
    model = replace(MODEL, work=rows.pop("work", Work()))
    lengths = rows.pop("lengths", np.random.default_rng(0).integers(5, 60, 1000))
    facts = Rows(**{"lengths": lengths, "evaluated": (np.array([60]),), "has_validation": True, **rows})
    here = replace(machine(*devices), processes=processes, launcher=launcher)
    return make_plan(recipe_from(settings or {}).recipe, here, task, model, facts)


@pytest.mark.parametrize(
    ("devices", "expected"),
    [((MAC, CPU), "mps"), ((NVIDIA, CPU), "cuda"), ((CPU,), "cpu"), ((MAC, NVIDIA, CPU), "mps")],
)
def test_the_best_device_is_chosen_and_nobody_names_it(devices, expected):
    choice = plan(devices=devices).execution.device
    assert choice.value == expected
    assert choice.reason


def test_device_flags():
    assert plan({"use_cpu": True}, (MAC, CPU)).execution.device.value == "cpu"
    assert plan({"device": "cuda:0"}, (NVIDIA, CPU)).execution.device.value == "cuda:0"
    with pytest.raises(PippinError, match="there are only 1"):
        plan({"device": "cuda:1"}, (NVIDIA, CPU))
    with pytest.raises(PippinError, match="--device mps: there is no mps device. Available here: cpu"):
        plan({"device": "mps"})


def test_few_shapes_where_the_device_needs_them():
    padding = plan(devices=(MAC, CPU)).batches.pad_lengths
    assert len(padding.value) <= 8
    assert padding.value[-1] == 60
    assert "padding" in padding.reason
    assert plan().batches.pad_lengths.value == ()
    assert plan({"pad_to_max_length": True}).batches.pad_lengths.value == (128,)


def test_few_shapes_also_where_nothing_is_trained():
    splits = (np.arange(5, 40), np.arange(30, 90))
    padding = plan(devices=(MAC, CPU), lengths=None, evaluated=splits).batches.pad_lengths
    assert len(padding.value) == 8
    assert padding.value[-1] == 89
    assert plan(lengths=None, evaluated=splits).batches.pad_lengths.value == ()


def test_one_long_row_of_another_split_does_not_pad_the_training():
    lengths = np.random.default_rng(0).integers(5, 60, 1000)
    padding = plan(devices=(MAC, CPU), lengths=lengths, evaluated=(np.array([512]),)).batches.pad_lengths.value
    assert padding[-2:] == (59, 512)


def test_length_is_clipped_to_the_model():
    choice = plan({"max_seq_length": 4000}).batches.max_length
    assert choice.value == 512
    assert "4000" in choice.reason


def test_steps_epochs_and_accumulation():
    made = plan({"per_device_train_batch_size": 8, "gradient_accumulation_steps": 4, "num_train_epochs": 2.5})
    assert (made.batches.batch_size.value, made.batches.micro_batch.value) == (32, 8)
    assert made.schedule.steps.value == 80  # ceil(1000 / 32) = 32 an epoch
    assert plan({"max_steps": 7}).schedule.steps.value == 7


@pytest.mark.parametrize(
    ("settings", "steps"),
    [({"warmup_steps": 10}, 10), ({"warmup_steps": 0.25}, 25), ({"warmup_ratio": 0.5}, 50), ({"warmup_steps": 0}, 0)],
)
def test_warm_up(settings, steps):
    assert plan({"max_steps": 100, **settings}).rates.warmup_steps.value == steps


def test_classic_commands_get_hugging_faces_defaults():
    made = plan({"do_train": True, "do_eval": True})
    values = [
        made.rates.learning_rate,
        made.rates.head_learning_rate,
        made.schedule.epochs,
        made.batches.batch_size,
        made.rates.warmup_steps,
    ]
    assert [choice.value for choice in values] == [5e-5, 5e-5, 3.0, 8, 0]
    assert (made.schedule.eval_steps.value, made.schedule.best_metric.value) == (0, "")


def test_own_choices_evaluate_every_epoch_and_keep_the_last():
    made = plan()
    assert made.schedule.eval_steps.value == -(-1000 // made.batches.batch_size.value)
    assert (made.schedule.best_metric.value, made.schedule.patience.value, made.schedule.save_steps.value) == ("", 0, 0)


@pytest.mark.parametrize(("task", "metric"), [(CLASSES, "accuracy"), (NUMBERS, "pearson")], ids=["classes", "numbers"])
def test_the_best_is_judged_by_the_tasks_own_metric(task, metric):
    made = plan({"load_best_model_at_end": True}, task=task)
    assert made.schedule.best_metric.value == metric
    assert made.schedule.keeps_best
    classic = plan({"do_train": True, "eval_strategy": "epoch", "load_best_model_at_end": True}, task=task)
    assert classic.schedule.best_metric.value == "loss", "Hugging Face's default"


def test_more_is_better_but_of_errors():
    best = {"load_best_model_at_end": True}
    assert plan(best).schedule.greater_is_better
    assert not plan({**best, "metric_for_best_model": "mse"}, task=NUMBERS).schedule.greater_is_better
    assert plan(
        {**best, "metric_for_best_model": "mse", "greater_is_better": True}, task=NUMBERS
    ).schedule.greater_is_better


def test_patience_keeps_the_best_too():
    assert plan({"early_stopping_patience": 3}).schedule.best_metric.value == "accuracy"


def test_contradictory_wishes_are_refused():
    with pytest.raises(PippinError, match="--metric_for_best_model bleu: this task has accuracy, f1_macro, loss"):
        plan({"metric_for_best_model": "bleu", "load_best_model_at_end": True})
    with pytest.raises(PippinError, match="--eval_strategy epoch"):
        plan({"do_train": True, "load_best_model_at_end": True})
    with pytest.raises(PippinError, match="no validation rows"):
        plan({"eval_strategy": "epoch"}, has_validation=False)


def test_every_choice_has_a_reason():
    for settings in ({}, {"do_train": True}, {"learning_rate": 1e-3, "num_train_epochs": 1, "bf16": True}):
        assert all(choice.reason for choice in plan(settings).choices().values())


@pytest.mark.parametrize(
    ("settings", "steps"),
    [
        ({}, 0),
        ({"save_steps": 30}, 30),
        ({"save_steps": 0.5}, 50),
        ({"save_strategy": "steps"}, 500),
        ({"save_strategy": "no", "save_steps": 30}, 0),
        ({"save_strategy": "best", "load_best_model_at_end": True}, 0),
    ],
)
def test_copies(settings, steps):
    assert plan({"max_steps": 100, **settings}).schedule.save_steps.value == steps


def test_warm_up_that_does_not_happen_is_not_promised():
    assert plan({"lr_scheduler_type": "constant", "warmup_steps": 10}).rates.warmup_steps.value == 0
    assert plan({"max_steps": 100, "warmup_ratio": 0, "warmup_steps": 5}).rates.warmup_steps.value == 5


def test_last_rows_that_fill_no_micro_batch_are_dropped():
    settings = {"per_device_train_batch_size": 8, "gradient_accumulation_steps": 4, "num_train_epochs": 1}
    lengths = np.full(1003, 9)
    assert plan(settings, lengths=lengths).schedule.steps.value == 32
    assert (
        plan({**settings, "dataloader_drop_last": True}, lengths=np.full(999, 9)).schedule.steps.value == 31
    )  # 124 of 8 rows


def test_epochs_follow_from_max_steps():
    assert plan({"max_steps": 126, "per_device_train_batch_size": 16}).schedule.epochs.value == 2.0


def test_settings_without_sense_here():
    with pytest.raises(PippinError, match="--eval_on_start: there are no validation rows"):
        plan({"eval_on_start": True}, has_validation=False)
    with pytest.raises(PippinError, match="reduce_lr_on_plateau needs evaluations"):
        plan({"lr_scheduler_type": "reduce_lr_on_plateau", "do_train": True})


def test_without_a_flag_the_batch_does_not_depend_on_the_number_of_processes():
    alone, four = plan(), plan(processes=4, launcher="torchrun")
    assert four.batches.batch_size.value == alone.batches.batch_size.value
    assert four.schedule.steps.value == alone.schedule.steps.value
    assert four.batches.micro_batch.value == alone.batches.batch_size.value / 4
    each = plan({"per_device_train_batch_size": 8}, processes=4, launcher="torchrun")
    assert each.batches.batch_size.value == 32
    assert plan({"batch_size": 8}, processes=4, launcher="torchrun").batches.batch_size.value == 8


@pytest.mark.parametrize(
    ("asked", "processes", "shards"),
    [(None, 1, 0), (None, 2, 4), (None, 4, 4), (None, 5, 8), ("fast", 4, 0), ("exact", 1, 4)],
)
def test_shards_are_the_same_for_one_two_and_four_processes(asked, processes, shards):
    launcher = "torchrun" if processes > 1 else ""
    found = plan({"reduce": asked}, processes=processes, launcher=launcher)
    assert found.execution.shards.value == shards
    assert found.execution.processes.value == processes


@pytest.mark.parametrize(
    ("settings", "first"),
    [
        ({}, 0),
        ({"eval_delay": 1.1}, 70),
        ({"eval_delay": 7, "eval_strategy": "steps"}, 7),
        ({"eval_delay": 7, "eval_steps": 3}, 7),
    ],
)
def test_the_first_evaluation(settings, first):
    assert plan({"per_device_train_batch_size": 16, **settings}).schedule.first_evaluation == first


def test_what_the_user_alone_decides_stands_in_the_plan():
    made = plan({"optim": "sgd", "seed": 7, "save_steps": 3, "save_strategy": "steps", "save_total_limit": 2})
    assert (
        made.rates.optim,
        made.execution.seed,
        made.batches.order_seed,
        made.schedule.save_minutes,
        made.schedule.save_total_limit,
    ) == ("sgd", 7, 7, 0.0, 2)
    assert made.keeps_checkpoints
    assert plan({"save_strategy": "best", "load_best_model_at_end": True}).keeps_checkpoints
    assert not plan().keeps_checkpoints
    assert plan({"dataloader_drop_last": True, "per_device_train_batch_size": 8}).batches.drop_last == 8
