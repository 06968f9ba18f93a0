"""A training that is broken off and taken up again, with things around it that cannot be pickled."""

import csv
import json
import sys
import threading
from dataclasses import dataclass, field

import torch
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    HfArgumentParser,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)


@dataclass
class MyArguments(TrainingArguments):
    train_file: str = field(default="train.csv", metadata={"help": "CSV with text and label"})
    base_model: str = field(default="bert-base-uncased", metadata={"help": "What to begin from"})
    break_off_at: int = field(default=0, metadata={"help": "Stop after this many steps"})
    proceed: bool = field(default=False, metadata={"help": "Go on from the newest checkpoint"})


class Collator:
    """Pads a batch, and notes its size in a file that it holds open."""

    def __init__(self, tokenizer, path):
        self.tokenizer = tokenizer
        self.file = open(path, "a")  # noqa: SIM115

    def __call__(self, features):
        batch = self.tokenizer.pad(features, return_tensors="pt")
        self.file.write(json.dumps(list(batch["input_ids"].shape)) + "\n")
        self.file.flush()
        return batch


class BreakOff(TrainerCallback):
    def __init__(self, step):
        self.step = step
        self.lock = threading.Lock()

    def on_step_end(self, args, state, control, **kwargs):
        with self.lock:
            if state.global_step == self.step:
                control.should_save = True
                control.should_training_stop = True
        return control


def main():
    (args,) = HfArgumentParser(MyArguments).parse_args_into_dataclasses()
    set_seed(args.seed)
    tokenizer = AutoTokenizer.from_pretrained(args.base_model)
    with open(args.train_file, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    classes = sorted({row["label"] for row in rows})
    features = [{**tokenizer(row["text"], truncation=True), "labels": classes.index(row["label"])} for row in rows]
    held_out = len(features) // 5
    trainer = Trainer(
        model=AutoModelForSequenceClassification.from_pretrained(args.base_model, num_labels=len(classes)),
        args=args,
        train_dataset=features[held_out:],
        eval_dataset=features[:held_out],
        data_collator=Collator(tokenizer, f"shapes_{'after' if args.proceed else 'before'}.jsonl"),
        compute_metrics=lambda p: {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())},
        callbacks=[BreakOff(args.break_off_at)],
    )
    trainer.train(resume_from_checkpoint=args.proceed)
    if args.break_off_at:
        sys.exit()
    trainer.save_metrics("eval", trainer.evaluate())
    trainer.save_model()
    trainer.save_state()
    kept = torch.load(f"{args.output_dir}/training_args.bin", weights_only=False)
    print("trained from", kept.base_model)


if __name__ == "__main__":
    main()
