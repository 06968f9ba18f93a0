"""What becomes of every setting of Hugging Face's TrainingArguments under Pippin's Trainer, in one table.

docs/trainer_arguments.md is made from it, and so is what `--help` of a script says about former names.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

#: transformers' own code does what the setting says.
HONOURED = "honoured"
#: Pippin's own code does what the setting says, in place of transformers'.
ENGINE = "engine"
#: Taken, and nothing depends on it.
IDLE = "no effect"
#: Stops with a message under the condition that is given, and is honoured otherwise.
REFUSED = "refused"


@dataclass(frozen=True)
class Treatment:
    status: str
    words: str
    when: str = ""
    """When it is refused."""


@dataclass(frozen=True)
class Removed:
    """A setting that transformers dropped, as it was, and what becomes of it."""

    kind: Any
    default: Any
    gone: str
    """The first release without it."""
    treatment: Treatment


_honoured, _engine, _idle = (partial(Treatment, status) for status in (HONOURED, ENGINE, IDLE))


def _refused(when: str, words: str) -> Treatment:
    return Treatment(REFUSED, words, when)


_APPLE = "on the Apple GPU"
_SCRIPT = _honoured("For your script to read; the Trainer itself does not.")
_DDP = _honoured("Handed to torch's DistributedDataParallel; only a run in several processes has one.")
_WHOLE = "A checkpoint is filled in a hidden folder, synced, sealed with a list of its files, and only then renamed."
_TRACKIO = _honoured("For trackio alone.")
_RATIO = "a number below 1 is a share of all steps"

RUN = {
    "output_dir": _honoured("Where checkpoints go; `trainer_output` where none is given."),
    "do_train": _SCRIPT,
    "do_eval": _honoured("For your script to read; true by itself where `eval_strategy` is not `no`."),
    "do_predict": _SCRIPT,
    "num_train_epochs": _honoured("May be a fraction: 0.5 stops halfway through the rows."),
    "max_steps": _honoured("If above 0, it overrides `num_train_epochs`; rows are repeated as often as needed."),
    "seed": _honoured("Seeds Python, numpy and torch; rows come in the same order as with transformers' Trainer."),
    "data_seed": _honoured("A separate seed for the order of rows."),
    "full_determinism": _honoured("Deterministic kernels only: slower, and an error where torch has none."),
    "resume_from_checkpoint": _engine(
        "A folder, or `True` for the newest checkpoint that verifies; damaged and incomplete ones are skipped. "
        "Pass it on to `train()`, as before."
    ),
    "ignore_data_skip": _honoured("A resumed run starts its epoch over: it starts faster, but is not the same run."),
    "restore_callback_states_from_checkpoint": _honoured(
        "Restores the state of callbacks, such as early stopping, on resume."
    ),
    "debug": _honoured("`underflow_overflow` checks every layer for infinity and NaN; slow."),
}
BATCHES = {
    "per_device_train_batch_size": _honoured("Rows of a micro-batch on each device."),
    "per_device_eval_batch_size": _honoured("Rows of an evaluation batch. The default of 8 is slow: raise it."),
    "gradient_accumulation_steps": _engine(
        "Losses are scaled by rows, so that 4 times 8 rows give the gradient of 32. transformers sums the losses of "
        "many classification heads instead, and the gradient comes out too large."
    ),
    "auto_find_batch_size": _honoured(
        "Left to accelerate: out of memory, it restarts with fewer rows from the weights so far."
    ),
    "train_sampling_strategy": _honoured(
        "`random`, `sequential`, `group_by_length` or `batch_rebalance`. Packed rows have no padding to save."
    ),
    "length_column_name": _honoured("A column with lengths, for `group_by_length` and `batch_rebalance`."),
    "dataloader_drop_last": _honoured("Drops the last batch of an epoch if it is not full."),
    "dataloader_num_workers": _honoured(
        "Processes that prepare batches; 0 is enough for rows that are already tokenised."
    ),
    "dataloader_pin_memory": _honoured("Speeds up copies to NVIDIA GPUs; off by itself with `use_cpu`."),
    "dataloader_persistent_workers": _honoured("Keeps workers from epoch to epoch; needs `dataloader_num_workers`."),
    "dataloader_prefetch_factor": _honoured("Batches that each worker keeps ready; needs `dataloader_num_workers`."),
    "dataloader_multiprocessing_context": _honoured(
        "How workers start. With an Apple GPU and several workers, `fork` by default."
    ),
    "dataloader_in_order": _honoured("False takes batches as they become ready; the order then varies."),
    "remove_unused_columns": _honoured("Drops columns that the model's forward does not take."),
    "label_names": _honoured("Inputs that are labels, if the model's forward names them otherwise."),
    "average_tokens_across_devices": _honoured("Counts labels over all processes; no effect in one process."),
}
OPTIMISER = {
    "learning_rate": _honoured("The peak; the schedule goes up to it and down from it."),
    "lr_scheduler_type": _honoured("All of transformers' schedules."),
    "lr_scheduler_kwargs": _honoured("Handed to the schedule; a dict, or JSON on the command line."),
    "warmup_steps": _honoured(f"Steps; {_RATIO}, since transformers 5."),
    "optim": _refused(
        f"{_APPLE} for 8-bit, 4-bit and paged optimisers of bitsandbytes and torchao, which are CUDA or Triton code",
        "All of transformers' names. The former `adamw_hf` and `adamw_apex_fused` are torch's AdamW, plain and fused.",
    ),
    "optim_args": _honoured("`name=value,…` for optimisers that take more than learning rate and decay."),
    "optim_target_modules": _honoured("Layers for GaLore and Apollo; other optimisers ignore it."),
    "weight_decay": _honoured("Not applied to biases and norms, as in transformers."),
    "adam_beta1": _honoured("For AdamW and similar optimisers."),
    "adam_beta2": _honoured("For AdamW and similar optimisers."),
    "adam_epsilon": _honoured("For AdamW and similar optimisers."),
    "max_grad_norm": _honoured("0 turns clipping off. With accumulation it clips the gradient of the whole batch."),
    "label_smoothing_factor": _honoured("The loss is then computed from the logits, outside the model."),
    "neftune_noise_alpha": _honoured("Noise on the word embeddings. Rules out packing: rows stay padded."),
}
PRECISION = {
    "bf16": _refused(
        f"{_APPLE} before macOS 14 or torch 2.6, and on NVIDIA GPUs without it",
        "Autocast; weights stay fp32. Without a GPU, transformers wants `use_cpu` beside it.",
    ),
    "fp16": _refused(
        f"on the CPU, and {_APPLE} before torch 2.8",
        "Autocast with a loss scaler; weights stay fp32. `bf16` needs no scaler.",
    ),
    "bf16_full_eval": _honoured("Casts the model itself to bfloat16 for evaluation."),
    "fp16_full_eval": _honoured("Casts the model itself to float16 for evaluation."),
    "tf32": _refused("when true, except on NVIDIA GPUs", "Rounds the factors of fp32 matrix products: faster."),
    "gradient_checkpointing": _honoured("Recomputes activations instead of keeping them: less memory, more time."),
    "gradient_checkpointing_kwargs": _honoured("Handed to the model's `gradient_checkpointing_enable`."),
    "torch_compile": _honoured("Rules out packing: rows stay padded."),
    "torch_compile_backend": _honoured("Turns `torch_compile` on; `inductor` by default."),
    "torch_compile_mode": _honoured("Turns `torch_compile` on."),
    "use_liger_kernel": _refused(f"{_APPLE}: Liger's kernels are Triton code", "Rules out packing: rows stay padded."),
    "liger_kernel_config": _honoured("Which of Liger's kernels; only with `use_liger_kernel`."),
    "use_cache": _honoured("Written into the model's config; training needs no cache."),
    "torch_empty_cache_steps": _honoured("Frees unused device memory every so many steps: slower."),
}
EVALUATION = {
    "eval_strategy": _honoured("`no`, `steps` or `epoch`."),
    "eval_steps": _honoured(f"Steps between evaluations, else `logging_steps`; {_RATIO}."),
    "eval_delay": _honoured("Epochs or steps, after `eval_strategy`, before the first evaluation."),
    "eval_on_start": _honoured("Evaluates once before training, so that a mistake in compute_metrics shows at once."),
    "prediction_loss_only": _honoured("Keeps only the loss; compute_metrics is not called."),
    "eval_accumulation_steps": _honoured(
        "Moves predictions off the device every so many batches instead of at the end."
    ),
    "eval_do_concat_batches": _honoured("False hands predictions over batch by batch, as a list."),
    "eval_use_gather_object": _honoured("Gathers any objects from several processes; no effect in one process."),
    "include_for_metrics": _honoured("Adds `inputs` and `loss` to what compute_metrics gets."),
    "batch_eval_metrics": _honoured("Calls compute_metrics for each batch, with compute_result for the last one."),
    "load_best_model_at_end": _honoured("Needs the same strategy for saving and evaluation, or `save_strategy=best`."),
    "metric_for_best_model": _honoured("With or without `eval_` in front; `loss` by default."),
    "greater_is_better": _honoured("By default true, unless the metric's name ends in `loss`."),
}
GENERATION = {
    "predict_with_generate": _honoured("Evaluates generated text rather than logits."),
    "generation_max_length": _honoured("Only with `predict_with_generate`."),
    "generation_num_beams": _honoured("Only with `predict_with_generate`."),
    "generation_config": _honoured("A name, a folder or a GenerationConfig, instead of the model's own."),
    "sortish_sampler": _idle("No Trainer reads it any more. Use `train_sampling_strategy=group_by_length`."),
}
SAVING = {
    "save_strategy": _engine(f"`no`, `steps`, `epoch` or `best`. {_WHOLE}"),
    "save_steps": _engine(f"Steps between checkpoints; {_RATIO}."),
    "save_total_limit": _engine(
        "Deletes the oldest checkpoints beyond it once the new one is complete; the best one stays. Only files that "
        "Pippin or the script wrote at that save are deleted."
    ),
    "save_only_model": _honoured("No optimiser, schedule or random state: small, but nothing to resume from."),
    "save_on_each_node": _honoured("For several computers without a shared disk."),
    "enable_jit_checkpoint": _honoured("A checkpoint on SIGTERM; Pippin leaves one in any case."),
}
LOGGING = {
    "logging_strategy": _honoured("`no`, `steps` or `epoch`."),
    "logging_steps": _honoured(f"500 by default, so a shorter run shows no loss until its end; {_RATIO}."),
    "logging_first_step": _honoured("Logs step 1 too."),
    "logging_nan_inf_filter": _honoured("Keeps losses that are NaN or infinite out of the log."),
    "log_level": _honoured("For transformers' messages; Pippin's own do not depend on it."),
    "log_level_replica": _honoured("The same for processes other than the first."),
    "log_on_each_node": _honoured("With several computers: one log each, or one in all."),
    "disable_tqdm": _honoured("True prints each log as a dict instead of a progress bar."),
    "report_to": _honoured(
        "Trackers. Since transformers 5 the default is `none` (also for `None`); before, it was `all`."
    ),
    "run_name": _honoured("The run's name in trackers."),
    "project": _TRACKIO,
    "trackio_space_id": _TRACKIO,
    "trackio_bucket_id": _TRACKIO,
    "trackio_static_space_id": _TRACKIO,
    "include_num_input_tokens_seen": _honoured("`all` or `non_padding`: logs tokens, and tokens per second."),
    "skip_memory_metrics": _honoured("False adds memory to the metrics, by psutil; slower."),
}
DEVICES = {
    "use_cpu": _honoured("Otherwise the Apple GPU is used if there is one, then another accelerator, then the CPU."),
    "local_rank": _honoured("Accepted from old launchers for your script to read; the Trainer does not."),
    "ddp_backend": _honoured("Between processes; torch chooses by default."),
    "ddp_timeout": _honoured("Seconds that a process waits for the others."),
    "ddp_find_unused_parameters": _DDP,
    "ddp_bucket_cap_mb": _DDP,
    "ddp_broadcast_buffers": _DDP,
    "ddp_static_graph": _DDP,
    "fsdp": _refused(f"{_APPLE}, which does not support torch.distributed", "Shards the model over processes."),
    "fsdp_config": _honoured("Only with `fsdp`."),
    "deepspeed": _refused(f"{_APPLE}, which DeepSpeed does not support", "A JSON file or dict; needs DeepSpeed."),
    "parallelism_config": _refused(f"{_APPLE}, which does not support torch.distributed", "Several GPUs as a mesh."),
    "accelerator_config": _honoured("How accelerate distributes batches; a dict or a JSON file."),
}
HUB = {
    "push_to_hub": _honoured("Uploads as transformers does. Checkpoints are then written in place."),
    "hub_model_id": _honoured("The repository; by default the name of `output_dir`."),
    "hub_strategy": _honoured("What is uploaded, and when."),
    "hub_token": _honoured("Neither printed nor written into `training_args.bin`. Better: `hf auth login`."),
    "hub_private_repo": _honoured("Only if this run creates the repository."),
    "hub_always_push": _honoured("False skips an upload while the previous one is still running."),
    "hub_revision": _honoured("The branch to upload to."),
}

#: Today's fields, by what they are about.
GROUPS: dict[str, dict[str, Treatment]] = {
    "The run": RUN,
    "Batches": BATCHES,
    "Optimiser": OPTIMISER,
    "Precision and memory": PRECISION,
    "Evaluation": EVALUATION,
    "Evaluation of text that is generated (Seq2SeqTrainingArguments)": GENERATION,
    "Saving": SAVING,
    "Logging": LOGGING,
    "Devices": DEVICES,
    "The Hub": HUB,
}
TODAY: dict[str, Treatment] = {name: treatment for group in GROUPS.values() for name, treatment in group.items()}

#: Fields newer than the oldest transformers that Pippin works with, by the release that brought them.
_BROUGHT = {
    "4.41": ("eval_strategy", "batch_eval_metrics", "restore_callback_states_from_checkpoint"),
    "4.42": ("eval_on_start",),
    "4.43": ("eval_use_gather_object", "torch_empty_cache_steps"),
    "4.45": ("use_liger_kernel",),
    "4.46": ("include_for_metrics",),
    "4.47": ("average_tokens_across_devices",),
    "4.53": ("hub_revision", "liger_kernel_config"),
    "4.56": ("parallelism_config",),
    "4.57": ("project", "trackio_space_id"),
    "5.0": ("use_cache", "enable_jit_checkpoint"),
    "5.2": ("train_sampling_strategy",),
    "5.6": ("ddp_static_graph", "trackio_bucket_id", "trackio_static_space_id"),
    "5.15": ("dataloader_multiprocessing_context", "dataloader_in_order"),
}
SINCE = {name: release for release, names in _BROUGHT.items() for name in names}

_OPTIONAL_TEXT, _OPTIONAL_NUMBER, _OPTIONAL_SWITCH = str | None, int | None, bool | None
_AUTOCAST = _refused("for `apex`, which is gone", "torch's own autocast is the only one.")

#: Former fields. Their words are shown by `--help`, too. An installed transformers that still has one keeps its own.
REMOVED: dict[str, Removed] = {
    "overwrite_output_dir": Removed(bool, False, "5.0", _honoured("For your script to read; the Trainer does not.")),
    "evaluation_strategy": Removed(_OPTIONAL_TEXT, None, "4.51", _honoured("Now `eval_strategy`.")),
    "no_cuda": Removed(bool, False, "5.0", _honoured("Now `use_cpu`: no GPU of any kind is used.")),
    "use_mps_device": Removed(bool, False, "5.0", _idle("The Apple GPU is used automatically if there is one.")),
    "warmup_ratio": Removed(
        float, 0.0, "5.15", _honoured("Now `warmup_steps` below 1; `warmup_steps` wins if both are given.")
    ),
    "group_by_length": Removed(bool, False, "5.2", _honoured("Now `train_sampling_strategy=group_by_length`.")),
    "logging_dir": Removed(
        _OPTIONAL_TEXT, None, "5.15", _honoured("Where TensorBoard logs go, unless TENSORBOARD_LOGGING_DIR is set.")
    ),
    "save_safetensors": Removed(
        bool, True, "5.0", _refused("when false: models are never pickled", "Always safetensors.")
    ),
    "per_gpu_train_batch_size": Removed(_OPTIONAL_NUMBER, None, "5.0", _honoured("Now `per_device_train_batch_size`.")),
    "per_gpu_eval_batch_size": Removed(_OPTIONAL_NUMBER, None, "5.0", _honoured("Now `per_device_eval_batch_size`.")),
    "fp16_backend": Removed(str, "auto", "5.0", _AUTOCAST),
    "half_precision_backend": Removed(str, "auto", "5.0", _AUTOCAST),
    "fp16_opt_level": Removed(str, "O1", "5.0", _idle("It was for NVIDIA's apex.")),
    "include_tokens_per_second": Removed(bool, False, "5.0", _honoured("Now `include_num_input_tokens_seen`.")),
    "include_inputs_for_metrics": Removed(bool, False, "5.0", _honoured("Now `include_for_metrics=inputs`.")),
    "adafactor": Removed(bool, False, "5.0", _honoured("Now `optim=adafactor`.")),
    "torchdynamo": Removed(_OPTIONAL_TEXT, None, "5.0", _honoured("Now `torch_compile_backend`.")),
    "jit_mode_eval": Removed(bool, False, "5.0", _idle("Evaluation by TorchScript is gone; the results are the same.")),
    "use_ipex": Removed(bool, False, "4.57", _idle("Intel's extension is gone; torch has its kernels.")),
    "use_legacy_prediction_loop": Removed(bool, False, "5.0", _idle("There is one way to predict.")),
    "past_index": Removed(
        int, -1, "5.0", _refused("when 0 or more", "Models that pass states from batch to batch are gone.")
    ),
    "ray_scope": Removed(str, "last", "5.0", _honoured("Now the variable RAY_SCOPE, set to it during a search.")),
    "push_to_hub_model_id": Removed(_OPTIONAL_TEXT, None, "5.0", _honoured("Now `hub_model_id`.")),
    "push_to_hub_organization": Removed(_OPTIONAL_TEXT, None, "5.0", _honoured("Now the start of `hub_model_id`.")),
    "push_to_hub_token": Removed(_OPTIONAL_TEXT, None, "5.0", _honoured("Now `hub_token`.")),
    "dispatch_batches": Removed(_OPTIONAL_SWITCH, None, "4.51", _honoured("Now in `accelerator_config`.")),
    "split_batches": Removed(_OPTIONAL_SWITCH, None, "4.51", _honoured("Now in `accelerator_config`.")),
    "xpu_backend": Removed(_OPTIONAL_TEXT, None, "4.32", _honoured("Now `ddp_backend`.")),
    "fsdp_min_num_params": Removed(int, 0, "5.0", _honoured("Now `min_num_params` in `fsdp_config`.")),
    "fsdp_transformer_layer_cls_to_wrap": Removed(_OPTIONAL_TEXT, None, "5.0", _honoured("Now in `fsdp_config`.")),
    "sharded_ddp": Removed(str, "", "4.35", _refused("unless empty", "fairscale is gone; `fsdp` does the same.")),
    "tp_size": Removed(
        _OPTIONAL_NUMBER, 0, "4.52", _refused("above 1", "Now given when a model is loaded: `tp_plan=auto`.")
    ),
    "mp_parameters": Removed(str, "", "5.0", _idle("For SageMaker's launcher; the Trainer never read it.")),
    "tpu_num_cores": Removed(_OPTIONAL_NUMBER, None, "5.0", _idle("For the TPU launcher; the Trainer never read it.")),
    "tpu_metrics_debug": Removed(bool, False, "5.0", _honoured("Now `debug=tpu_metrics_debug`.")),
}
