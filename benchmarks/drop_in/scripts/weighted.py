"""Classes of unequal size: a weighted loss, and lower learning rates for the lower layers."""

import argparse
import csv
from collections import Counter

import torch
from torch import nn
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments, set_seed


class WeightedTrainer(Trainer):
    def __init__(self, *args, class_weights, layer_decay=0.9, **kwargs):
        super().__init__(*args, **kwargs)
        self.class_weights = class_weights
        self.layer_decay = layer_decay

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss_fct = nn.CrossEntropyLoss(weight=self.class_weights.to(outputs.logits.device))
        loss = loss_fct(outputs.logits.view(-1, self.model.config.num_labels), labels.view(-1))
        return (loss, outputs) if return_outputs else loss

    def create_optimizer(self, model=None):
        if self.optimizer is None:
            layers = self.model.config.num_hidden_layers
            groups = {}
            for name, param in self.model.named_parameters():
                if not param.requires_grad:
                    continue
                if ".layer." in name:
                    depth = int(name.split(".layer.")[1].split(".")[0]) + 1
                elif "embeddings" in name:
                    depth = 0
                else:
                    depth = layers + 1
                decay = 0.0 if name.endswith("bias") or "LayerNorm" in name else self.args.weight_decay
                groups.setdefault((depth, decay), []).append(param)
            self.optimizer = torch.optim.AdamW(
                [
                    {
                        "params": params,
                        "weight_decay": decay,
                        "lr": self.args.learning_rate * self.layer_decay ** (layers + 1 - depth),
                    }
                    for (depth, decay), params in groups.items()
                ],
                eps=self.args.adam_epsilon,
            )
        return self.optimizer


def load(path):
    with open(path, newline="", encoding="utf-8") as file:
        return [(row["text"], row["label"]) for row in csv.DictReader(file)]


def encode(rows, tokenizer, label2id, max_length):
    features = []
    for text, label in rows:
        encoded = tokenizer(text, truncation=True, padding="max_length", max_length=max_length)
        features.append({**encoded, "label": label2id[label]})
    return features


def compute_metrics(eval_pred):
    predictions = eval_pred.predictions.argmax(axis=-1)
    per_class = [
        (predictions[eval_pred.label_ids == label] == label).mean() for label in sorted(set(eval_pred.label_ids))
    ]
    return {"balanced_accuracy": float(sum(per_class) / len(per_class))}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--train", required=True)
    parser.add_argument("--dev", required=True)
    parser.add_argument("--model", default="bert-base-uncased")
    parser.add_argument("--output_dir", default="weighted")
    parser.add_argument("--epochs", type=float, default=3)
    parser.add_argument("--batch_size", type=int, default=16)
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--lr", type=float, default=5e-5)
    parser.add_argument("--max_length", type=int, default=128)
    parser.add_argument("--logging_steps", type=int, default=10)
    args = parser.parse_args()

    set_seed(1)
    train, dev = load(args.train), load(args.dev)
    counts = Counter(label for _, label in train)
    label2id = {label: i for i, label in enumerate(sorted(counts))}
    weights = torch.tensor([len(train) / (len(counts) * counts[label]) for label in label2id])

    tokenizer = AutoTokenizer.from_pretrained(args.model)
    training_args = TrainingArguments(
        output_dir=args.output_dir, num_train_epochs=args.epochs, per_device_train_batch_size=args.batch_size,
        gradient_accumulation_steps=args.accumulate, learning_rate=args.lr, weight_decay=0.01, warmup_steps=0.1,
        logging_steps=args.logging_steps, eval_strategy="epoch", save_strategy="epoch", save_total_limit=1, seed=1,
        report_to="none",
    )  # fmt: skip
    trainer = WeightedTrainer(
        model=AutoModelForSequenceClassification.from_pretrained(args.model, num_labels=len(label2id)),
        args=training_args,
        train_dataset=encode(train, tokenizer, label2id, args.max_length),
        eval_dataset=encode(dev, tokenizer, label2id, args.max_length),
        compute_metrics=compute_metrics,
        class_weights=weights,
    )
    trainer.train()
    trainer.save_metrics("eval", trainer.evaluate())
    trainer.save_state()
