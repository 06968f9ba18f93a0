"""The Plan: how the job will be done. Every choice carries the reason that is printed and saved with it.

It is complete: whoever carries it out need not look into the Recipe. What the user alone decides stands in it as it was
given. Beside each field stand its words for people, where it is shown, and what becomes of a change when a run resumes.
"""

from __future__ import annotations

from dataclasses import Field, dataclass, field, fields
from typing import Any, Generic, Literal, TypeVar

T = TypeVar("T")

Rule = Literal["fixed", "applied", "digits", "free"]
"""fixed: the rest of the run would not belong to its beginning, so a change is refused.
applied: holds from here on, and is said.
digits: the same results but for their last digits, and is said.
free: no weight depends on it, or the rows' fingerprint tells."""


Precision = Literal["fp32", "bf16", "fp16"]
Layout = Literal["packed", "padded"]
LastLayer = Literal["first tokens", "all tokens"]
States = Literal["memory", "disk", "not kept"]
StepKind = Literal["plain calls", "captured"]
Compiled = Literal["never", "when it pays"]
Batching = Literal["random", "sequential", "windows"]
Activations = Literal["kept", "recomputed"]
Updates = Literal["after backward", "in backward"]
Saving = Literal["beside the steps", "between steps"]
Weights = Literal["whole", "spread"]
Trained = Literal["all weights", "adapters"]


@dataclass(frozen=True)
class Choice(Generic[T]):
    """A value and the sentence that says why."""

    value: T
    reason: str


NO_GUARDS: Choice[tuple[str, ...]] = Choice((), "this job meets no known fault of the device")
NO_CAPACITIES: Choice[tuple[int, ...]] = Choice((), "steps are not recorded")
ALL_WEIGHTS: Choice[Trained] = Choice("all weights", "those that are not frozen")
IN_FULL: Choice[Precision] = Choice("fp32", "as they are trained")


def _on_resume(rule: Rule, words: str = "", changed: str = "") -> dict[str, str]:
    """What stands beside a field: its rule, its words where the plan is shown, and where a change is told."""
    return {"rule": rule, "words": words, "changed": changed or words}


@dataclass(frozen=True, kw_only=True)
class Execution:
    """How the model is run, and where."""

    device: Choice[str] = field(metadata=_on_resume("applied", "device"))
    precision: Choice[Precision] = field(metadata=_on_resume("fixed", "precision"))
    layout: Choice[Layout] = field(metadata=_on_resume("digits", "layout"))
    """Whether rows are packed end to end or padded."""
    last_layer: Choice[LastLayer] = field(metadata=_on_resume("digits", "last layer"))
    """The tokens for which the last layer is computed."""
    word_vectors: Choice[int] = field(metadata=_on_resume("free", "word vectors"))
    """How many of the model's are trained; 0: all."""
    frozen: Choice[str] = field(metadata=_on_resume("fixed", "frozen", "frozen part"))
    """What is not trained: nothing, the core, or the embeddings and so many of the lowest layers (a number)."""
    trained: Choice[Trained] = field(default=ALL_WEIGHTS, metadata=_on_resume("fixed", "trained", "what is trained"))
    """Whether the weights themselves, or adapters beside them."""
    kept: Choice[Precision] = field(default=IN_FULL, metadata=_on_resume("digits", "frozen weights"))
    """The precision in which weights that are not trained are kept."""
    states: Choice[States] = field(metadata=_on_resume("free", "cached features"))
    """Where the frozen part's hidden states are kept."""
    step: Choice[StepKind] = field(metadata=_on_resume("digits", "step mode"))
    """How optimiser steps are run."""
    compiled: Choice[Compiled] = field(metadata=_on_resume("digits", "compiled"))
    """Whether captured steps are compiled as well."""
    capacities: Choice[tuple[int, ...]] = field(metadata=_on_resume("free", "captured shapes"))
    """Tokens of a micro-batch that captured steps are filled up to."""
    target_capacities: Choice[tuple[int, ...]] = field(default=NO_CAPACITIES, metadata=_on_resume("free"))
    """For each of these the most tokens that are learnt, where the head reads these alone."""
    processes: Choice[int] = field(metadata=_on_resume("free", "processes"))
    """That share the steps."""
    weights: Choice[Weights] = field(metadata=_on_resume("free", "weights"))
    """Whether each process holds all weights, or a part of them."""
    shards: Choice[int] = field(metadata=_on_resume("digits", "shards of a step"))
    """Of each step, whose gradients are added in a fixed order; 0: each process's rows are one."""
    guards: Choice[tuple[str, ...]] = field(metadata=_on_resume("digits", "guards"))
    """Faults of the device that would make this job's results wrong, and are worked round."""
    seed: int = field(default=42, metadata=_on_resume("fixed"))
    """Of the new head and of dropout."""
    lora_rank: int = field(default=16, metadata=_on_resume("fixed"))
    lora_alpha: float | None = field(default=None, metadata=_on_resume("fixed"))
    lora_dropout: float = field(default=0.0, metadata=_on_resume("fixed"))
    lora_targets: tuple[str, ...] = field(default=(), metadata=_on_resume("fixed"))
    max_logits_mb: int = field(default=64, metadata=_on_resume("digits"))
    attention: str | None = field(default=None, metadata=_on_resume("digits"))
    """By transformers' name; None: the model's own choice."""
    neftune_noise_alpha: float | None = field(default=None, metadata=_on_resume("applied"))
    tf32: bool | None = field(default=None, metadata=_on_resume("digits"))
    full_determinism: bool = field(default=False, metadata=_on_resume("digits"))
    mps_fallback: str = field(default="on", metadata=_on_resume("digits"))
    overwrite_cache: bool = field(default=False, metadata=_on_resume("free"))
    keep_awake: bool = field(default=True, metadata=_on_resume("free"))


