"""A run whose rows have several labels: trained, judged, resumed, used and shown, on every device."""

from __future__ import annotations

import csv
import json
import random
import shutil
from pathlib import Path

import pytest

from helpers import FILLER, WORDS, events
from pippin.commands.predictor import Predictor

FLAGS = [
    "--num_train_epochs", 6, "--learning_rate", "1e-2", "--batch_size", 8, "--logging_steps", 3, "--max_seq_length", 64,
]  # fmt: skip


def several_rows(count: int, seed: int = 0) -> list[tuple[str, list[str]]]:
    """Each kind of word in a sentence is a label of it; some have none."""
    draw = random.Random(seed)
    rows = []
    for _ in range(count):
        labels = [name for name in WORDS if draw.random() < 0.45]
        words = draw.choices(FILLER, k=draw.randint(2, 8)) + [draw.choice(WORDS[name]) for name in labels]
        draw.shuffle(words)
        rows.append((" ".join(words), labels))
    return rows


def write(form: str, name: str, rows: list[tuple[str, list[str]]]) -> str:
    if form == "lists":
        path = Path(f"{name}.jsonl")
        path.write_text("".join(json.dumps({"text": text, "tags": labels}) + "\n" for text, labels in rows))
        return str(path)
    path = Path(f"{name}-{form}.csv")
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        if form == "flags":
            writer.writerow(["text", *WORDS])
            writer.writerows([text, *(int(each in labels) for each in WORDS)] for text, labels in rows)
        else:
            writer.writerow(["text", "tags"])
            writer.writerows([text, "|".join(labels)] for text, labels in rows)
    return str(path)


@pytest.fixture
def several(run_cli, tiny_model):
    def call(
        folder: str, form: str, *flags: object, splits: tuple[str, ...] = (), count: int = 120
    ) -> tuple[int, str, str]:
        data = [write(form, "train", several_rows(count))]
        for seed, split in enumerate(splits, 1):
            data += [f"--{split}_file", write(form, split, several_rows(40, seed))]
        model = () if "--model_name_or_path" in flags else ("--model_name_or_path", tiny_model)
        return run_cli("train", *data, *model, "--output_dir", folder, *FLAGS, *flags)

    return call


def results(folder: str) -> dict[str, float]:
    return json.loads(Path(folder, "all_results.json").read_text())


def test_it_is_trained_judged_used_and_shown(several, run_cli):
    code, out, error = several(
        "run", "delimited", "--do_train", "--do_eval", "--do_predict", "--learning_rate", "3e-3",
        "--num_train_epochs", 25, splits=("validation", "test"), count=400,
    )  # fmt: skip
    assert code == 0, error
    assert "separated by '|'" in error + out
    assert "3 labels, several a row" in out
    assert "by label, on the test rows" in out
    assert results("run")["test_f1"] > 0.8
    config = json.loads(Path("run/config.json").read_text())
    assert config["problem_type"] == "multi_label_classification"
    assert config["label_thresholds"].keys() == set(WORDS)
    page = Path("run/report.html").read_text()
    assert "By label, on the test rows" in page
    assert "Training rows by label" in page
    with Path("run/predictions.csv").open() as file:
        rows = list(csv.DictReader(file))
    right = [row["true_labels"] == row["labels"] for row in rows]
    assert sum(right) / len(right) == pytest.approx(results("run")["test_subset_accuracy"])
    assert all(len(row["labels"].split("|")) == len(row["scores"].split("|")) for row in rows)

    predictor = Predictor.load("run")
    answers = predictor.predict([row["text"] for row in rows])
    assert ["|".join(answer.labels) for answer in answers] == [row["labels"] for row in rows]
    from transformers import pipeline

    pipe = pipeline("text-classification", "run", top_k=None, function_to_apply="sigmoid", device="cpu")
    theirs = {each["label"]: each["score"] for each in pipe(["the cat and the old bread"])[0]}
    ours = dict(zip(predictor.classes, predictor.predict_proba("the cat and the old bread"), strict=True))
    assert ours == pytest.approx(theirs, abs=1e-6)

    code, _, error = several("again", "delimited", "--do_eval", "--model_name_or_path", "run", splits=("validation",))
    assert code == 0, error
    assert results("again")["eval_f1"] == results("run")["eval_f1"], "with the thresholds that were chosen"


def test_every_way_to_write_them_trains_the_same_model(several):
    for form in ("lists", "delimited", "flags"):
        code, _, error = several(form, form, "--max_steps", 6)
        assert code == 0, error
    weights = {form: Path(form, "model.safetensors").read_bytes() for form in ("lists", "delimited", "flags")}
    assert weights["lists"] == weights["delimited"] == weights["flags"]


