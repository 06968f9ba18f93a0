"""The memory that `pippin preflight` foresees beside what the device's allocator then counts, in real training steps.

    python benchmarks/preflight/memory_forecast.py --tokenizer FOLDER                    on an NVIDIA GPU
    EMULATED_MPS="memory=64" python benchmarks/preflight/memory_forecast.py --layers 2   on the emulated Apple GPU

Six classes of models with random weights × three batches × full training, recomputed activations and a frozen core. The
forecast is made first, from the configuration alone; then a few steps run as plain calls. Peaks are of tensors, without
what the device's libraries take beside them, which a forecast counts as "held before".
"""

from __future__ import annotations

import argparse
import gc
import importlib
import statistics
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[1] / "speed")]
recording, made_up_rows, folders = (importlib.import_module(name) for name in ("recording", "rows", "model_folders"))

POINTS = "8x128,32x128,8x512"
MODES: dict[str, dict[str, Any]] = {
    "full": {},
    "recomputed": {"gradient_checkpointing": True},
    "frozen core": {"freeze": "core", "cache_frozen": False},
}


def configs(layers: int | None) -> dict[str, Any]:
    from transformers import (
        BertConfig,
        DistilBertConfig,
        GPT2Config,
        ModernBertConfig,
        RobertaConfig,
    )

    sizes = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536}
    found = {
        "bert-base": BertConfig(),
        "roberta-base": RobertaConfig(vocab_size=50265, max_position_embeddings=514),
        "distilbert": DistilBertConfig(),
        "minilm": BertConfig(**sizes),
        "modernbert-base": ModernBertConfig(),
        "gpt2": GPT2Config(pad_token_id=0),
    }
    for config in found.values():
        if layers:
            config.num_hidden_layers = layers
            if getattr(config, "layer_types", None):
                config.layer_types = config.layer_types[:layers]
    return found


def jobs(arguments: argparse.Namespace, scratch: Path) -> Iterator[tuple[str, Any]]:
    """Every job, planned for the device that is here, with steps as plain calls."""
    from transformers import AutoTokenizer

    from pippin.commands.planning import plan_job
    from pippin.plan.plan import Choice
    from pippin.plan.steps import EAGER
    from pippin.recipe import Recipe
    from pippin.report.terminal import Terminal

    words = AutoTokenizer.from_pretrained(arguments.tokenizer or folders.builtin_model(), model_max_length=512)
    chosen = arguments.models.split(",") if arguments.models else None
    for name, config in configs(arguments.layers).items():
        if chosen and name not in chosen:
            continue
        model = scratch / name
        config.save_pretrained(model)
        words.save_pretrained(model)
        for batch, tokens in (map(int, point.split("x")) for point in arguments.points.split(",")):
            # Two of the tokens are the marks at both ends.
            file = made_up_rows.made_up(2 * batch, tokens - 2).write(scratch / f"{tokens}.jsonl")
            for mode, flags in MODES.items():
                recipe = Recipe(
                    do_train=True, train_file=str(file), text_column=("text",), label_column="label",
                    model_name_or_path=str(model), per_device_train_batch_size=batch, max_seq_length=tokens,
                    max_steps=2, bf16=arguments.precision == "bf16", **flags,
                )  # fmt: skip
                job = plan_job(recipe, Terminal(quiet=True), needs_weights=False)
                plain = job.plan.changed(step=Choice(EAGER, "to be measured"), capacities=Choice((), "none"))
                yield f"{name}, {batch} x {tokens}, {mode}", replace(job, plan=plain)


def compare(job: Any) -> dict[str, Any]:
    from pippin.commands.preflight.measuring import run_steps
    from pippin.commands.preflight.memory import forecast

    libraries = _forget(job.plan.execution.device.value)
    before = forecast(job).memory
    foreseen = before.total - before.parts.get("held before", 0) + libraries
    found = run_steps(job)
    return {"foreseen": foreseen, "trouble": found.trouble, "measured": _peak(), "step_seconds": found.step}


def _forget(device: str) -> int:
    """Give back what the job before held, and count peaks anew; returns what the device's libraries hold by then."""
    import torch

    from pippin.machine.drivers import get_backend

    gc.collect()
    get_backend(device).empty_cache()
    if not torch.cuda.is_available():
        import emulated_mps

        emulated_mps.reset_peak()
        return 0
    with get_backend(device).own_stream():
        for dtype in (torch.float32, torch.bfloat16):  # the first product of a stream makes cuBLAS take its workspace
            torch.ones(64, 64, device=device, dtype=dtype) @ torch.ones(64, 64, device=device, dtype=dtype)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    return torch.cuda.memory_allocated()


def _peak() -> int:
    import torch

    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated()
    import emulated_mps

    return emulated_mps.memory().peak


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", default=None, help="folder; default: the built-in model's")
    parser.add_argument("--models", default=None)
    parser.add_argument("--points", default=POINTS, help="rows x tokens, by commas")
    parser.add_argument("--layers", type=int, default=None, help="instead of each model's own number")
    parser.add_argument("--precision", default="fp32", choices=("fp32", "bf16"))
    parser.add_argument("--results", type=Path, default=recording.RESULTS)
    arguments = parser.parse_args()
    figures: dict[str, Any] = {}
    asked = {"precision": arguments.precision, "layers": arguments.layers}
    with tempfile.TemporaryDirectory() as scratch:
        for name, job in jobs(arguments, Path(scratch)):
            one, kind = compare(job), job.plan.execution.device.value.partition(":")[0]
            one["error"] = round(one["foreseen"] / one["measured"] - 1, 4) if one["measured"] else None
            figures[name] = one
            print(f"{name:40} {one['foreseen'] >> 20:7} MB foreseen {one['measured'] >> 20:7} MB measured "
                  f"{one['error']:+.1%} {one['trouble']}", flush=True)  # fmt: skip
            # After each, so that a run that is cut short leaves what it found.
            recording.record(
                f"memory_forecast_{kind}", {**asked, **summed_up(figures), "jobs": figures}, arguments.results
            )
    print(summed_up(figures))
    return 0


def summed_up(figures: dict[str, Any]) -> dict[str, Any]:
    errors = [one["error"] for one in figures.values() if not one["trouble"]]
    sizes = [abs(error) for error in errors]
    return {"median": statistics.median(sizes), "most above": max(errors), "most below": min(errors)}


if __name__ == "__main__":
    raise SystemExit(main())