@dataclass(frozen=True, kw_only=True)
class Batches:
    """Which rows go through the model together."""

    max_length: Choice[int] = field(metadata=_on_resume("fixed", "max length"))
    """Longest input in tokens."""
    batch_size: Choice[int] = field(metadata=_on_resume("fixed", "batch size"))
    """Rows per optimiser step."""
    micro_batch: Choice[int] = field(metadata=_on_resume("applied", "micro-batch"))
    """Rows that go through the model at once."""
    micro_tokens: Choice[int] = field(metadata=_on_resume("applied", "tokens at once"))
    """About so many tokens go through the model at once; 0: any number."""
    batching: Choice[Batching] = field(metadata=_on_resume("fixed", "row order"))
    """How rows are put together."""
    pad_lengths: Choice[tuple[int, ...]] = field(metadata=_on_resume("digits", "padding", "padded lengths"))
    """Lengths to which batches are padded; empty: to the longest row of each."""
    order_seed: int = field(default=42, metadata=_on_resume("fixed", changed="seed"))
    """Of the order of rows."""
    drop_last: int = field(default=0, metadata=_on_resume("fixed"))
    """At an epoch's end, rows that do not fill a last micro-batch of this size are left out; 0: none are."""
    per_device_eval_batch_size: int | None = field(default=None, metadata=_on_resume("free"))
    """Most rows of an evaluation batch; None: by tokens."""


