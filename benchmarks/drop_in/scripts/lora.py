"""Low-rank adapters over a frozen classifier."""

import argparse
import csv

import numpy as np
from peft import LoraConfig, TaskType, get_peft_model
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    Trainer,
    TrainingArguments,
    set_seed,
)


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--train", required=True)
    parser.add_argument("--dev", required=True)
    parser.add_argument("--model", default="bert-base-uncased")
    parser.add_argument("--output_dir", default="lora")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--logging_steps", type=int, default=10)
    args = parser.parse_args()

    set_seed(11)
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    train, dev = read(args.train), read(args.dev)
    classes = sorted({row["label"] for row in train})

    def encode(rows):
        encoded = tokenizer([row["text"] for row in rows], truncation=True, max_length=128)
        labels = [classes.index(row["label"]) for row in rows]
        return [{**{key: encoded[key][i] for key in encoded}, "labels": label} for i, label in enumerate(labels)]

    model = AutoModelForSequenceClassification.from_pretrained(args.model, num_labels=len(classes))
    config = LoraConfig(
        task_type=TaskType.SEQ_CLS, r=8, lora_alpha=16, lora_dropout=0.0, target_modules=["query", "value"]
    )
    model = get_peft_model(model, config)
    model.print_trainable_parameters()

    trainer = Trainer(
        model=model,
        args=TrainingArguments(
            output_dir=args.output_dir,
            num_train_epochs=args.epochs,
            per_device_train_batch_size=args.batch_size,
            per_device_eval_batch_size=args.batch_size,
            learning_rate=args.lr,
            logging_steps=args.logging_steps,
            eval_strategy="epoch",
            save_strategy="epoch",
            load_best_model_at_end=True,
            report_to="none",
        ),
        train_dataset=encode(train),
        eval_dataset=encode(dev),
        data_collator=DataCollatorWithPadding(tokenizer),
        compute_metrics=lambda p: {"accuracy": float((np.argmax(p.predictions, axis=-1) == p.label_ids).mean())},
        processing_class=tokenizer,
    )
    trainer.train()
    trainer.save_metrics("eval", trainer.evaluate())
    trainer.save_state()
    model.save_pretrained(f"{args.output_dir}/adapter")


if __name__ == "__main__":
    main()
