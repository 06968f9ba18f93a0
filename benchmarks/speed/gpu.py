"""Speed and memory on an NVIDIA GPU: Pippin beside the Trainer with its defaults, its best flags and torch.compile.

    python benchmarks/speed/gpu.py MRPC_FOLDER --out FOLDER [--only batch32,batch256] [--ways NAMES] [--rounds 1]

BERT-base with random weights on MRPC's real rows (53 tokens in the mean, at most 128). Each piece stands alone, stays
under five minutes for a round, and writes its own JSON into the folder:

    batch32    samples per second at batch 32 over the second half of 300 steps, time to set up, peak memory
    batch256   the same at batch 256 over 100 steps
    batch1024  Pippin at batch 1024, compiled and not, beside the rate of the card's 8192³ bf16 product
    job        3668 rows, 3 epochs, from the start of the process to the saved model
    predict    an evaluation of 16384 rows, padded and eager beside Pippin, same batch and dtype

Floating-point operations of a row with n tokens are counted as 6 × P × n + 12 × L × H × n², with P the weights of the
encoder's L layers of width H: forward and backward, real tokens alone, recomputing and embeddings left out.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import rows
import with_pippin
import with_trainer
from comparing import Figures, Way, chosen, compared, fresh, interleaved, recording, show
from job import Job
from model_folders import SIZES, make_bert

PADDED = {"padding": "max_length"}
TRAINER: dict[str, dict[str, Any]] = {
    "trainer": PADDED,
    "trainer bf16": {**PADDED, "bf16": True},
    "trainer bf16 dynamic": {"padding": "longest", "bf16": True},
    "trainer bf16 compiled": {**PADDED, "bf16": True, "torch_compile": True},
    "trainer tf32 compiled": {**PADDED, "tf32": True, "torch_compile": True},
}
PIPPIN: dict[str, dict[str, Any]] = {
    "pippin": {},
    "pippin fp32": {"bf16": False, "tf32": False},
}
#: As in a job of thousands of steps; a short one is not compiled, since it would take longer.
COMPILED = "pippin compiled"
EVALUATED_ROWS = 16384
Piece = Callable[[Job, argparse.Namespace], Figures]


def training_ways(job: Job, *names: str) -> dict[str, Way]:
    ways: dict[str, Way] = {name: partial(fresh, with_trainer.train, job, **flags) for name, flags in TRAINER.items()}
    ways |= {name: partial(fresh, with_pippin.train, job, **flags) for name, flags in PIPPIN.items()}
    ways[COMPILED] = partial(fresh, with_pippin.train_compiled, job)
    return {name: ways[name] for name in names}


def batch32(job: Job, arguments: argparse.Namespace) -> Figures:
    names = [*TRAINER, *PIPPIN, COMPILED]
    return _speed(replace(job, steps=arguments.steps or 300), names, arguments)


def batch256(job: Job, arguments: argparse.Namespace) -> Figures:
    names = ["trainer", "trainer bf16 dynamic", "pippin"]
    return _speed(replace(job, batch=256, steps=arguments.steps or 100), names, arguments)


def batch1024(job: Job, arguments: argparse.Namespace) -> Figures:
    many = rows.read(job.train).repeated(20 * 1024).write(job.train.with_name("batches.jsonl"))
    job = replace(job, train=many, batch=1024, steps=arguments.steps or 160)
    figures = _speed(job, ["pippin", COMPILED], arguments)
    rate = fresh(product_rate)["flops_per_second"]
    a_row = flops_of_a_row(job)
    for one in figures.values():
        if one["samples_per_second"]:
            one["share_of_product_rate"] = round(one["samples_per_second"] * a_row / rate, 3)
            print(f"{one['share_of_product_rate']:.1%} of the {rate / 1e12:.0f} TFLOP/s of an 8192³ bf16 product")
    return {"product_flops_per_second": rate, "flops_of_a_row": a_row, **figures}


def whole_job(job: Job, arguments: argparse.Namespace) -> Figures:
    job = replace(job, epochs=3, steps=arguments.steps)
    with tempfile.TemporaryDirectory() as scratch:
        saved = {"folder": Path(scratch, "saved")}
        ways: dict[str, Way] = {
            name: partial(fresh, with_trainer.train, job, **saved, **TRAINER[name])
            for name in ("trainer", "trainer bf16 dynamic")
        }
        ways["pippin"] = partial(fresh, with_pippin.train, job)
        found = interleaved(chosen(ways, arguments.ways), arguments.rounds, "process_seconds")
    figures = compared(found, ("trainer", "trainer bf16 dynamic"), "process_seconds", more_is_better=False)
    show("whole job", figures, "process_seconds", beside=("train_seconds", "loss"))
    return figures


def predict(job: Job, arguments: argparse.Namespace) -> Figures:
    figures: Figures = {}
    file = rows.read(job.train).repeated(arguments.evaluated_rows).write(job.train.with_name("many.jsonl"))
    for batch in (32, 256):
        trainer = partial(fresh, with_trainer.evaluate, job, file, batch)
        pippin = partial(fresh, with_pippin.evaluate, job, file, batch)
        ways: dict[str, Way] = {
            "trainer": trainer,
            "pippin": pippin,
            "trainer bf16": partial(trainer, bf16_full_eval=True),
            "pippin bf16": partial(pippin, bf16=True),
        }
        found = interleaved(chosen(ways, arguments.ways), arguments.rounds)
        figures[f"batch {batch}"] = compared(found, ("trainer", "trainer bf16"))
        show(f"evaluation, batch {batch}", figures[f"batch {batch}"], beside=("accuracy",))
    return figures


PIECES: dict[str, Piece] = {
    "batch32": batch32,
    "batch256": batch256,
    "batch1024": batch1024,
    "job": whole_job,
    "predict": predict,
}


def product_rate() -> dict[str, float]:
    """Floating-point operations a second of an 8192³ bf16 product: the mean of ten on random values."""
    import torch

    left, right = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    for _ in range(3):
        left @ right
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(10):
        left @ right
    torch.cuda.synchronize()
    return {"flops_per_second": 10 * 2 * 8192**3 / (time.perf_counter() - start)}


def flops_of_a_row(job: Job) -> float:
    """The mean over the rows, by the formula at the top."""
    from transformers import AutoConfig, AutoTokenizer

    found, config = rows.read(job.train), AutoConfig.from_pretrained(job.model)
    tokenizer = AutoTokenizer.from_pretrained(job.model)
    encoded = tokenizer(found.texts, found.pairs, truncation=True, max_length=job.max_length)["input_ids"]
    layers, width, inner = config.num_hidden_layers, config.hidden_size, config.intermediate_size
    # Four square products of the attention and two of the feed-forward part, their biases, and two norms.
    weights = layers * (4 * (width**2 + width) + 2 * width * inner + inner + width + 4 * width)
    return statistics.mean(6 * weights * len(ids) + 12 * layers * width * len(ids) ** 2 for ids in encoded)


def _speed(job: Job, names: list[str], arguments: argparse.Namespace) -> Figures:
    found = interleaved(chosen(training_ways(job, *names), arguments.ways), arguments.rounds)
    figures = compared(found, ("trainer", "trainer bf16 dynamic"))
    beside = ("set_up_seconds", "peak_gpu_allocated_bytes", "peak_gpu_reserved_bytes", "loss")
    show(f"batch {job.batch}, {job.steps} steps", figures, beside=beside)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mrpc", type=Path)
    parser.add_argument("--out", type=Path, default=recording.RESULTS)
    parser.add_argument("--only", default=",".join(PIECES), help=f"of {', '.join(PIECES)}")
    parser.add_argument("--ways", default=None, help=f"of {', '.join([*TRAINER, *PIPPIN, COMPILED])}")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--steps", type=int, default=None, help="instead of each piece's own number")
    parser.add_argument("--evaluated_rows", type=int, default=EVALUATED_ROWS)
    parser.add_argument("--size", default="bert-base", choices=SIZES)
    parser.add_argument("--tokenizer", default=None, help="folder; default: the built-in model's")
    arguments = parser.parse_args()
    train, _ = rows.mrpc(arguments.mrpc)
    with tempfile.TemporaryDirectory() as scratch:
        model = fresh(make_bert, Path(scratch, "model"), arguments.size, arguments.tokenizer)["model"]
        job = Job(model, train.write(Path(scratch, "rows.jsonl")))
        for name in arguments.only.split(","):
            figures = PIECES[name](job, arguments)
            print(recording.record(f"gpu_{name}", {"size": arguments.size, **figures}, arguments.out), flush=True)


if __name__ == "__main__":
    main()
