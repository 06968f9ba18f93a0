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
        f"running at {figures['share']:.0%} of the speed at the start: the computer is probably too hot or low on "
        "power, or other programs are busy. Plug it in, let air reach it, close what is not needed."
    ),
    "smaller_batches": lambda figures: (
        f"memory ran out at step {figures['step']}: from here on at most {figures['rows']} rows go through the model "
        "at once. The step was done again, and the gradient stays the same."
    ),
    "recomputing": lambda figures: (
        f"memory ran out at step {figures['step']} with a single row: from here on activations are recomputed in the "
        "backward pass, which is slower. The step was done again, and the gradient stays the same."
    ),
    "smaller_evaluation_batches": lambda figures: (
        "memory ran out in an evaluation: its batches are smaller from here on, with the same results."
    ),
    "best_lost": lambda figures: (
        f"the best model, that of step {figures['step']}, cannot be used ({figures['why']}): the last one is kept."
    ),
    "fallback": lambda figures: (
        f"the device has no kernel for {figures['operator']}: it runs on the CPU, with copies both ways."
    ),
}
#: Events that are worth knowing.
NOTES: dict[str, Sentence] = {
    "kept_awake": lambda figures: (
        "the computer stays awake while it trains; a closed lid still puts a laptop to sleep."
    ),
    "relieved": lambda figures: (
        f"the device held {memory(figures['before'])}, near its limit: what was unused is given back, "
        f"{memory(figures['after'])} remain."
    ),
    "compiling": lambda figures: (
        f"compiling the model: it takes about {duration(figures['costs'])} and should save "
        f"{duration(figures['saves'])} of the rest of the run."
    ),
    "compiled": lambda figures: (
        f"compiled steps take {1 / figures['faster']:.0%} of the time"
        + (": the run goes on with them." if figures["faster"] > 1 else ": the run goes back to the others.")
    ),
    "slept": lambda figures: (
        f"the computer slept for {duration(figures['seconds'])}"
        if figures["sure"]
        else f"one step took {duration(figures['seconds'])} longer than others: the computer slept?"
    ),
}


def sentence(name: str, figures: Figures) -> str | None:
    """An event in a sentence; None for those that are told otherwise."""
    tell = WARNINGS.get(name) or NOTES.get(name)
    return tell(figures) if tell else None
