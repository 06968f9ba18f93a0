"""The same batches, the same start, no dropout: losses equal Hugging Face's Trainer, whatever the accumulation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers import make_rows

STEPS, BATCH = 50, 32


@pytest.fixture(scope="module")
def steady_model(tiny_model, tmp_path_factory) -> Path:
    """The tiny model with a head and without dropout."""
    import shutil

    import torch
    from transformers import AutoModelForSequenceClassification

    folder = tmp_path_factory.mktemp("steady") / "model"
    shutil.copytree(tiny_model, folder)
    torch.manual_seed(1)
    model = AutoModelForSequenceClassification.from_pretrained(
        tiny_model,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        id2label={0: "animal", 1: "food", 2: "tool"},
        label2id={"animal": 0, "food": 1, "tool": 2},
    )
    model.save_pretrained(folder)
    return folder


def pippin_losses(model: Path, rows: Path, batch: int, accumulation: int, **settings) -> list[float]:
    import pippin

    folder = f"run-{batch}-{accumulation}"
    pippin.train(
        rows,
        model_name_or_path=model,
        output_dir=folder,
        per_device_train_batch_size=batch,
        gradient_accumulation_steps=accumulation,
        do_train=True,
        train_sampling_strategy="sequential",
        logging_steps=1,
        use_cpu=True,
        quiet=True,
        **{"learning_rate": 5e-3, "max_steps": STEPS, **settings},
    )
    events = [json.loads(line) for line in Path(folder, "events.jsonl").read_text().splitlines()]
    return [event["loss"] for event in events if event["event"] == "log"]


def trainer_losses(model: Path, rows: list[dict]) -> list[float]:
    from torch.utils.data import DataLoader
    from transformers import (
        AutoModelForSequenceClassification,
        AutoTokenizer,
        DataCollatorWithPadding,
        Trainer,
        TrainingArguments,
    )

    tokenizer = AutoTokenizer.from_pretrained(model)
    names = {"animal": 0, "food": 1, "tool": 2}
    features = [
        {**tokenizer(row["text"], truncation=True, max_length=64), "label": names[row["label"]]} for row in rows
    ]
    losses: list[float] = []

    class Recording(Trainer):
        def get_train_dataloader(self):
            collate = DataCollatorWithPadding(tokenizer)
            return DataLoader(features, batch_size=BATCH, shuffle=False, collate_fn=collate)

        def training_step(self, *arguments, **keywords):
            loss = super().training_step(*arguments, **keywords)
            losses.append(float(loss))
            return loss

    arguments = TrainingArguments(
        "hf", per_device_train_batch_size=BATCH, learning_rate=5e-3, max_steps=STEPS, use_cpu=True, report_to=[],
        save_strategy="no", disable_tqdm=True, dataloader_pin_memory=False,
    )  # fmt: skip
    loaded = AutoModelForSequenceClassification.from_pretrained(model)
    Recording(loaded, arguments, train_dataset=features).train()
    return losses


def test_fifty_losses_equal_the_trainers(steady_model, write_rows):
    rows = make_rows(200)  # a last batch of 8 in every epoch
    theirs = trainer_losses(steady_model, rows)
    ours = pippin_losses(steady_model, write_rows("rows.jsonl", rows), BATCH, 1)
    assert len(ours) == len(theirs) == STEPS
    assert ours == pytest.approx(theirs, rel=1e-5)
    assert ours[-1] < ours[0], "the weights must move for the comparison to mean anything"


def test_accumulation_does_not_change_the_losses(steady_model, write_rows):
    path = write_rows("rows.jsonl", make_rows(200))
    whole = pippin_losses(steady_model, path, BATCH, 1)
    for accumulation in (2, 4, 8):
        parts = pippin_losses(steady_model, path, BATCH // accumulation, accumulation)
        assert parts == pytest.approx(whole, abs=1e-5)


def test_accumulation_equals_with_plain_sgd_and_smoothing(steady_model, write_rows):
    """Adam hides a wrong scale of the gradient; plain gradient descent does not."""
    path = write_rows("rows.jsonl", make_rows(72))
    settings = {
        "optim": "sgd",
        "max_grad_norm": 0,
        "learning_rate": 0.05,
        "label_smoothing_factor": 0.1,
        "max_steps": 12,
    }
    whole = pippin_losses(steady_model, path, BATCH, 1, **settings)
    assert pippin_losses(steady_model, path, 4, 8, **settings) == pytest.approx(whole, rel=1e-5)


def test_padding_to_the_maximum_changes_nothing(steady_model, write_rows):
    path = write_rows("rows.jsonl", make_rows(96))
    short = pippin_losses(steady_model, path, BATCH, 1, max_steps=9)
    padded = pippin_losses(steady_model, path, BATCH, 1, max_steps=9, pad_to_max_length=True, overwrite_output_dir=True)
    assert padded == pytest.approx(short, rel=1e-5)
