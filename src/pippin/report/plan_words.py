"""A plan in the words that a person would use."""

from __future__ import annotations

from typing import Any

from pippin.plan.plan import Plan, plan_fields
from pippin.text import memory

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
    return (
        (name == "micro_batch" and plan.batches.micro_batch.value == plan.batches.batch_size.value)
        or (name == "micro_tokens" and not plan.batches.micro_tokens.value)
        or (name == "activations" and plan.memory.activations.value == "kept")
        or (name == "updates" and plan.memory.updates.value == "after backward")
        or (name == "saving" and plan.memory.saving.value == "beside the steps")
        or (name == "needed" and not plan.memory.needed.value)
        or (name == "head_learning_rate" and plan.rates.head_learning_rate.value == plan.rates.learning_rate.value)
        or (name == "patience" and plan.schedule.patience.value == 0)
        or (name == "save_steps" and plan.schedule.save_steps.value == 0)
        or (name == "guards" and not plan.execution.guards.value)
        or (name == "pad_lengths" and plan.execution.layout.value == "packed")
        or (name == "step" and plan.execution.step.value == "plain calls")
        or (name == "compiled" and plan.execution.compiled.value == "never")
        or (name == "capacities" and not plan.execution.capacities.value)
        or (name == "word_vectors" and plan.execution.word_vectors.value == 0)
        or (name in ("frozen", "states") and plan.execution.frozen.value == "nothing")
    )


def _value(name: str, value: Any) -> str:
    if name.endswith("learning_rate"):
        return f"{value:.2e}"
    if name in ("pad_lengths", "capacities", "guards"):
        return ", ".join(map(str, value)) or "longest row"
    if name == "needed":
        return memory(value)
    if name == "frozen" and value.isdecimal():
        return "embeddings" + (f" and {value} layer{'s' * (value != '1')}" if value != "0" else "")
    if name in ("logging_steps", "eval_steps", "save_steps"):
        return f"{value} step{'s' * (value != 1)}" if value else "never"
    if name == "best_metric":
        return f"best {value}" if value else "the last"
    return f"{value:g}" if isinstance(value, float) else str(value)
