"""A Recipe as the words that ask for it, read back."""

from __future__ import annotations

import shlex
from dataclasses import replace

from pippin.recipe import Recipe
from pippin.recipe.command import train_command
from train_words import read_command


def test_the_command_asks_for_the_same_recipe():
    recipe = Recipe(
        data="my rows.csv", text_column=("title", "body"), learning_rate=3e-5, bf16=False, keep_awake=False,
        gradient_checkpointing=True, gradient_checkpointing_kwargs={"use_reentrant": False}, max_steps=7,
        output_dir="runs/it's mine", overwrite_output_dir=True,
    )  # fmt: skip
    command = train_command(recipe)
    assert command.startswith("pippin train 'my rows.csv' ")
    assert read_command(shlex.split(command)[2:]).recipe == recipe


def test_numbers_and_flags_as_people_write_them():
    recipe = Recipe(data="rows.csv", num_train_epochs=15.0, learning_rate=2e-5, model_name_or_path="b.0", max_steps=10)
    assert train_command(recipe) == "pippin train rows.csv --model b.0 --lr 2e-05 --epochs 15 --max_steps 10"


def test_secrets_and_what_was_meant_once_are_left_out():
    recipe = Recipe(data="rows.csv", token="hf_secret", resume=True)
    assert train_command(recipe) == "pippin train rows.csv"
    assert train_command(replace(recipe, data=None)) == "pippin train"