@dataclass(frozen=True, kw_only=True)
class Rates:
    """How far each step goes."""

    learning_rate: Choice[float] = field(metadata=_on_resume("applied", "learning rate"))
    head_learning_rate: Choice[float] = field(metadata=_on_resume("applied", "head rate"))
    warmup_steps: Choice[int] = field(metadata=_on_resume("applied", "warm-up"))
    optim: str = field(default="adamw_torch_fused", metadata=_on_resume("fixed"))
    optim_state: str = field(default="fp32", metadata=_on_resume("fixed"))
    weight_decay: float = field(default=0.0, metadata=_on_resume("applied"))
    adam_beta1: float = field(default=0.9, metadata=_on_resume("applied"))
    adam_beta2: float = field(default=0.999, metadata=_on_resume("applied"))
    adam_epsilon: float = field(default=1e-8, metadata=_on_resume("applied"))
    max_grad_norm: float = field(default=1.0, metadata=_on_resume("applied"))
    lr_scheduler_type: str = field(default="linear", metadata=_on_resume("applied"))
    lr_scheduler_kwargs: dict[str, Any] | None = field(default=None, metadata=_on_resume("applied"))
    label_smoothing_factor: float = field(default=0.0, metadata=_on_resume("applied"))
    class_weights: tuple[str, ...] = field(default=(), metadata=_on_resume("applied"))


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """How long it trains, and what happens on the way."""

    epochs: Choice[float] = field(metadata=_on_resume("applied", "epochs"))
    steps: Choice[int] = field(metadata=_on_resume("applied", "steps"))
    """Optimiser steps in all."""
    logging_steps: Choice[int] = field(metadata=_on_resume("free", "log every"))
    """Steps between log lines; 0 for none."""
    eval_steps: Choice[int] = field(metadata=_on_resume("applied", "evaluate every", "evaluations"))
    """Steps between evaluations; 0 for none."""
    save_steps: Choice[int] = field(metadata=_on_resume("free", "save every"))
    """Steps between copies of the model; 0 for none (but for the best one, where it is followed)."""
    best_metric: Choice[str] = field(metadata=_on_resume("applied", "model kept", "metric of the best model"))
    """Metric by which the best model is kept; empty: the last one is."""
    patience: Choice[int] = field(metadata=_on_resume("applied", "patience"))
    """Evaluations without improvement before stopping; 0: never."""
    eval_on_start: bool = field(default=False, metadata=_on_resume("free"))
    first_evaluation: int = field(default=0, metadata=_on_resume("applied", changed="step of the first evaluation"))
    """No evaluation before this step."""
    keeps_best: bool = field(default=False, metadata=_on_resume("applied", changed="load_best_model_at_end"))
    """Whether the best evaluated model is kept rather than the last."""
    greater_is_better: bool = field(default=True, metadata=_on_resume("applied"))
    """Whether a larger metric is a better one."""
    early_stopping_threshold: float = field(default=0.0, metadata=_on_resume("applied"))
    saves_best: bool = field(default=False, metadata=_on_resume("free"))
    """Whether a checkpoint is written whenever the model is the best so far, and stays."""
    save_minutes: float = field(default=5.0, metadata=_on_resume("free"))
    """Minutes between checkpoints to go on from; 0: none are written by the clock."""
    save_total_limit: int = field(default=1, metadata=_on_resume("free"))
    """Checkpoints that are kept."""
    logging_first_step: bool = field(default=False, metadata=_on_resume("free"))


