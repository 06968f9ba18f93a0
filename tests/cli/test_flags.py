"""Command lines as words: spellings, switches, mistakes in one go, files and flags."""

from __future__ import annotations

from pathlib import Path

import pytest

from pippin.errors import Mistakes
from pippin.recipe.fields import recipe_fields
from pippin.recipe.reading import recipe_from
from train_words import read_command

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
    [
        ("--bf16", True),
        ("--bf16 true", True),
        ("--bf16 t", True),
        ("--bf16 False", False),
        ("--bf16=0", False),
        ("--no_bf16", False),
        ("--no-bf16 true", False),
        ("--no_bf16=true", False),
    ],
)
def test_switches(words, value):
    recipe = read_command(words.split()).recipe
    assert recipe.bf16 is value
    assert recipe.data is None


def test_switch_does_not_swallow_the_file():
    recipe = read_command(["--bf16", "reviews.csv"]).recipe
    assert recipe.data == "reviews.csv"
    recipe = read_command(["--use_mps_device", "reviews.csv"]).recipe
    assert recipe.data == "reviews.csv"
    recipe = read_command(["--dataloader_in_order", "reviews.csv"]).recipe
    assert recipe.data == "reviews.csv"
    recipe = read_command(["--include_num_input_tokens_seen", "all", "reviews.csv"]).recipe
    assert recipe.data == "reviews.csv"


@pytest.mark.parametrize(
    "flag", ["--no_dataloader_pin_memory", "--no_remove_unused_columns", "--no-skip-memory-metrics"]
)
def test_switches_that_hugging_face_turns_off(flag):
    assert read_command([flag, "reviews.csv"]).recipe.data == "reviews.csv"


def test_double_no_is_a_mistake():
    with pytest.raises(Mistakes, match="--no_bf16: 'false' is a double no. Use --bf16 to turn it on"):
        read_command(["--no_bf16=false"])


@pytest.mark.parametrize("words", [["--use_auth_token"], ["--use_auth_token", "True"], ["--use-auth-token=true"]])
def test_use_auth_token_as_a_switch(words):
    reading = read_command([*words, "--seed", "1"])
    assert reading.recipe.token is None
    assert "the stored login is used by itself" in reading.notes[0]


def test_use_auth_token_with_a_token_or_before_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert read_command(["--use_auth_token", "hf_abc"]).recipe.token == "hf_abc"
    assert read_command(["--use_auth_token", "reviews.csv"]).recipe.data == "reviews.csv"
    (tmp_path / "reviews").mkdir()
    recipe = read_command(["--use_auth_token", "reviews"]).recipe
    assert (recipe.token, recipe.data) == (None, "reviews")


@pytest.mark.parametrize(
    "words",
    [["--task_name", ""], ["--train_file="], ["--model_name_or_path", ""], ["--output_dir="], ["--config="], [""]],
)
def test_empty_words_are_mistakes(words):
    with pytest.raises(Mistakes, match="needs a value"):
        read_command(words)


def test_older_names_still_work():
    recipe = read_command("--no_cuda --evaluation_strategy epoch --warmup_ratio 0.1 --group_by_length".split()).recipe
    assert recipe.use_cpu
    assert recipe.eval_strategy == "epoch"
    assert recipe.warmup_ratio == 0.1


def test_short_names(tmp_path):
    short = read_command("--model m --lr 1e-4 --epochs 2 --batch-size=16 --max_length 64 -o runs/x".split()).recipe
    keywords = recipe_from(
        {"model": "m", "lr": 1e-4, "epochs": 2, "batch_size": 16, "max_length": 64, "output": "runs/x"}
    )
    (tmp_path / "s.yaml").write_text("model: m\nlr: 1e-4\nepochs: 2\nbatch-size: 16\nmax_length: 64\noutput: runs/x\n")
    assert short.batch_size == 16
    assert short == keywords.recipe == read_command(["--config", str(tmp_path / "s.yaml")]).recipe
    assert read_command(["--output=runs/x"]).recipe.output_dir == "runs/x"


