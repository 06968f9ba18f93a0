"""Whole jobs on a tiny model: what a user types, and what is in the folder afterwards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers import make_rows, read_csv


def test_own_file_to_saved_model(train, word_file):
    out, results = train(word_file, "--num_train_epochs", "10", "--learning_rate", "5e-3")
    assert results["eval_accuracy"] > 0.9, "a class that one word tells must be learnt"
    assert (results["train_samples"], results["eval_samples"]) == (108, 12)
    for name in (
        "run.json events.jsonl config.json model.safetensors tokenizer.json README.md train_results.json "
        "eval_results.json all_results.json report.json report.html"
    ).split():
        assert (Path("run") / name).is_file(), name
    assert not Path("run/checkpoints").exists(), "the best copy has become the run's model"
    for words in (
        "text from 'text'",
        "learning rate",
        "5.00e-03",
        "as requested",
        "follow it in a browser: run/report.html",
        "saved in run",
        "report: run/report.html",
        "12 of 120 training rows",
    ):
        assert words in out


def test_result_keys_are_hugging_faces(train, word_file):
    _, results = train(word_file)
    assert {
        "epoch", "eval_accuracy", "eval_loss", "eval_runtime", "eval_samples", "eval_samples_per_second",
        "eval_steps_per_second", "total_flos", "train_loss", "train_runtime", "train_samples",
        "train_samples_per_second", "train_steps_per_second",
    } <= results.keys()  # fmt: skip


def test_saved_model_gives_the_same_answers_in_transformers(train, word_file, write_rows):
    from transformers import pipeline

    rows = make_rows(30, seed=5)
    train(word_file, "--test_file", write_rows("test.csv", rows), "--learning_rate", "5e-3", "--num_train_epochs", "3",
          "--bf16", "false")  # fmt: skip
    ours = read_csv("run/predictions.csv")
    theirs = pipeline("text-classification", model="run", device="cpu")([row["text"] for row in rows])
    assert [row["label"] for row in ours] == [answer["label"] for answer in theirs]
    assert [float(row["score"]) for row in ours] == pytest.approx([answer["score"] for answer in theirs], abs=1e-5)
    assert {answer["label"] for answer in theirs} <= {"animal", "food", "tool"}


def test_classic_command_on_glue_files(train, write_rows, tmp_path):
    glue = tmp_path / "glue" / "MRPC"
    glue.mkdir(parents=True)
    for name, count in (("train", 40), ("dev", 12)):
        lines = ["Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"]
        for number, row in enumerate(make_rows(count, seed=count)):
            lines.append(f'{number % 2}\t{number}\t{number}\t{row["text"]}\t"{row["text"]}')
        (glue / f"{name}.tsv").write_text("﻿" + "\n".join(lines) + "\n", encoding="utf-8")
    out, results = train(
        "--task_name", "mrpc", "--data_dir", tmp_path / "glue", "--do_train", "--do_eval", "--max_seq_length", "32",
        "--per_device_train_batch_size", "8", "--learning_rate", "2e-5", "--num_train_epochs", "1",
        "--overwrite_output_dir", "--use_mps_device",
    )  # fmt: skip
    assert {"eval_accuracy", "eval_f1", "eval_combined_score"} <= results.keys()
    assert (results["train_samples"], results["eval_samples"], results["epoch"]) == (40, 12, 1.0)
    assert "--use_mps_device: not needed" in out
    config = json.loads(Path("run/config.json").read_text())
    assert config["id2label"] == {"0": "not_equivalent", "1": "equivalent"}


def test_two_validation_sets_end_in_mm(train, tmp_path):
    folder = tmp_path / "MNLI"
    folder.mkdir()
    header = "index\tsentence1\tsentence2\tgold_label"
    names = ["entailment", "neutral", "contradiction"]
    for file, count in (("train", 24), ("dev_matched", 6), ("dev_mismatched", 9), ("test_matched", 3)):
        rows = [
            f"{n}\t{row['text']}\t{row['label']}\t{names[n % 3]}" for n, row in enumerate(make_rows(count, seed=count))
        ]
        (folder / f"{file}.tsv").write_text("\n".join([header, *rows]) + "\n")
    _, results = train("--task_name", "mnli", "--data_dir", folder, "--do_train", "--do_eval", "--do_predict")
    assert (results["eval_samples"], results["eval_samples_mm"]) == (6, 9)
    assert Path("run/predict_results_mnli.txt").read_text().splitlines()[0] == "index\tprediction"


def test_numbers_to_predict(train, write_rows):
    rows = [{"text": row["text"], "score": len(row["text"]) / 10} for row in make_rows(60)]
    out, results = train(
        write_rows("r.csv", rows), "--do_regression", "--num_train_epochs", "20", "--learning_rate", "5e-3"
    )
    assert results["eval_pearson"] > 0.5
    assert json.loads(Path("run/config.json").read_text())["problem_type"] == "regression"
    train(write_rows("r.csv", rows), "--do_regression", "--test_file", "r.csv", folder="again")
    first = read_csv("again/predictions.csv")[0]
    assert list(first) == ["row", "text", "true_value", "value"]
    assert float(first["value"]) != 0
    words = Path("again/predict_results_r.txt").read_text().splitlines()[1].split("\t")
    assert words == ["0", f"{float(first['value']):.4f}"]


def test_test_file_without_labels(train, word_file, write_rows):
    rows = [{"text": row["text"]} for row in make_rows(9)]
    _, results = train(word_file, "--test_file", write_rows("new.jsonl", rows))
    assert not any(key.startswith("test_") for key in results)
    assert [row["row"] for row in read_csv("run/predictions.csv")] == [str(n) for n in range(1, 10)]


def test_evaluate_only(train, word_file, run_cli, write_rows):
    train(word_file, "--num_train_epochs", "25", "--learning_rate", "5e-3", "--per_device_train_batch_size", "16")
    held = write_rows("held.csv", make_rows(30, seed=9))
    code, _, err = run_cli(
        "train", "--validation_file", held, "--do_eval", "--model_name_or_path", "run", "--output_dir", "judged"
    )
    assert code == 0, err
    assert json.loads(Path("judged/all_results.json").read_text())["eval_accuracy"] > 0.8
    assert not Path("judged/model.safetensors").exists()


def test_classic_command_takes_hugging_faces_defaults(train, word_file, write_rows):
    valid = write_rows("valid.csv", make_rows(12, seed=3))
    train("--train_file", word_file, "--validation_file", valid, "--do_train", "--do_eval")
    plan = {
        name: each
        for group in json.loads(Path("run/run.json").read_text())["plan"].values()
        for name, each in group.items()
    }
    assert (plan["learning_rate"]["value"], plan["batch_size"]["value"]) == (5e-5, 8)
    assert (plan["warmup_steps"]["value"], plan["eval_steps"]["value"], plan["best_metric"]["value"]) == (0, 0, "")
    assert plan["head_learning_rate"]["value"] == 5e-5


def test_run_record_holds_recipe_machine_plan_and_no_secret(train, word_file):
    train(word_file, "--token", "hf_verysecret")
    record = json.loads(Path("run/run.json").read_text())
    assert record["status"] == "finished"
    assert record["data"]["classes"] == ["animal", "food", "tool"]
    choices = [each for group in record["plan"].values() for each in group.values() if isinstance(each, dict)]
    assert len(choices) > 30
    assert all(set(choice) == {"value", "reason"} and choice["reason"] for choice in choices)
    for path in Path("run").rglob("*"):
        assert path.is_dir() or b"verysecret" not in path.read_bytes(), path


def test_run_record_comes_back_as_the_same_data(train, word_file):
    from pippin.plan.plan import Choice, Plan
    from pippin.records import from_json, to_json
    from pippin.runs.record import read_record

    train(word_file, "--pad_to_max_length")
    run = read_record(Path("run"))
    assert run is not None
    written = json.loads(Path("run/run.json").read_text())
    assert to_json(run) == {key: value for key, value in written.items() if key != "sha256"}
    assert run.plan.batches.pad_lengths == Choice((64,), "set by --pad_to_max_length")
    assert run.plan == from_json(Plan, to_json(run.plan))


def test_models_own_classes_decide_when_nothing_is_trained(train, word_file, write_rows, run_cli):
    train(word_file, "--num_train_epochs", "25", "--learning_rate", "5e-3", "--per_device_train_batch_size", "16")
    two = write_rows("two.csv", [row for row in make_rows(40, seed=8) if row["label"] != "food"])
    arguments = ["--do_eval", "--model_name_or_path", "run"]
    code, _, err = run_cli("train", "--validation_file", two, *arguments, "--output_dir", "judged")
    assert code == 0, err
    assert json.loads(Path("judged/all_results.json").read_text())["eval_accuracy"] > 0.7
    other = write_rows("other.csv", [{**row, "label": row["label"].upper()} for row in make_rows(12)])
    code, _, err = run_cli("train", "--validation_file", other, *arguments, "--output_dir", "no")
    assert code == 2
    assert "'ANIMAL'" in err
    assert "is none of the model's classes: animal, food, tool" in err


def test_predicting_rows_without_labels(train, word_file, write_rows, run_cli):
    train(word_file)
    new = write_rows("new.csv", [{"text": row["text"]} for row in make_rows(6)])
    code, _, err = run_cli(
        "train", "--test_file", new, "--do_predict", "--model_name_or_path", "run", "--output_dir", "said"
    )
    assert code == 0, err
    assert len(read_csv("said/predictions.csv")) == 6


def test_judging_a_model_without_a_head_is_refused(word_file, tiny_model, run_cli):
    code, _, err = run_cli(
        "train", "--validation_file", word_file, "--do_eval", "--model_name_or_path", tiny_model, "--output_dir", "x"
    )
    assert code == 2
    assert "its answers would be random" in err


def test_unread_test_rows_cannot_stop_the_job(train, word_file, write_rows):
    broken = write_rows("test.csv", [{"text": "", "label": "animal"}])
    _, results = train("--train_file", word_file, "--test_file", broken, "--do_train")
    assert "train_loss" in results


def test_nothing_to_predict_is_said(train, word_file, run_cli):
    train(word_file)
    code, _, err = run_cli("train", word_file, "--do_predict", "--model_name_or_path", "run", "--output_dir", "x")
    assert code == 2
    assert "--test_file" in err
