"""Early stopping on the best checkpoint, with a callback that keeps a diary of the training."""

import argparse
import csv
import json
import os

import numpy as np
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    EarlyStoppingCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)


class Diary(TrainerCallback):
    """Writes every event to a file of JSON lines."""

    def __init__(self, path):
        self.path = path

    def write(self, event, state, **more):
        line = {"event": event, "step": state.global_step, "epoch": state.epoch, **more}
        with open(self.path, "a") as file:
            file.write(json.dumps(line) + "\n")

    def on_init_end(self, args, state, control, **kwargs):
        os.makedirs(args.output_dir, exist_ok=True)
        self.write("init", state)

    def on_train_begin(self, args, state, control, model=None, optimizer=None, **kwargs):
        self.write("train_begin", state, parameters=model.num_parameters(), groups=len(optimizer.param_groups))

    def on_epoch_begin(self, args, state, control, train_dataloader=None, **kwargs):
        self.write("epoch_begin", state, batches=len(train_dataloader))

    def on_step_begin(self, args, state, control, **kwargs):
        self.write("step_begin", state)

    def on_pre_optimizer_step(self, args, state, control, model=None, **kwargs):
        norms = [float(p.grad.norm()) for p in model.parameters() if p.grad is not None]
        self.write("pre_optimizer_step", state, gradient=float(np.linalg.norm(norms)))

    def on_optimizer_step(self, args, state, control, **kwargs):
        self.write("optimizer_step", state)

    def on_step_end(self, args, state, control, lr_scheduler=None, **kwargs):
        self.write("step_end", state, rate=lr_scheduler.get_last_lr()[0])

    def on_log(self, args, state, control, logs=None, **kwargs):
        self.write("log", state, logs=logs)

    def on_evaluate(self, args, state, control, metrics=None, **kwargs):
        self.write("evaluate", state, metrics=metrics, best=state.best_metric)

    def on_prediction_step(self, args, state, control, **kwargs):
        self.write("prediction_step", state)

    def on_save(self, args, state, control, **kwargs):
        # The checkpoint has to be there by now.
        folder = f"{args.output_dir}/checkpoint-{state.global_step}"
        self.write("save", state, there=os.path.exists(f"{folder}/model.safetensors"))

    def on_epoch_end(self, args, state, control, **kwargs):
        self.write("epoch_end", state, stop=control.should_training_stop)

    def on_train_end(self, args, state, control, **kwargs):
        self.write("train_end", state, best=state.best_metric)


def read(path, tokenizer, label2id=None, max_length=128):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    label2id = label2id or {label: i for i, label in enumerate(sorted({row["label"] for row in rows}))}
    encodings = tokenizer([row["text"] for row in rows], truncation=True, max_length=max_length)
    features = [
        {key: encodings[key][i] for key in encodings} | {"labels": label2id[row["label"]]} for i, row in enumerate(rows)
    ]
    return features, label2id


def compute_metrics(pred):
    return {"accuracy": (np.argmax(pred.predictions, axis=1) == pred.label_ids).mean().item()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--train", required=True)
    parser.add_argument("--dev", required=True)
    parser.add_argument("--model", default="bert-base-uncased")
    parser.add_argument("--output_dir", default="stopped_early")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=5e-5)
    parser.add_argument("--patience", type=int, default=2)
    parser.add_argument("--logging_steps", type=int, default=10)
    args = parser.parse_args()

    set_seed(7)
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    train, label2id = read(args.train, tokenizer)
    dev, _ = read(args.dev, tokenizer, label2id)
    trainer = Trainer(
        model=AutoModelForSequenceClassification.from_pretrained(args.model, num_labels=len(label2id)),
        args=TrainingArguments(
            args.output_dir,
            num_train_epochs=args.epochs,
            learning_rate=args.lr,
            seed=7,
            per_device_train_batch_size=args.batch_size,
            per_device_eval_batch_size=args.batch_size,
            eval_strategy="epoch",
            save_strategy="epoch",
            save_total_limit=2,
            load_best_model_at_end=True,
            metric_for_best_model="accuracy",
            logging_steps=args.logging_steps,
            report_to="none",
        ),  # fmt: skip
        train_dataset=train,
        eval_dataset=dev,
        processing_class=tokenizer,
        compute_metrics=compute_metrics,
        callbacks=[
            EarlyStoppingCallback(early_stopping_patience=args.patience),
            Diary(args.output_dir + "/diary.jsonl"),
        ],
    )
    trainer.train()
    trainer.save_metrics("eval", trainer.evaluate())
    trainer.save_model()
    trainer.save_state()
