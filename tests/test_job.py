"""Whole jobs on a tiny model: what a user types, and what is in the folder afterwards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


def test_own_file_to_saved_model(run_cli, word_file, tiny_model, tmp_path):
    code, out, err = run_cli(
        "train",
        word_file,
        "--model_name_or_path",
        tiny_model,
        "--output_dir",
        "run",
        "--num_train_epochs",
        "10",
        "--learning_rate",
        "5e-3",
    )
    assert code == 0, err
    results = json.loads(Path("run/all_results.json").read_text())
    assert results["eval_accuracy"] > 0.9, "a class that one word tells must be learnt"
    assert results["train_samples"] == 108
    assert results["eval_samples"] == 12
    for name in (
        "run.json",
        "events.jsonl",
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "README.md",
        "train_results.json",
        "eval_results.json",
        "report.json",
    ):
        assert (Path("run") / name).is_file(), name
    assert "text from 'text'" in out
    assert "learning rate" in out
    assert "saved in run" in out


def test_saved_model_gives_the_same_answers_in_transformers(run_cli, word_file, tiny_model, write_rows):
    from transformers import pipeline

    from conftest import make_rows

    rows = make_rows(30, seed=5)
    write_rows("test.csv", rows)
    code, _, err = run_cli(
        "train",
        word_file,
        "--test_file",
        "test.csv",
        "--model_name_or_path",
        tiny_model,
        "--output_dir",
        "run",
        "--learning_rate",
        "5e-3",
        "--num_train_epochs",
        "3",
    )
    assert code == 0, err
    import csv

    ours = list(csv.DictReader(Path("run/predictions.csv").open()))
    theirs = pipeline("text-classification", model="run", device="cpu")([row["text"] for row in rows])
    assert [row["label"] for row in ours] == [answer["label"] for answer in theirs]
    assert [float(row["score"]) for row in ours] == pytest.approx([answer["score"] for answer in theirs], abs=1e-5)
