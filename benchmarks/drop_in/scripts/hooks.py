"""Most of what can be handed to a Trainer or overridden in it, at once."""

import argparse
from collections import Counter

import numpy as np
import torch
from datasets import Dataset
from torch.utils.data import DataLoader, WeightedRandomSampler
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    Trainer,
    TrainingArguments,
    get_linear_schedule_with_warmup,
    set_seed,
)

parser = argparse.ArgumentParser()
parser.add_argument("--train_csv", required=True)
parser.add_argument("--eval_csv", required=True)
parser.add_argument("--model_name", default="bert-base-uncased")
parser.add_argument("--output_dir", default="out")
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--batch_size", type=int, default=16)
parser.add_argument("--learning_rate", type=float, default=5e-5)
parser.add_argument("--logging_steps", type=int, default=10)
args = parser.parse_args()

set_seed(3)
tokenizer = AutoTokenizer.from_pretrained(args.model_name)
train = Dataset.from_csv(args.train_csv, cache_dir=f"{args.output_dir}/cache")
valid = Dataset.from_csv(args.eval_csv, cache_dir=f"{args.output_dir}/cache")
classes = sorted(set(train["label"]))


def tokenize(batch):
    encoded = tokenizer(batch["text"], truncation=True, max_length=128)
    encoded["labels"] = [classes.index(label) for label in batch["label"]]
    encoded["words"] = [len(text.split()) for text in batch["text"]]
    return encoded


# "text" and "words" are left to remove_unused_columns.
train = train.map(tokenize, batched=True, remove_columns=["label"])
valid = valid.map(tokenize, batched=True, remove_columns=["label"])


def collate(features):
    labels = torch.tensor([feature.pop("labels") for feature in features])
    batch = tokenizer.pad(features, padding=True, pad_to_multiple_of=8, return_tensors="pt")
    batch["labels"] = labels
    return batch


def focal_loss(outputs, labels, num_items_in_batch=None):
    losses = torch.nn.functional.cross_entropy(outputs.logits, labels, reduction="none")
    losses = (1 - torch.exp(-losses)) ** 2 * losses
    return losses.sum() / (len(labels) if num_items_in_batch is None else num_items_in_batch)


def best_class(logits, labels):
    return logits.argmax(dim=-1)


def compute_metrics(p):
    return {"accuracy": float(np.mean(p.predictions == p.label_ids))}


class MyTrainer(Trainer):
    seen = 0

    def get_train_dataloader(self):
        counts = Counter(self.train_dataset["labels"])
        weights = [1 / counts[label] for label in self.train_dataset["labels"]]
        generator = torch.Generator().manual_seed(self.args.seed)
        sampler = WeightedRandomSampler(weights, num_samples=len(weights), generator=generator)
        loader = DataLoader(
            self.train_dataset.remove_columns(["text", "words"]),
            batch_size=self.args.train_batch_size,
            sampler=sampler,
            collate_fn=self.data_collator,
        )
        return self.accelerator.prepare(loader)

    def training_step(self, model, inputs, *others, **kwargs):
        self.seen += int(inputs["attention_mask"].sum())
        return super().training_step(model, inputs, *others, **kwargs)

    def log(self, logs, *others, **kwargs):
        if "loss" in logs:
            logs["tokens_seen"] = self.seen
        super().log(logs, *others, **kwargs)


model = AutoModelForSequenceClassification.from_pretrained(args.model_name, num_labels=len(classes))
optimizer = torch.optim.SGD(model.parameters(), lr=args.learning_rate, momentum=0.9)
steps = args.epochs * (len(train) // args.batch_size + 1)
scheduler = get_linear_schedule_with_warmup(optimizer, num_warmup_steps=steps // 10, num_training_steps=steps)
trainer = MyTrainer(
    model=model,
    args=TrainingArguments(
        args.output_dir,
        num_train_epochs=args.epochs,
        per_device_train_batch_size=args.batch_size,
        seed=3,
        logging_steps=args.logging_steps,
        eval_strategy="epoch",
        save_strategy="no",
        report_to="none",
    ),  # fmt: skip
    data_collator=collate,
    train_dataset=train,
    eval_dataset=valid,
    compute_metrics=compute_metrics,
    compute_loss_func=focal_loss,
    preprocess_logits_for_metrics=best_class,
    optimizers=(optimizer, scheduler),
)
trainer.train()
trainer.save_metrics("eval", trainer.evaluate())
trainer.save_model()
trainer.save_state()