@dataclass(frozen=True, kw_only=True)
class Memory:
    """What a step holds, and what is done so that it fits."""

    activations: Choice[Activations] = field(metadata=_on_resume("digits", "activations"))
    """Whether what a layer computes is kept for the backward pass, or recomputed there."""
    updates: Choice[Updates] = field(metadata=_on_resume("digits", "weight updates"))
    """When weights are updated."""
    saving: Choice[Saving] = field(metadata=_on_resume("free", "checkpoints"))
    """When checkpoints are written."""
    needed: Choice[int] = field(metadata=_on_resume("free", "memory"))
    """Bytes that a step needs at most, by estimate; 0: not known."""
    budget: Choice[int] = field(metadata=_on_resume("free"))
    """Bytes that it may take; 0: not known."""
    gradient_checkpointing_kwargs: dict[str, Any] | None = field(default=None, metadata=_on_resume("digits"))
    torch_empty_cache_steps: int = field(default=0, metadata=_on_resume("free"))
    """Steps between two times that the device's cache is emptied; 0: never."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    execution: Execution
    batches: Batches
    rates: Rates
    schedule: Schedule
    memory: Memory

    def __repr__(self) -> str:
        schedule, batches, rate = self.schedule, self.batches, self.rates.learning_rate.value
        return (
            f"Plan({self.execution.device.value}, {schedule.steps.value} steps of {batches.batch_size.value} rows, "
            f"learning rate {rate:.2e})"
        )

    def everything(self) -> dict[str, Any]:
        """Choices and settings by name, in order."""
        return {name: getattr(getattr(self, group), name) for name, group in _ORDER.items()}

    def choices(self) -> dict[str, Choice]:
        """Every choice by name, in order."""
        return {name: value for name, value in self.everything().items() if isinstance(value, Choice)}

    @classmethod
    def of(cls, **everything: Any) -> Plan:
        """A plan of these choices and settings."""
        return cls(
            **{
                group: kind(**{name: value for name, value in everything.items() if _ORDER[name] == group})
                for group, kind in _GROUPS.items()
            }
        )

    def changed(self, **choices: Any) -> Plan:
        """The same with some choices made otherwise."""
        return Plan.of(**{**self.everything(), **choices})

    @property
    def keeps_checkpoints(self) -> bool:
        """Whether checkpoints were asked for, and so stay when the run is finished."""
        return self.schedule.save_steps.value > 0 or self.schedule.saves_best


def plan_fields() -> dict[str, Field]:
    """Every field by name; its metadata are its rule on resume, its words where shown, and those for a change."""
    every = {item.name: item for kind in _GROUPS.values() for item in fields(kind)}
    return {name: every[name] for name in _ORDER}


#: In the order in which a person reads them.
_ORDER = {
    "device": "execution",
    "precision": "execution",
    "max_length": "batches",
    "batch_size": "batches",
    "micro_batch": "batches",
    "micro_tokens": "batches",
    "activations": "memory",
    "updates": "memory",
    "saving": "memory",
    "needed": "memory",
    "budget": "memory",
    "batching": "batches",
    "layout": "execution",
    "pad_lengths": "batches",
    "last_layer": "execution",
    "word_vectors": "execution",
    "trained": "execution",
    "kept": "execution",
    "frozen": "execution",
    "states": "execution",
    "step": "execution",
    "compiled": "execution",
    "capacities": "execution",
    "target_capacities": "execution",
    "processes": "execution",
    "weights": "execution",
    "shards": "execution",
    "learning_rate": "rates",
    "head_learning_rate": "rates",
    "epochs": "schedule",
    "steps": "schedule",
    "warmup_steps": "rates",
    "logging_steps": "schedule",
    "eval_steps": "schedule",
    "save_steps": "schedule",
    "best_metric": "schedule",
    "patience": "schedule",
    "guards": "execution",
    "seed": "execution",
    "order_seed": "batches",
    "drop_last": "batches",
    "lora_rank": "execution",
    "lora_alpha": "execution",
    "lora_dropout": "execution",
    "lora_targets": "execution",
    "max_logits_mb": "execution",
    "attention": "execution",
    "optim": "rates",
    "optim_state": "rates",
    "weight_decay": "rates",
    "adam_beta1": "rates",
    "adam_beta2": "rates",
    "adam_epsilon": "rates",
    "max_grad_norm": "rates",
    "lr_scheduler_type": "rates",
    "lr_scheduler_kwargs": "rates",
    "label_smoothing_factor": "rates",
    "class_weights": "rates",
    "neftune_noise_alpha": "execution",
    "gradient_checkpointing_kwargs": "memory",
    "tf32": "execution",
    "full_determinism": "execution",
    "mps_fallback": "execution",
    "eval_on_start": "schedule",
    "first_evaluation": "schedule",
    "keeps_best": "schedule",
    "greater_is_better": "schedule",
    "early_stopping_threshold": "schedule",
    "saves_best": "schedule",
    "save_minutes": "schedule",
    "save_total_limit": "schedule",
    "logging_first_step": "schedule",
    "torch_empty_cache_steps": "memory",
    "per_device_eval_batch_size": "batches",
    "overwrite_cache": "execution",
    "keep_awake": "execution",
}
_GROUPS: dict[str, type] = {
    "execution": Execution,
    "batches": Batches,
    "rates": Rates,
    "schedule": Schedule,
    "memory": Memory,
}
