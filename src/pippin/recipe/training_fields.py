"""How to train: the hyper-parameters. None means that the plan chooses, and prints why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Interval = Literal["no", "steps", "epoch"]


@dataclass(frozen=True, kw_only=True)
class TrainingFields:
    learning_rate: float | None = None
    """Peak learning rate. Default: chosen from the model, the data and the batch; 5e-5 with --do_train."""

    head_learning_rate: float | None = None
    """Peak learning rate of the new head. Default: chosen from the classes; learning_rate with --do_train."""

    num_train_epochs: float | None = None
    """Passes over the training rows; fractions allowed. Default: chosen from the data; 3 with --do_train."""

    max_steps: int = -1
    """Optimiser steps; overrides num_train_epochs when above 0."""

    batch_size: int | None = None
    """Rows per training step, over all processes (times gradient_accumulation_steps). Default: chosen from the data,
    whatever the number of processes."""

    per_device_train_batch_size: int | None = None
    """The same for each process, as Hugging Face counts: 8 with --do_train."""

    per_device_eval_batch_size: int | None = None
    """Most rows per evaluation batch. Default: as many as fit into a fixed number of tokens. It changes no result."""

    gradient_accumulation_steps: int = 1
    """Micro-batches per optimiser step. The gradient equals that of the whole batch exactly."""

    lr_scheduler_type: Literal[
        "linear",
        "cosine",
        "cosine_with_restarts",
        "polynomial",
        "constant",
        "constant_with_warmup",
        "inverse_sqrt",
        "reduce_lr_on_plateau",
        "cosine_with_min_lr",
        "cosine_warmup_with_min_lr",
        "warmup_stable_decay",
    ] = "linear"
    """Shape of the learning rate over the run, as transformers names it; those that the installed transformers has."""

    lr_scheduler_kwargs: dict[str, Any] | None = None
    """Extra arguments of the schedule, as JSON: '{"num_cycles": 2}'."""

    warmup_steps: float | None = None
    """Steps of rising learning rate; below 1, a share of all steps. Default: 0.1 of the steps; 0 with --do_train."""

    warmup_ratio: float | None = None
    """Another way to give warmup_steps as a share of all steps, 0 to 1."""

    optim: Literal["adamw_torch_fused", "adamw_torch", "sgd", "adafactor", "adagrad", "rmsprop"] = "adamw_torch_fused"
    """Optimiser, by the name that transformers gives it."""

    optim_state: Literal["fp32", "bf16"] = "fp32"
    """Precision in which AdamW keeps its two moments. `bf16` halves their memory, and changes the result a little."""

    weight_decay: float = 0.0
    """Decoupled weight decay; biases and norms are left out."""

    adam_beta1: float = 0.9
    """AdamW's first moment decay."""

    adam_beta2: float = 0.999
    """AdamW's second moment decay."""

    adam_epsilon: float = 1e-8
    """AdamW's epsilon."""

    max_grad_norm: float = 1.0
    """Clip the gradient to this norm; 0 turns it off."""

    label_smoothing_factor: float = 0.0
    """Label smoothing, 0 to 1 (1 excluded)."""

    class_weights: tuple[str, ...] = ()
    """How much the rows of each class count in the loss. `balanced`: all classes alike, however many rows they have.
    NAME=WEIGHT,…: by hand; a class that is not named has 1. A JSON file of names and weights does, too."""

    neftune_noise_alpha: float | None = None
    """NEFTune noise on the embeddings while training."""

    train: Literal["all", "head", "lora"] | None = None
    """What is trained. `all`: every weight. `lora`: small matrices beside the linear layers of a language model, which
    take little memory and disk; the model itself stays as it is. `head`: the same as --freeze core. Default: all; lora
    for a language model that would take more than a quarter of the memory."""

    lora_rank: int = 16
    """Rank of LoRA's matrices: how much they can learn."""

    lora_alpha: float | None = None
    """LoRA's strength: what the matrices give is multiplied by lora_alpha / lora_rank. Default: twice the rank."""

    lora_dropout: float = 0.0
    """Dropout on what goes into LoRA's matrices, 0 to 1 (1 excluded)."""

    lora_targets: tuple[str, ...] = ()
    """The linear layers that get them, such as q_proj,v_proj. Default: all but the head."""

    max_logits_mb: int = 64
    """Language models: the most megabytes of logits that are held at a time. Less is slower, with the same result."""

    freeze: str | None = None
    """Don't train a part of the model. `core`: train the head only, which takes seconds on little data. A number:
    freeze the embeddings and that many of the lowest layers. Frozen layers run without dropout."""

    unfreeze: int | None = None
    """The opposite of freeze: train only this many of the highest layers, and the head."""

    train_only: Literal["head"] | None = None
    """`head`: another name for --freeze core."""

    cache_frozen: bool = True
    """Compute the frozen layers once for each row, and keep the result for all epochs, evaluations and later runs. Off:
    recompute in every step, with the same result (bit for bit on the CPU, unless rows are padded)."""

    train_sampling_strategy: Literal["windows", "random", "sequential", "group_by_length"] | None = None
    """Order of rows: `windows` shuffles, then groups like lengths within windows of batches (least padding);
    `random` and `sequential` as named; `group_by_length` is another name for windows. Default: windows, or random
    if nothing is padded."""

    dataloader_drop_last: bool = False
    """Leave out the last batch of an epoch when it is short."""

    seed: int = 42
    """Seed of the new head, dropout, and (without data_seed) of the split and the order of rows."""

    data_seed: int | None = None
    """Seed of the split and the order of rows. Default: seed."""

    full_determinism: bool = False
    """Ask torch for deterministic kernels: slower, and an error if there is none."""

    eval_strategy: Interval | None = None
    """When to evaluate while training. Default: every epoch; `no` with --do_train."""

    eval_steps: float | None = None
    """Steps between evaluations with eval_strategy steps; below 1, a share of all steps. Default: logging_steps."""

    eval_delay: float = 0.0
    """Epochs (or steps) before the first evaluation."""

    eval_on_start: bool = False
    """Evaluate once before training."""

    load_best_model_at_end: bool = False
    """Keep the best evaluated model rather than the last."""

    metric_for_best_model: str | None = None
    """Metric that decides which model is best. Default: the task's main metric; `loss` with --do_train."""

    greater_is_better: bool | None = None
    """Whether a larger metric is better. Default: yes, except for loss and errors."""

    early_stopping_patience: int | None = None
    """Stop after this many evaluations without improvement and keep the best model; 0 never stops early. A tie is no
    improvement: the earlier model is kept. Default: 0."""

    early_stopping_threshold: float = 0.0
    """Least gain in the metric that counts as an improvement."""
