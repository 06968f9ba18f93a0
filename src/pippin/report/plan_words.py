"""A plan in the words that a person would use."""

from __future__ import annotations

from typing import Any

from pippin.plan.plan import ALL_WEIGHTS, IN_FULL, Plan, plan_fields
from pippin.text import memory

#: Values that need not be told.
_USUAL = {
    "micro_tokens": 0,
    "activations": "kept",
    "updates": "after backward",
    "saving": "beside the steps",
    "needed": 0,
    "patience": 0,
    "save_steps": 0,
    "guards": (),
    "step": "plain calls",
    "compiled": "never",
    "capacities": (),
    "word_vectors": 0,
    "frozen": "nothing",
    "processes": 1,
    "weights": "whole",
    "shards": 0,
}
_WITHOUT_TRAINING = {"device", "precision", "max_length", "guards"}


def plan_rows(plan: Plan, trains: bool = True) -> list[tuple[str, str, str]]:
    """Name, value and reason of each choice that tells a person something; without training, only what concerns the
    rest."""
    words = {name: item.metadata["words"] for name, item in plan_fields().items()}
    return [
        (words[name], _value(name, choice.value), choice.reason)
        for name, choice in plan.choices().items()
        if words[name] and not _goes_without_saying(name, plan) and (trains or name in _WITHOUT_TRAINING)
    ]


def _goes_without_saying(name: str, plan: Plan) -> bool:
    """Choices that tell a person nothing; run.json holds them all."""
    value = plan.choices()[name].value
    return (
        (name in _USUAL and value == _USUAL[name])
        or plan.choices()[name] in (ALL_WEIGHTS, IN_FULL)
        or (name == "micro_batch" and value == plan.batches.batch_size.value)
        or (name == "head_learning_rate" and value == plan.rates.learning_rate.value)
        or (name == "pad_lengths" and plan.execution.layout.value == "packed")
        or (name == "states" and plan.execution.frozen.value == "nothing")
    )


def _value(name: str, value: Any) -> str:
    if name.endswith("learning_rate"):
        return f"{value:.2e}"
    if name in ("pad_lengths", "capacities", "target_capacities", "guards"):
        return ", ".join(map(str, value)) or "longest row of each batch"
    if name == "needed":
        return memory(value)
    if name == "frozen" and value.isdecimal():
        return "embeddings" + (f" and {value} layer{'s' * (value != '1')}" if value != "0" else "")
    if name in ("logging_steps", "eval_steps", "save_steps"):
        return f"{value} step{'s' * (value != 1)}" if value else "never"
    if name == "patience":
        return f"{value} evaluation{'s' * (value != 1)}"
    if name == "best_metric":
        return f"best {value}" if value else "last"
    return f"{value:g}" if isinstance(value, float) else str(value)
