"""Which words of a question begin with a capital letter: a label for each token."""

import argparse
import csv

import numpy as np
from transformers import (
    AutoModelForTokenClassification,
    AutoTokenizer,
    DataCollatorForTokenClassification,
    Trainer,
    TrainingArguments,
    set_seed,
)

parser = argparse.ArgumentParser()
parser.add_argument("--train", required=True)
parser.add_argument("--dev", required=True)
parser.add_argument("--model", default="bert-base-cased")
parser.add_argument("--output_dir", default="tagging")
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--batch_size", type=int, default=16)
parser.add_argument("--lr", type=float, default=5e-5)
parser.add_argument("--logging_steps", type=int, default=10)
args = parser.parse_args()

set_seed(5)
tokenizer = AutoTokenizer.from_pretrained(args.model)


def encode(path):
    with open(path, newline="", encoding="utf-8") as file:
        sentences = [row["text"].split() for row in csv.DictReader(file)]
    features = []
    for words in sentences:
        encoded = tokenizer(words, is_split_into_words=True, truncation=True, max_length=128)
        labels, before = [], None
        for place in encoded.word_ids():
            # Only the first piece of a word counts.
            counts = place is not None and place != before
            labels.append(int(words[place][0].isupper()) if counts else -100)
            before = place
        features.append({**encoded, "labels": labels})
    return features


def compute_metrics(p):
    predictions = np.argmax(p.predictions, axis=-1)
    counted = p.label_ids != -100
    return {"accuracy": float((predictions == p.label_ids)[counted].mean())}


trainer = Trainer(
    model=AutoModelForTokenClassification.from_pretrained(args.model, num_labels=2),
    args=TrainingArguments(
        output_dir=args.output_dir,
        num_train_epochs=args.epochs,
        per_device_train_batch_size=args.batch_size,
        learning_rate=args.lr,
        logging_steps=args.logging_steps,
        eval_strategy="epoch",
        save_strategy="epoch",
        report_to="none",
    ),
    train_dataset=encode(args.train),
    eval_dataset=encode(args.dev),
    data_collator=DataCollatorForTokenClassification(tokenizer),
    compute_metrics=compute_metrics,
)
trainer.train()
trainer.save_metrics("eval", trainer.evaluate())
trainer.save_state()
