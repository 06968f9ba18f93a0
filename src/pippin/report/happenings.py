"""What can happen in a run, in sentences: for the terminal and for the report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pippin.text import duration, memory

Figures = dict[str, Any]
Sentence = Callable[[Figures], str]


#: Events that a person should hear of at once, by name.
WARNINGS: dict[str, Sentence] = {
    "slow": lambda figures: (
        f"training has slowed to {figures['share']:.0%} of its initial speed: the computer may be too hot, low on "
        "power or busy with other programs. Plug it in, let it cool, close what you do not need."
    ),
    "smaller_batches": lambda figures: (
        f"memory ran out at step {figures['step']}: from here on, at most {figures['rows']} rows go through the model "
        "at once. The step was repeated, with the same gradient."
    ),
    "recomputing": lambda figures: (
        f"memory ran out at step {figures['step']} with a single row: from here on, activations are recomputed in the "
        "backward pass, which is slower. The step was repeated, with the same gradient."
    ),
    "smaller_evaluation_batches": lambda figures: (
        "memory ran out during an evaluation: batches are smaller from here on, with the same results."
    ),
    "best_lost": lambda figures: (
        f"the best model, from step {figures['step']}, cannot be restored ({figures['why']}): the last one is kept."
    ),
    "fallback": lambda figures: (
        f"the device has no kernel for {figures['operator']}: it runs on the CPU, with copies there and back."
    ),
}
#: Events that are worth knowing.
NOTES: dict[str, Sentence] = {
    "kept_awake": lambda figures: (
        "the computer stays awake during training; closing a laptop's lid still puts it to sleep."
    ),
    "relieved": lambda figures: (
        f"the device held {memory(figures['before'])}, close to its limit: unused memory was released, "
        f"{memory(figures['after'])} remains in use."
    ),
    "compiling": lambda figures: (
        f"compiling the model: this takes about {duration(figures['costs'])} and should save "
        f"{duration(figures['saves'])} over the rest of the run."
    ),
    "compiled": lambda figures: (
        f"compiled steps take {1 / figures['faster']:.0%} of the time: "
        + ("the run keeps using them." if figures["faster"] > 1 else "the run goes back to uncompiled steps.")
    ),
    "slept": lambda figures: (
        f"the computer slept for {duration(figures['seconds'])}"
        if figures["sure"]
        else f"one step took {duration(figures['seconds'])} longer than the others: did the computer sleep?"
    ),
}


def sentence(name: str, figures: Figures) -> str | None:
    """An event in a sentence; None for those that are told otherwise."""
    tell = WARNINGS.get(name) or NOTES.get(name)
    return tell(figures) if tell else None