def test_two_names_of_one_setting_must_agree(tmp_path):
    with pytest.raises(Mistakes, match="^--lr and --learning-rate are two names of one setting, with different values"):
        read_command("--lr 1e-3 --learning-rate 2e-3".split())
    with pytest.raises(Mistakes, match="^epochs and num_train_epochs are two names of one setting"):
        recipe_from({"epochs": 2, "num_train_epochs": 3})
    assert read_command("--lr 1e-3 --learning_rate 0.001".split()).recipe.learning_rate == 1e-3
    assert read_command("--seed 1 --seed 2".split()).recipe.seed == 2
    (tmp_path / "s.yaml").write_text("lr: 1\n")
    assert read_command(["--config", str(tmp_path / "s.yaml"), "--learning_rate", "0.5"]).recipe.learning_rate == 0.5
    (tmp_path / "s.yaml").write_text("lr: 1\nlearning_rate: 0.5\n")
    with pytest.raises(Mistakes, match="are two names of one setting"):
        read_command(["--config", str(tmp_path / "s.yaml")])


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("batchsize", "batch_size"),
        ("batch_szie", "batch_size"),
        ("train_batch_sise", "train_batch_size"),
        ("num_epochs", "num_train_epochs"),
        ("epoch", "epochs"),
        ("learn_rate", "learning_rate"),
        ("max_len", "max_length"),
        ("gradient_accumulation", "gradient_accumulation_steps"),
        ("warmup", "warmup_steps"),
        ("confg", "config"),
        ("mdoel", "model"),
        ("decay_weight", "weight_decay"),
        ("outdir", "output_dir"),
        ("xyzzy", None),
    ],
)
def test_the_nearest_sensible_flag_is_suggested(typed, meant):
    with pytest.raises(Mistakes) as caught:
        read_command([f"--{typed}", "1"])
    hint = f" Did you mean --{meant}?" if meant else ""
    assert str(caught.value) == f"--{typed}: there is no such flag.{hint}"


def test_what_follows_two_dashes_is_no_flag():
    assert read_command(["--seed", "1", "--", "-rows.csv"]).recipe.data == "-rows.csv"


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


@pytest.mark.parametrize(
    ("words", "message"),
    [("--device gpu", "--device gpu: there is no such device"), ("--task_name mrcp", "Did you mean mrpc?")],
)
def test_devices_and_tasks_are_judged_with_the_rest(words, message):
    with pytest.raises(Mistakes) as caught:
        read_command([*words.split(), "--lerning_rate", "2"])
    assert "2 things" in str(caught.value)
    assert message in str(caught.value)
    assert "Did you mean --learning_rate?" in str(caught.value)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("-learning_rate=1e-5", "-learning_rate: flags start with two dashes. Did you mean --learning_rate?"),
        ("-lerning-rate 1e-5", "-lerning-rate: flags start with two dashes. Did you mean --learning_rate?"),
        ("-no_bf16", "-no_bf16: flags start with two dashes. Did you mean --no_bf16?"),
        ("-x", "-x: flags start with two dashes."),
    ],
)
def test_one_dash(words, meant):
    with pytest.raises(Mistakes) as caught:
        read_command(["reviews.csv", *words.split()])
    assert str(caught.value) == meant


def test_one_dash_is_no_value():
    with pytest.raises(Mistakes) as caught:
        read_command(["--output_dir", "-seed", "1"])
    assert caught.value.mistakes == (
        "--output_dir needs a value after it.",
        "-seed: flags start with two dashes. Did you mean --seed?",
    )


def test_negative_numbers_are_values():
    assert read_command(["--max_steps", "-1"]).recipe.max_steps == -1
    with pytest.raises(Mistakes, match="--weight_decay: -0.5 must be at least 0"):
        read_command(["--weight_decay", "-.5"])


def test_refused_flags_at_their_default_are_fine():
    words = "--push_to_hub False --report_to none --deepspeed= --fsdp= --past_index -1 --hub_strategy every_save"
    assert read_command(words.split()).notes == ()


