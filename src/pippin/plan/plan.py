"""The Plan: how the job will be done. Every choice carries the reason that is printed and saved with it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Choice(Generic[T]):
    """A value and the sentence that says why."""

    value: T
    reason: str


NO_GUARDS: Choice[tuple[str, ...]] = Choice((), "no known fault of this device is met")


@dataclass(frozen=True)
class Plan:
    device: Choice[str]
    precision: Choice[str]
    max_length: Choice[int]
    """Longest input in tokens."""
    batch_size: Choice[int]
    """Rows per optimiser step."""
    micro_batch: Choice[int]
    """Rows that go through the model at once."""
    batching: Choice[str]
    """How rows are put together."""
    pad_lengths: Choice[tuple[int, ...]]
    """Lengths to which batches are padded; empty: to the longest row of each."""
    learning_rate: Choice[float]
    head_learning_rate: Choice[float]
    epochs: Choice[float]
    steps: Choice[int]
    """Optimiser steps in all."""
    warmup_steps: Choice[int]
    logging_steps: Choice[int]
    """Steps between log lines; 0 for none."""
    eval_steps: Choice[int]
    """Steps between evaluations; 0 for none."""
    save_steps: Choice[int]
    """Steps between copies of the model; 0 for none (but for the best one, where it is followed)."""
    best_metric: Choice[str]
    """Metric by which the best model is kept; empty: the last one is."""
    patience: Choice[int]
    """Evaluations without improvement before stopping; 0: never."""
    guards: Choice[tuple[str, ...]] = NO_GUARDS
    """Faults of the device that would make this job's results wrong, and are worked round."""
    # Records of earlier releases lack these.
    micro_tokens: Choice[int] = Choice(0, "as it was then")
    """About so many tokens go through the model at once; 0: any number."""
    activations: Choice[str] = Choice("kept", "as it was then")
    """Whether what a layer computes is kept for the backward pass, or recomputed there."""
    updates: Choice[str] = Choice("after backward", "as it was then")
    """When weights are updated."""
    saving: Choice[str] = Choice("beside the steps", "as it was then")
    """When checkpoints are written."""
    memory: Choice[int] = Choice(0, "as it was then")
    """Bytes that a step needs at most, by estimate; 0: not known."""
    memory_budget: Choice[int] = Choice(0, "as it was then")
    """Bytes that it may take; 0: not known."""
    layout: Choice[str] = Choice("padded", "as it was then")
    """Whether rows are packed end to end or padded."""
    last_layer: Choice[str] = Choice("all tokens", "as it was then")
    """The tokens for which the last layer is computed."""
    frozen: Choice[str] = Choice("nothing", "as it was then")
    """What is not trained: nothing, the core, or the embeddings and so many of the lowest layers (a number)."""
    states: Choice[str] = Choice("not kept", "as it was then")
    """Where that which the frozen part gives is kept."""
    word_vectors: Choice[int] = Choice(0, "as it was then")
    """How many of the model's are trained; 0: all."""
    step: Choice[str] = Choice("plain calls", "as it was then")
    """How optimiser steps are run."""
    compiled: Choice[str] = Choice("never", "as it was then")
    """Whether captured steps are compiled as well."""
    capacities: Choice[tuple[int, ...]] = Choice((), "as it was then")
    """Tokens of a micro-batch that captured steps are filled up to."""

    def choices(self) -> dict[str, Choice]:
        """Every choice by name, in order."""
        return {item.name: getattr(self, item.name) for item in fields(self)}
