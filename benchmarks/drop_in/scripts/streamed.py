"""Training on a file that is read line by line and never held in memory."""

import argparse
import json

import numpy as np
import torch
from torch.utils.data import IterableDataset, get_worker_info
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    Trainer,
    TrainingArguments,
    set_seed,
)


class JsonLines(IterableDataset):
    """Rows of a .jsonl file with the keys text and label; each worker reads its share of the lines."""

    def __init__(self, path, tokenizer, label2id, max_length, endless=False):
        self.path = path
        self.tokenizer = tokenizer
        self.label2id = label2id
        self.max_length = max_length
        self.endless = endless

    def lines(self):
        while True:
            with open(self.path, encoding="utf-8") as file:
                yield from file
            if not self.endless:
                return

    def __iter__(self):
        worker = get_worker_info()
        first, step = (worker.id, worker.num_workers) if worker else (0, 1)
        for number, line in enumerate(self.lines()):
            if number % step != first:
                continue
            row = json.loads(line)
            encoded = self.tokenizer(row["text"], truncation=True, max_length=self.max_length)
            yield {**encoded, "label": self.label2id[row["label"]]}


def find_labels(path):
    with open(path, encoding="utf-8") as file:
        return sorted({json.loads(line)["label"] for line in file})


def accuracy(eval_pred):
    logits, labels = eval_pred
    return {"accuracy": float(np.mean(np.argmax(logits, axis=-1) == labels))}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--train_file", required=True)
    parser.add_argument("--test_file", required=True)
    parser.add_argument("--model", default="bert-base-uncased")
    parser.add_argument("--output_dir", default="streamed")
    parser.add_argument("--max_steps", type=int, default=200)
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=5e-5)
    parser.add_argument("--max_length", type=int, default=128)
    parser.add_argument("--logging_steps", type=int, default=10)
    parser.add_argument("--num_workers", type=int, default=0)
    args = parser.parse_args()

    set_seed(0)
    labels = find_labels(args.train_file)
    label2id = {label: number for number, label in enumerate(labels)}
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    model = AutoModelForSequenceClassification.from_pretrained(
        args.model, num_labels=len(labels), label2id=label2id, id2label=dict(enumerate(labels))
    )
    trainer = Trainer(
        model=model,
        args=TrainingArguments(
            output_dir=args.output_dir,
            max_steps=args.max_steps,
            per_device_train_batch_size=args.batch_size,
            per_device_eval_batch_size=args.batch_size,
            learning_rate=args.lr,
            lr_scheduler_type="cosine",
            logging_steps=args.logging_steps,
            save_steps=args.max_steps,
            dataloader_num_workers=args.num_workers,
            report_to="none",
        ),
        train_dataset=JsonLines(args.train_file, tokenizer, label2id, args.max_length, endless=True),
        eval_dataset=JsonLines(args.test_file, tokenizer, label2id, args.max_length),
        data_collator=DataCollatorWithPadding(tokenizer),
        compute_metrics=accuracy,
    )
    trainer.train()
    metrics = trainer.evaluate()
    trainer.save_metrics("eval", metrics)
    trainer.save_state()
    if torch.cuda.is_available():
        print(f"peak GPU memory: {torch.cuda.max_memory_allocated() / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