@pytest.mark.parametrize(
    "words",
    [
        "--report_to all",
        "--torch_compile_mode max-autotune",
        "--push_to_hub",
        "--ignore_data_skip",
        "--trust_remote_code",
    ],
)
def test_what_cannot_be_honoured_is_refused_with_the_reason(words):
    with pytest.raises(Mistakes, match=words.split()[0]):
        read_command(words.split())


@pytest.mark.parametrize(
    "words",
    [
        "--report_to mlflow,trackio",
        "--report_to mlflow trackio",
        "--report_to mlflow --report_to trackio",
        "--report_to=mlflow --report-to trackio",
    ],
)
def test_several_names_after_one_flag(words, monkeypatch):
    monkeypatch.setattr("pippin.cli.train.CHECKS", {})
    recipe = read_command([*words.split(), "reviews.csv"]).recipe
    assert recipe.report_to == ("mlflow", "trackio")
    assert recipe.data == "reviews.csv"


@pytest.mark.parametrize("word", ["-q", "--quiet"])
def test_quiet(word):
    recipe = read_command([word, "reviews.csv"]).recipe
    assert recipe.quiet
    assert recipe.data == "reviews.csv"


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


@pytest.mark.parametrize("text", ["", "# seed: 1\n"])
def test_empty_file(tmp_path, text):
    (tmp_path / "s.yaml").write_text(text)
    with pytest.raises(Mistakes, match="s.yaml: the file is empty"):
        read_command(["--config", str(tmp_path / "s.yaml")])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed: 1\nbf16: true\nseed: 2\nsead: 3\n", "seed stands there twice (lines 1 and 3); keep one."),
        ('{"seed": 1, "seed": 2, "sead": 3}', "seed stands there twice (line 1); keep one."),
        ("lr_scheduler_kwargs:\n  a: 1\n  a: 2\nsead: 3", "a stands there twice (lines 2 and 3); keep one."),
        ("max-steps: 1\nmax_steps: 2\nsead: 3", "max-steps and max_steps are the same setting; keep one."),
    ],
)
def test_keys_given_twice_are_mistakes(tmp_path, text, message):
    file = tmp_path / "s.yaml"
    file.write_text(text)
    with pytest.raises(Mistakes) as caught:
        read_command(["--config", str(file)])
    assert len(caught.value.mistakes) == 2, "the rest of the file is judged too"
    assert caught.value.mistakes[0] == f"--config {file}: {message}"


def test_no_names_in_a_file(tmp_path):
    (tmp_path / "s.yaml").write_text("no_use_fast_tokenizer: true\nno-remove-unused-columns: yes\n")
    assert read_command(["--config", str(tmp_path / "s.yaml")]).recipe.use_fast_tokenizer is False


def test_two_files_and_settings_given_as_data(tmp_path):
    with pytest.raises(Mistakes, match="one FILE or FOLDER at a time"):
        read_command(["a.csv", "b.csv"])
    (tmp_path / "s.yaml").write_text("seed: 1")
    with pytest.raises(Mistakes, match="--config"):
        read_command([str(tmp_path / "s.yaml")])
    with pytest.raises(Mistakes, match="2 things"):
        read_command([str(tmp_path / "s.yaml"), "--task_name", "mrpc", "--sead", "1"])


@pytest.mark.parametrize("name", sorted(recipe_fields()))
def test_every_field_has_help_and_a_readable_default(name):
    field = recipe_fields()[name]
    assert field.help.endswith((".", '."', "'"))
    assert len(field.help) > 10


def test_contradictions_are_named_as_typed():
    with pytest.raises(Mistakes, match="--use-cpu and --device cuda exclude each other"):
        read_command("--use-cpu --device cuda".split())
    with pytest.raises(Mistakes, match="--learning-rate: 3 must be above 0 and at most 1"):
        read_command("--learning-rate 3".split())


def test_paths_with_spaces_and_dashes(tmp_path):
    recipe = read_command([str(Path("my data/new file.csv")), "--output_dir", "my runs/one"]).recipe
    assert (recipe.data, recipe.output_dir) == ("my data/new file.csv", "my runs/one")


def test_help_does_not_promise_every_schedule():
    assert "that the installed transformers has" in recipe_fields()["lr_scheduler_type"].help
