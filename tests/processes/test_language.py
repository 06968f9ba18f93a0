"""Language models by several processes: the same adapters, or the same weights, bit for bit."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from groups import finished, outcome
from nursery import Forked, Nursery

sys.path.append(str(Path(__file__).parents[1] / "tasks/language"))
from small_chat import chat_rows, save_small_chat, write_chats  # noqa: E402

Job = Callable[..., list[Forked]]


@pytest.fixture
def job(nursery: Nursery) -> Job:
    """Begin a job in so many processes; 0: in one that is alone."""
    save_small_chat(Path("base"))
    write_chats("chats.jsonl", chat_rows(40, turns=2))

    def begin(folder: str, processes: int, *flags: object) -> list[Forked]:
        return nursery.group(
            ["train", "chats.jsonl", "--model", "base", "--output", folder, "--lr", "5e-2", "--batch_size", 13,
             "--max_steps", 6, "--logging_steps", 1, "--eval_strategy", "steps", "--eval_steps", 2, "--reduce", "exact",
             "--load_best_model_at_end", *flags],
            processes,
        )  # fmt: skip

    return begin


def stop(runs: list[Forked], at: str) -> None:
    runs[0].wait_for(at)
    runs[-1].send_signal(signal.SIGTERM)
    for run in runs:
        out, _ = run.communicate()
        assert run.returncode == 143, out


def test_adapters_with_dropout(job, nursery):
    flags = ("--train", "lora", "--lora_dropout", 0.3, "--lora_rank", 4)
    stop(job("stopped", 4, *flags), at="step 2/6")
    finished(*job("alone", 0, *flags), *job("of2", 2, *flags), *job("of4", 4, *flags))
    finished(*job("stopped", 2, *flags, "--resume"))
    assert outcome("alone") == outcome("of2") == outcome("of4") == outcome("stopped")
    # Adapters of other settings than the plan's own, over weights that are kept in half.
    more = ("--model", "alone", "--train", "lora", "--bf16")
    judged = ("train", "--validation_file", "chats.jsonl", "--do_eval", "--model", "alone", "--output")
    finished(*job("more", 0, *more), *job("more2", 2, *more))
    finished(*nursery.group([*judged, "judged"], 0), *nursery.group([*judged, "judged2"], 2))
    assert outcome("more") == outcome("more2")
    one, two = (json.loads(Path(name, "all_results.json").read_text()) for name in ("judged", "judged2"))
    assert one["eval_loss"] == two["eval_loss"]


def test_all_weights(job):
    flags = ("--train", "all")
    stop(job("stopped", 2, *flags), at="step 3/6")
    finished(*job("alone", 0, *flags), *job("of4", 4, *flags), *job("stopped", 1, *flags, "--resume"))
    assert outcome("alone") == outcome("of4") == outcome("stopped")
    told = [json.loads(line) for line in Path("of4/events.jsonl").read_text().splitlines()]
    assert len([each for each in told if each["event"] == "sample"]) == 9, "by the first process alone"
