"""From Python keywords to a Recipe: empty values, names with `no_`, tokens, notes, what is refused at which value."""

from __future__ import annotations

import dataclasses

import pytest

from pippin.errors import Mistakes, PippinError
from pippin.recipe.fields import recipe_fields
from pippin.recipe.foreign import NOT_NEEDED, REFUSED
from pippin.recipe.reading import Given, read_recipe, recipe_from

WORDS = sorted(name for name, field in recipe_fields().items() if field.kind in (str, tuple))


@pytest.mark.parametrize("name", WORDS)
@pytest.mark.parametrize("value", ["", "  "])
def test_an_empty_word_is_a_mistake(name, value):
    with pytest.raises(Mistakes, match=f"{name} needs a value"):
        recipe_from({name: value})


def test_none_from_python_means_not_given():
    recipe = recipe_from({"task_name": None, "train_file": None, "model_name_or_path": None, "output_dir": None}).recipe
    assert (recipe.task_name, recipe.train_file, recipe.model_name_or_path, recipe.output_dir) == (None,) * 4


@pytest.mark.parametrize("value", [True, "true", "yes"])
def test_no_names_work_as_keywords(value):
    assert recipe_from({"no_use_fast_tokenizer": value}).recipe.use_fast_tokenizer is False
    assert recipe_from({"no_dataloader_pin_memory": value}).notes == ()


@pytest.mark.parametrize(("value", "message"), [(False, "double no. Use bf16"), ("maybe", "'maybe' is not true or")])
def test_no_names_with_other_values_are_mistakes(value, message):
    with pytest.raises(Mistakes, match=message):
        recipe_from({"no_bf16": value})


def test_no_before_what_is_no_switch_is_unknown():
    with pytest.raises(Mistakes, match="no_seed: there is no such setting"):
        recipe_from({"no_seed": True})


@pytest.mark.parametrize("name", ["use_auth_token", "token"])
def test_token_as_a_switch(name):
    reading = recipe_from({name: True})
    assert reading.recipe.token is None
    assert "stored login is used by itself" in reading.notes[0]
    assert recipe_from({name: False}) == recipe_from({})
    assert recipe_from({name: "hf_abc"}).recipe.token == "hf_abc"


def test_hugging_faces_defaults_are_taken_silently():
    from transformers import TrainingArguments

    checked = 0
    for field in dataclasses.fields(TrainingArguments):
        default = field.default if field.default is not dataclasses.MISSING else []
        default = getattr(default, "value", default)
        if field.name not in {*REFUSED, *NOT_NEEDED}:
            continue
        reading = recipe_from({field.name: default})
        checked += 1
        if default is not True:
            assert reading.notes == (), field.name
    assert checked > 30


@pytest.mark.parametrize(("name", "default"), [("past_index", -1), ("fp16_opt_level", "O1"), ("ray_scope", "last")])
def test_defaults_of_names_that_transformers_dropped(name, default):
    assert recipe_from({name: default}).notes == ()
    assert recipe_from({name: str(default)}).notes == ()
    with pytest.raises(Mistakes, match=f"{name} cannot be honoured"):
        recipe_from({name: "2"})


def test_nan_filter_is_taken_with_a_note():
    assert "never hides a NaN" in recipe_from({"logging_nan_inf_filter": True}).notes[0]
    assert recipe_from({"logging_nan_inf_filter": False}).notes == ()


def test_turning_off_what_is_not_needed():
    assert recipe_from({"dataloader_pin_memory": False, "save_safetensors": None}).notes == ()
    assert recipe_from({"save_safetensors": True}).notes
    for off in (False, "false", "off"):
        with pytest.raises(Mistakes, match="save_safetensors cannot be honoured: Pippin writes no pickle"):
            recipe_from({"save_safetensors": off})
    with pytest.raises(Mistakes, match="no_save_safetensors cannot be honoured"):
        recipe_from({"no_save_safetensors": True})


def test_warm_up_is_said_once():
    assert recipe_from({"warmup_ratio": 0, "warmup_steps": 5}).recipe.warmup_steps == 5
    assert recipe_from({"warmup_ratio": 0.1, "warmup_steps": 0}).recipe.warmup_ratio == 0.1
    with pytest.raises(Mistakes, match="exclude each other: both set the warm-up"):
        recipe_from({"warmup_ratio": 0.1, "warmup_steps": 5})


@pytest.mark.parametrize("rows", ["task_name", "dataset_name", "train_file", "data"])
@pytest.mark.parametrize("extra", ["validation_file", "test_file"])
def test_files_beside_any_training_rows(rows, extra):
    assert getattr(recipe_from({rows: "mrpc", extra: "v.csv"}).recipe, extra) == "v.csv"


def test_validation_file_alone_has_no_training_rows():
    with pytest.raises(Mistakes, match="validation_file needs training rows"):
        recipe_from({"validation_file": "v.csv"})


WITHOUT_EFFECT = [
    ({"gradient_checkpointing_kwargs": {"use_reentrant": True}}, {"gradient_checkpointing": True}),
    ({"early_stopping_threshold": 0.1}, {"early_stopping_patience": 2}),
    ({"metric_for_best_model": "f1"}, {"load_best_model_at_end": True}),
    ({"metric_for_best_model": "f1"}, {"lr_scheduler_type": "reduce_lr_on_plateau"}),
    ({"greater_is_better": False}, {"save_strategy": "best"}),
    ({"greater_is_better": True}, {"early_stopping_patience": 1}),
]


@pytest.mark.parametrize(("lonely", "companion"), WITHOUT_EFFECT)
def test_settings_without_effect_are_noted_not_refused(lonely, companion):
    (note,) = recipe_from(lonely).notes
    assert note.startswith(f"{next(iter(lonely))} has no effect without --")
    assert f"--{next(iter(companion))}" in note
    assert recipe_from({**lonely, **companion}).notes == ()


def test_checks_of_other_packages_join_the_mistakes():
    def refuse(value: str) -> None:
        raise PippinError(f"{value} is refused")

    given = [Given("device", "gpu", "--device"), Given("sead", "1", "--sead")]
    with pytest.raises(Mistakes, match="2 things") as caught:
        read_recipe(given, checks={"device": refuse, "task_name": refuse})
    assert "gpu is refused" in str(caught.value)
