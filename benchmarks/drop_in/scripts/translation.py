"""Sentences into other sentences: an encoder-decoder that is evaluated by what it writes."""

import argparse
import csv

import numpy as np
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    DataCollatorForSeq2Seq,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    set_seed,
)

parser = argparse.ArgumentParser()
parser.add_argument("--train", required=True)
parser.add_argument("--dev", required=True)
parser.add_argument("--model", default="google-t5/t5-small")
parser.add_argument("--output_dir", default="translation")
parser.add_argument("--epochs", type=float, default=1)
parser.add_argument("--batch_size", type=int, default=16)
parser.add_argument("--lr", type=float, default=5e-5)
parser.add_argument("--logging_steps", type=int, default=10)
parser.add_argument("--save_steps", type=int, default=500)
args = parser.parse_args()

set_seed(11)
tokenizer = AutoTokenizer.from_pretrained(args.model)
pad = tokenizer.pad_token_id


def encode(path):
    with open(path, newline="", encoding="utf-8") as file:
        pairs = [(row["sentence1"], row["sentence2"]) for row in csv.DictReader(file)]
    features = []
    for source, target in pairs:
        encoded = tokenizer(source, truncation=True, max_length=64)
        encoded["labels"] = tokenizer(text_target=target, truncation=True, max_length=64)["input_ids"]
        features.append({name: encoded[name] for name in ("input_ids", "attention_mask", "labels")})
    return features


def compute_metrics(eval_pred):
    predictions = np.where(eval_pred.predictions >= 0, eval_pred.predictions, pad)
    references = np.where(eval_pred.label_ids >= 0, eval_pred.label_ids, pad)
    decoded = [tokenizer.batch_decode(ids, skip_special_tokens=True) for ids in (predictions, references)]
    lengths = [[len(text.split()) for text in texts] for texts in decoded]
    return {"written_words": float(np.mean(lengths[0])), "wanted_words": float(np.mean(lengths[1]))}


model = AutoModelForSeq2SeqLM.from_pretrained(args.model)
trainer = Seq2SeqTrainer(
    model=model,
    args=Seq2SeqTrainingArguments(
        output_dir=args.output_dir,
        num_train_epochs=args.epochs,
        per_device_train_batch_size=args.batch_size,
        learning_rate=args.lr,
        logging_steps=args.logging_steps,
        save_steps=args.save_steps,
        save_total_limit=2,
        eval_strategy="epoch",
        predict_with_generate=True,
        generation_max_length=24,
        seed=11,
        report_to="none",
    ),  # fmt: skip
    train_dataset=encode(args.train),
    eval_dataset=encode(args.dev),
    data_collator=DataCollatorForSeq2Seq(tokenizer, model=model),
    processing_class=tokenizer,
    compute_metrics=compute_metrics,
)
trainer.train()
trainer.save_metrics("eval", trainer.evaluate())
trainer.save_model()
trainer.save_state()