@pytest.mark.parametrize(
    "flags", [[], ["--pad_to_max_length"], ["--freeze", "core"]], ids=["packed", "padded", "frozen"]
)
def test_resumed_equals_uninterrupted(several, run_cli, interrupt, flags):
    assert several("whole", "lists", "--save_steps", 7, *flags)[0] == 0
    interrupt(21)
    assert several("run", "lists", "--save_steps", 7, *flags)[0] == 143
    code, _, error = run_cli("resume", "run")
    assert code == 0, error
    assert Path("run/model.safetensors").read_bytes() == Path("whole/model.safetensors").read_bytes()
    assert Path("run/config.json").read_text() == Path("whole/config.json").read_text()
    assert results("run")["eval_loss"] == results("whole")["eval_loss"]


def test_in_parts_it_is_one_result(run_cli, tiny_model):
    """The loss of a step is divided by its rows × labels, however the step is cut."""
    shutil.copytree(tiny_model, "still")
    config = json.loads(Path("still/config.json").read_text())
    Path("still/config.json").write_text(
        json.dumps({**config, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0})
    )
    data = write("lists", "train", several_rows(120))
    quiet = ["--max_steps", 5, "--logging_steps", 1, "--train_sampling_strategy", "random", "--learning_rate", "1e-3"]
    losses = {}
    for name, flags in {
        "whole": ["--per_device_train_batch_size", 8],
        "parts": ["--per_device_train_batch_size", 2, "--gradient_accumulation_steps", 4],
        "padded": ["--per_device_train_batch_size", 8, "--pad_to_max_length"],
    }.items():
        code, _, error = run_cli("train", data, "--model_name_or_path", "still", "--output_dir", name, *quiet, *flags)
        assert code == 0, error
        losses[name] = [event["loss"] for event in events(name, "log")]
    assert losses["parts"] == pytest.approx(losses["whole"], rel=1e-4)
    assert losses["padded"] == pytest.approx(losses["whole"], rel=1e-4)


@pytest.mark.parametrize("flags", [[], ["--measure"]])
def test_preflight_forecasts_it(run_cli, tiny_model, flags):
    data = write("lists", "train", several_rows(60))
    code, out, error = run_cli("preflight", data, "--model_name_or_path", tiny_model, *flags)
    assert code == 0, error
    assert "fits" in out


@pytest.mark.emulated_mps
def test_the_device_is_compared_with_the_cpu(run_cli, tiny_model):
    code, out, error = run_cli("verify", write("lists", "train", several_rows(60)), "--model_name_or_path", tiny_model)
    assert code == 0, error + out
    assert "The results match the CPU's" in out


@pytest.mark.parametrize(
    ("form", "flags", "said"),
    [
        ("lists", ["--class_weights", "balanced"], "--class_weights is for one label a row"),
        ("lists", ["--label_smoothing_factor", "0.1"], "--label_smoothing_factor is for rows that have one label"),
        ("lists", ["--several_labels", "off"], "row 1 (line 1): column 'tags' holds a list"),
        ("lists", ["--several_labels", "maybe"], "'maybe' is not one of on, off"),
        (
            "flags",
            ["--label_column", "animal,food", "--several_labels", "off"],
            "animal, food are several labels a row",
        ),
        ("flags", ["--label_column", "animal,foot"], "no column 'foot' (--label_column)"),
    ],
)
def test_what_cannot_be_is_said(several, form, flags, said):
    code, _, error = several("run", form, *flags)
    assert code == 2
    assert said in error


def test_a_bad_row_is_named_or_left_out(run_cli, tiny_model):
    rows = [f"{text},{int('food' in labels)},{int('tool' in labels)}" for text, labels in several_rows(30)]
    Path("bad.csv").write_text("\n".join(["text,food,tool", *rows, "the old cat,2,0"]))
    flags = ["--label_column", "food,tool", "--model_name_or_path", tiny_model, "--output_dir", "run"]
    code, _, error = run_cli("train", "bad.csv", *flags)
    assert code == 2
    assert "bad.csv, row 31 (line 32): column 'food' holds '2', and 0 or 1 is wanted" in error
    code, out, error = run_cli("train", "bad.csv", *flags, "--max_steps", 2, "--skip_bad_rows")
    assert code == 0, error
    assert "1 of 31 rows left out" in out + error


def test_a_label_that_training_never_saw_is_named(several):
    write("delimited", "train", several_rows(40))
    Path("other.csv").write_text("text,tags\nthe old,animal|planet\n")
    code, _, error = several("run", "delimited", "--validation_file", "other.csv")
    assert code == 2
    assert "column 'tags': the label 'planet'" in error
