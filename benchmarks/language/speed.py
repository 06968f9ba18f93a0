"""Speed and memory of LoRA on a language model: Pippin beside TRL's SFTTrainer and transformers' Trainer.

    python benchmarks/language/speed.py MODEL gsm8k/train.jsonl [--steps 16] [--batch 8] [--rounds 3] [--ways NAMES]
    python benchmarks/language/speed.py --shape 0.5b rows.jsonl --lengths 200 …      random weights in this shape

Rows are questions with answers (GSM8K), or with --lengths made up: log-normal with this mean, at most 1024 tokens, the
second half learnt. Rank 16 on all linear layers, one batch a step. What counts is real tokens a second over the second
half of the steps, padding not counted; each way is a process of its own, in turns. Every way gets the same rows.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "speed"))
from comparing import Way, chosen, compared, fresh, interleaved, recording, show  # noqa: E402

RANK, ALPHA, RATE, LONGEST = 16, 32, 2e-4, 1024
TRL: dict[str, dict[str, Any]] = {
    "trl": {},
    "trl no recomputing": {"gradient_checkpointing": False},
    "trl grouped": {"gradient_checkpointing": False, "train_sampling_strategy": "group_by_length"},
    "trl packed": {"gradient_checkpointing": False, "packing": True},
}
PIPPIN: dict[str, dict[str, Any]] = {"pippin": {}, "pippin recomputing": {"gradient_checkpointing": True}}
#: Of Qwen2.5: hidden size, inner size, layers, heads, heads of keys.
SHAPES = {"0.5b": (896, 4864, 24, 14, 2), "3b": (2048, 11008, 36, 16, 2)}


def lora() -> Any:
    from peft import LoraConfig

    return LoraConfig(r=RANK, lora_alpha=ALPHA, lora_dropout=0.0, target_modules="all-linear", task_type="CAUSAL_LM")


class Halves:
    """Notes when half of the steps and all of them are done, and the tokens in between."""

    def __init__(self, steps: int):
        self.steps, self.times, self.tokens = steps, list[float](), 0

    def done(self, step: int) -> None:
        import torch

        if step in (self.steps // 2, self.steps):
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            self.times.append(time.perf_counter())

    def figures(self) -> dict[str, Any]:
        return {"tokens_per_second": self.tokens / (self.times[1] - self.times[0]), "tokens": self.tokens}


def with_trl(model: str, file: Path, steps: int, batch: int, bf16: bool, **flags: Any) -> dict[str, Any]:
    import torch
    from datasets import Dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
    from trl import SFTConfig, SFTTrainer

    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    chats = [
        {
            "prompt": [{"role": "user", "content": row["question"]}],
            "completion": [{"role": "assistant", "content": row["answer"]}],
        }
        for row in rows
    ]
    halves = Halves(steps)

    class Clock(TrainerCallback):
        def on_step_end(self, arguments: Any, state: Any, control: Any, **_: Any) -> None:
            halves.done(state.global_step)

    base = AutoModelForCausalLM.from_pretrained(model, dtype=torch.bfloat16 if bf16 else torch.float32)
    with tempfile.TemporaryDirectory() as out:
        arguments = SFTConfig(
            out, max_steps=steps, per_device_train_batch_size=batch, learning_rate=RATE, logging_strategy="no",
            report_to=[], save_strategy="no", bf16=bf16, use_cpu=not torch.cuda.is_available(), disable_tqdm=True,
            max_length=LONGEST, **flags,
        )  # fmt: skip
        trainer = SFTTrainer(
            base, arguments, train_dataset=Dataset.from_list(chats), peft_config=lora(),
            processing_class=AutoTokenizer.from_pretrained(model), callbacks=[Clock()],
        )  # fmt: skip
        step = trainer.training_step

        def counted(model: Any, inputs: Any, *others: Any, **named: Any) -> Any:
            if trainer.state.global_step >= steps // 2:
                mask = inputs.get("attention_mask")
                halves.tokens += int(inputs["input_ids"].numel() if mask is None else mask.sum())
            return step(model, inputs, *others, **named)

        trainer.training_step = counted
        outcome = trainer.train()
    return {**halves.figures(), "loss": outcome.training_loss}


def with_pippin(model: str, file: Path, steps: int, batch: int, bf16: bool, **flags: Any) -> dict[str, Any]:
    from datetime import datetime

    import pippin

    with tempfile.TemporaryDirectory() as out:
        report = pippin.train(
            file, model=model, train="lora", lora_rank=RANK, lora_alpha=ALPHA, lr=RATE, max_steps=steps,
            batch_size=batch, validation_split=0, logging_steps=steps // 2, max_length=LONGEST, warmup_steps=0,
            bf16=bf16 or None, verify="off", output=out + "/run", quiet=True, **flags,
        )  # fmt: skip
        lines = Path(out, "run", "events.jsonl").read_text(encoding="utf-8").splitlines()
    logs = [event for event in map(json.loads, lines) if event["event"] == "log"]
    when = [datetime.fromisoformat(event["time"]).timestamp() for event in logs]
    seconds = when[1] - when[0]
    # Rows are packed: every token that goes through the model is real, but for what fills a recorded shape.
    tokens = logs[1]["tokens_per_second"] * seconds
    return {
        "tokens_per_second": logs[1]["tokens_per_second"],
        "tokens": int(tokens),
        "loss": report.results["train_loss"],
    }


def make_model(folder: Path, shape: str, tokenizer: str) -> dict[str, str]:
    """Qwen2 with random weights in bfloat16."""
    import torch
    from transformers import AutoTokenizer, Qwen2Config, Qwen2ForCausalLM

    hidden, inner, layers, heads, keys = SHAPES[shape]
    config = Qwen2Config(
        vocab_size=151_936, max_position_embeddings=4096, eos_token_id=2, hidden_size=hidden, intermediate_size=inner,
        num_hidden_layers=layers, num_attention_heads=heads, num_key_value_heads=keys, tie_word_embeddings=True,
    )  # fmt: skip
    torch.set_default_dtype(torch.bfloat16)
    Qwen2ForCausalLM(config).save_pretrained(folder)
    AutoTokenizer.from_pretrained(tokenizer).save_pretrained(folder)
    return {"model": str(folder)}


def make_rows(file: Path, count: int, mean: int) -> None:
    """Words of one token each, so that rows have about so many."""
    import numpy as np

    draw = np.random.default_rng(0)
    lengths = np.clip(draw.lognormal(np.log(mean) - 0.245, 0.7, count), 16, LONGEST - 40).astype(int)
    words = "time year people way day man thing woman life child world school state family student group".split()
    with file.open("w", encoding="utf-8") as out:
        for length in lengths:
            text = [" ".join(draw.choice(words, length // 2)) for _ in range(2)]
            out.write(json.dumps({"question": text[0], "answer": text[1]}) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a folder with model and tokenizer; with --shape its tokenizer alone is used")
    parser.add_argument("rows", type=Path)
    parser.add_argument("--shape", choices=SHAPES)
    parser.add_argument("--lengths", type=int)
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--ways", default=None)
    parser.add_argument("--name", default="language_speed")
    parser.add_argument("--results", type=Path, default=recording.RESULTS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        model, file = arguments.model, Path(scratch, "rows.jsonl")
        if arguments.shape:
            model = fresh(make_model, Path(scratch, "model"), arguments.shape, arguments.model)["model"]
        count = arguments.steps * arguments.batch
        if arguments.lengths:
            make_rows(file, count, arguments.lengths)
        else:
            file.write_text("\n".join(arguments.rows.read_text(encoding="utf-8").splitlines()[:count]) + "\n")
        job = (model, file, arguments.steps, arguments.batch, arguments.bf16)
        ways: dict[str, Way] = {name: partial(fresh, with_trl, *job, **flags) for name, flags in TRL.items()}
        ways |= {name: partial(fresh, with_pippin, *job, **flags) for name, flags in PIPPIN.items()}
        found = interleaved(chosen(ways, arguments.ways), arguments.rounds, "tokens_per_second")
    figures = compared(found, TRL, "tokens_per_second")
    beside = ("peak_resident_bytes", "peak_gpu_allocated_bytes", "loss")
    show(f"{arguments.shape or model}, batch {arguments.batch}", figures, "tokens_per_second", beside=beside)
    print(
        recording.record(
            arguments.name, {"batch": arguments.batch, "steps": arguments.steps, **figures}, arguments.results
        )
    )


if __name__ == "__main__":
    main()
