"""Losses of the first steps of LoRA, step by step: TRL's SFTTrainer beside Pippin, from the same adapter.

    python benchmarks/language/losses_against_trl.py MODEL gsm8k/train.jsonl [--steps 30]

Full precision, no dropout, rows in the file's order, batches of 8, AdamW at 1e-4 falling in a straight line. The rows
are questions with answers; TRL gets them as conversational prompts and completions, of which it learns the completion.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from recording import RESULTS, record  # noqa: E402

RATE, BATCH = 1e-4, 8


def with_trl(model: str, adapter: Path, rows: list[dict], steps: int) -> list[float]:
    from datasets import Dataset
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from trl import SFTConfig, SFTTrainer

    base = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(model)
    chats = [
        {
            "prompt": [{"role": "user", "content": row["question"]}],
            "completion": [{"role": "assistant", "content": row["answer"]}],
        }
        for row in rows
    ]
    with tempfile.TemporaryDirectory() as out:
        arguments = SFTConfig(
            out, max_steps=steps, per_device_train_batch_size=BATCH, learning_rate=RATE, logging_steps=1, report_to=[],
            save_strategy="no", bf16=False, use_cpu=True, disable_tqdm=True, train_sampling_strategy="sequential",
            gradient_checkpointing=False, max_length=1024,
        )  # fmt: skip
        trainer = SFTTrainer(
            PeftModel.from_pretrained(base, adapter, is_trainable=True),
            arguments,
            train_dataset=Dataset.from_list(chats),
            processing_class=tokenizer,
        )
        totals: list[float] = []
        whole = trainer.training_step

        def watched(*arguments, **named):  # the Trainer's log is rounded
            totals.append(0.0)
            loss = whole(*arguments, **named)
            totals[-1] = float(loss)
            return loss

        trainer.training_step = watched
        trainer.train()
    return totals


def with_pippin(adapter: Path, file: Path, steps: int) -> list[float]:
    import pippin

    with tempfile.TemporaryDirectory() as out:
        pippin.train(
            file, model=str(adapter), train="lora", lr=RATE, max_steps=steps, batch_size=BATCH, warmup_steps=0,
            train_sampling_strategy="sequential", validation_split=0, logging_steps=1, max_length=1024, use_cpu=True,
            output=out + "/run", quiet=True,
        )  # fmt: skip
        lines = Path(out, "run", "events.jsonl").read_text(encoding="utf-8").splitlines()
    events = map(json.loads, lines)
    return [event["loss"] for event in events if event["event"] == "log"]


def fresh_adapter(model: str, folder: Path) -> None:
    """As peft makes one for this model."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.manual_seed(0)
    settings = LoraConfig(r=16, lora_alpha=32, lora_dropout=0.0, target_modules="all-linear", task_type="CAUSAL_LM")
    base = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    get_peft_model(base, settings).save_pretrained(folder)
    AutoTokenizer.from_pretrained(model).save_pretrained(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("rows", type=Path)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    lines = arguments.rows.read_text(encoding="utf-8").splitlines()[: arguments.steps * BATCH]
    with tempfile.TemporaryDirectory() as scratch:
        adapter, file = Path(scratch, "adapter"), Path(scratch, "rows.jsonl")
        fresh_adapter(arguments.model, adapter)
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        ours = with_pippin(adapter, file, arguments.steps)
        theirs = with_trl(arguments.model, adapter, [json.loads(line) for line in lines], arguments.steps)
    apart = [abs(one - other) for one, other in zip(ours, theirs, strict=True)]
    for place, (one, other) in enumerate(zip(ours, theirs, strict=True), 1):
        print(f"step {place:3}  trl {other:.7f}  pippin {one:.7f}  apart {abs(one - other):.1e}")
    figures = {
        "steps": arguments.steps,
        "most_apart": max(apart),
        "first": [theirs[0], ours[0]],
        "last": [theirs[-1], ours[-1]],
    }
    print(record("language_losses_against_trl", figures, arguments.results))


if __name__ == "__main__":
    main()
