"""Command lines as words: spellings, switches, mistakes in one go, files and flags."""

from __future__ import annotations

from pathlib import Path

import pytest

from pippin.cli.train import read_command
from pippin.errors import Mistakes
from pippin.recipe.fields import recipe_fields

CLASSIC = (
    "--model_name_or_path google-bert/bert-base-cased --task_name mrpc --do_train --do_eval --max_seq_length 128 "
    "--per_device_train_batch_size 32 --learning_rate 2e-5 --num_train_epochs 3 --output_dir /tmp/mrpc/ "
    "--overwrite_output_dir"
)


@pytest.mark.parametrize("extra", ["", " --use_mps_device", " --use_mps_device True"])
def test_classic_command_word_for_word(extra):
    reading = read_command((CLASSIC + extra).split())
    recipe = reading.recipe
    assert (recipe.task_name, recipe.do_train, recipe.do_eval, recipe.do_predict) == ("mrpc", True, True, False)
    assert (recipe.learning_rate, recipe.num_train_epochs, recipe.per_device_train_batch_size) == (2e-5, 3.0, 32)
    assert recipe.overwrite_output_dir
    assert bool(reading.notes) == bool(extra), "a flag that is not needed is said, never silent"


def test_snake_and_kebab_and_equals_are_the_same():
    spellings = ["--learning_rate 0.001", "--learning-rate 0.001", "--learning_rate=0.001", "--learning-rate=1e-3"]
    assert {read_command(spelling.split()).recipe.learning_rate for spelling in spellings} == {0.001}


@pytest.mark.parametrize(
    ("words", "value"),
    [("--bf16", True), ("--bf16 true", True), ("--bf16 False", False), ("--no_bf16", False), ("--bf16=0", False)],
)
def test_switches(words, value):
    assert read_command(words.split()).recipe.bf16 is value


def test_switch_does_not_swallow_the_file():
    recipe = read_command(["--bf16", "reviews.csv"]).recipe
    assert recipe.data == "reviews.csv"
    recipe = read_command(["--use_mps_device", "reviews.csv"]).recipe
    assert recipe.data == "reviews.csv"


def test_older_names_still_work():
    recipe = read_command("--no_cuda --evaluation_strategy epoch --warmup_ratio 0.1 --group_by_length".split()).recipe
    assert recipe.use_cpu
    assert recipe.eval_strategy == "epoch"
    assert recipe.warmup_ratio == 0.1


def test_all_mistakes_in_one_go():
    with pytest.raises(Mistakes) as caught:
        read_command(
            "--lerning_rate 1 --num_train_epochs three --optim adam --bf16 --fp16 --deepspeed ds.json --seed".split()
        )
    message = str(caught.value)
    assert "6 things" in message
    assert "Did you mean --learning_rate?" in message
    assert "'three' is not a number" in message
    assert "'adam' is not one of" in message
    assert "--bf16 and --fp16 exclude each other" in message
    assert "--deepspeed cannot be honoured" in message
    assert "--seed needs a value" in message


def test_refused_flags_at_their_default_are_fine():
    assert read_command("--push_to_hub False --report_to none --deepspeed= --fsdp=".split()).recipe


@pytest.mark.parametrize(
    "words",
    ["--report_to wandb", "--torch_compile", "--push_to_hub", "--resume_from_checkpoint True", "--trust_remote_code"],
)
def test_what_cannot_be_honoured_is_refused_with_the_reason(words):
    with pytest.raises(Mistakes, match=words.split()[0]):
        read_command(words.split())


@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_defaults_then_file_then_flags(tmp_path, suffix):
    file = tmp_path / f"settings.{suffix}"
    if suffix == "yaml":
        file.write_text("learning_rate: 1e-4\nseed: 7\neval_strategy: no\ndo-train: true\n")
    else:
        file.write_text('{"learning_rate": 1e-4, "seed": 7, "eval_strategy": "no", "do-train": true}')
    recipe = read_command(["--seed", "9", "--config", str(file)]).recipe
    assert (recipe.learning_rate, recipe.seed, recipe.max_grad_norm) == (1e-4, 9, 1.0)
    assert recipe.eval_strategy == "no"
    assert recipe.do_train


def test_file_mistakes_name_the_file_and_the_nearest_key(tmp_path):
    file = tmp_path / "settings.yaml"
    file.write_text("lerning_rate: 1e-4\nnum_train_epochs: many\n")
    with pytest.raises(Mistakes) as caught:
        read_command(["--config", str(file), "--config", "missing.yaml"])
    message = str(caught.value)
    assert f"lerning_rate (in {file})" in message
    assert "Did you mean learning_rate?" in message
    assert "'many' is not a number" in message
    assert "missing.yaml: there is no such file" in message


def test_two_files_and_settings_given_as_data(tmp_path):
    with pytest.raises(Mistakes, match="one FILE or FOLDER at a time"):
        read_command(["a.csv", "b.csv"])
    (tmp_path / "s.yaml").write_text("seed: 1")
    with pytest.raises(Mistakes, match="--config"):
        read_command([str(tmp_path / "s.yaml")])


@pytest.mark.parametrize("name", sorted(recipe_fields()))
def test_every_field_has_help_and_a_readable_default(name):
    field = recipe_fields()[name]
    assert field.help.endswith((".", '."', "'"))
    assert len(field.help) > 10


def test_contradictions_are_named_as_typed():
    with pytest.raises(Mistakes, match="--use-cpu and --device cuda exclude each other"):
        read_command("--use-cpu --device cuda".split())
    with pytest.raises(Mistakes, match="--learning-rate: 3.0 must be above 0 and at most 1"):
        read_command("--learning-rate 3".split())


def test_paths_with_spaces_and_dashes(tmp_path):
    recipe = read_command([str(Path("my data/new file.csv")), "--output_dir", "my runs/one"]).recipe
    assert (recipe.data, recipe.output_dir) == ("my data/new file.csv", "my runs/one")
