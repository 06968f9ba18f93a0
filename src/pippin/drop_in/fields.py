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
IDLE = "without meaning here"
#: Stops with a message under the condition that is given, and is honoured otherwise.
REFUSED = "refused"


@dataclass(frozen=True)
class Treatment:
    """What becomes of a setting."""

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
    "num_train_epochs": _honoured("May be a fraction: 0.5 stops in the middle of the rows."),
    "max_steps": _honoured("Above 0 it decides alone, and rows are gone through as often as that takes."),
    "seed": _honoured("Python, numpy and torch are seeded; the order of rows is that of transformers' Trainer."),
    "data_seed": _honoured("A seed of its own for the order of rows, so that `seed` can vary without it."),
    "full_determinism": _honoured("Deterministic kernels only. Slower, and an error where torch has none."),
    "resume_from_checkpoint": _engine(
        "A folder, or `True` (as a word too) for the newest checkpoint that verifies: damaged and half-written ones "
        "are passed over, and named. Pass it on to `train()`, as before."
    ),
    "ignore_data_skip": _honoured(
        "A resumed run begins the rows of its epoch anew: faster to start, not the same run."
    ),
    "restore_callback_states_from_checkpoint": _honoured(
        "Callbacks that keep a state (early stopping) go on from it. Without this they begin anew when resumed."
    ),
    "debug": _honoured("`underflow_overflow` watches every layer for inf and NaN; slow."),
}
BATCHES = {
    "per_device_train_batch_size": _honoured("Rows of a micro-batch on each device."),
    "per_device_eval_batch_size": _honoured("Rows of a batch where nothing is trained. 8 by default: more is faster."),
    "gradient_accumulation_steps": _engine(
        "Losses are scaled by rows, so that 4 times 8 rows give the gradient of 32. transformers adds the losses of "
        "many classification heads up instead, and the gradient comes out too large."
    ),
    "auto_find_batch_size": _honoured(
        "Left to accelerate: when memory runs out, training starts again with fewer rows, from the weights it has then."
    ),
    "train_sampling_strategy": _honoured(
        "`random`, `sequential`, `group_by_length` or `batch_rebalance`. Where rows are packed there is no "
        "padding that grouping could save."
    ),
    "length_column_name": _honoured(
        "A column of `datasets` with lengths, for `group_by_length` and `batch_rebalance`."
    ),
    "dataloader_drop_last": _honoured("Leaves out the last batch of an epoch where it is not full."),
    "dataloader_num_workers": _honoured(
        "Processes that prepare batches; 0 is enough for rows that are tokenised already."
    ),
    "dataloader_pin_memory": _honoured("Speeds up copies to NVIDIA GPUs; off by itself with `use_cpu`."),
    "dataloader_persistent_workers": _honoured("Workers stay from epoch to epoch; needs `dataloader_num_workers`."),
    "dataloader_prefetch_factor": _honoured("Batches that each worker has ready; needs `dataloader_num_workers`."),
    "dataloader_multiprocessing_context": _honoured(
        "How workers start. Where an Apple GPU is and there are several workers, `fork` by itself."
    ),
    "dataloader_in_order": _honoured("False takes batches as they get ready; the order is then not the same twice."),
    "remove_unused_columns": _honoured("Columns that the model's forward does not name are left out."),
    "label_names": _honoured("Inputs that are labels, where the model's forward does not call them so."),
    "average_tokens_across_devices": _honoured("Counts labels over all processes; in one process nothing changes."),
}
OPTIMISER = {
    "learning_rate": _honoured("The peak; the schedule goes up to it and down from it."),
    "lr_scheduler_type": _honoured("All of transformers' schedules."),
    "lr_scheduler_kwargs": _honoured("Handed to the schedule; a dict, or JSON on the command line."),
    "warmup_steps": _honoured(f"Steps; {_RATIO}, since transformers 5."),
    "optim": _refused(
        f"{_APPLE} for the optimisers of bitsandbytes and torchao, the 8-bit, 4-bit and paged ones: they are made of "
        "CUDA or Triton code",
        "All of transformers' names. `adamw_hf` and `adamw_apex_fused`, which it dropped, are torch's AdamW, plain and "
        "fused.",
    ),
    "optim_args": _honoured("`name=value,…` for optimisers that take more than learning rate and decay."),
    "optim_target_modules": _honoured("Layers for GaLore and Apollo; other optimisers do not ask for it."),
    "weight_decay": _honoured("Not for biases and norms, as in transformers."),
    "adam_beta1": _honoured("Of AdamW and its kin."),
    "adam_beta2": _honoured("Of AdamW and its kin."),
    "adam_epsilon": _honoured("Of AdamW and its kin."),
    "max_grad_norm": _honoured(
        "0 leaves gradients as they are. With accumulation it acts on the whole batch's gradient, at its right size."
    ),
    "label_smoothing_factor": _honoured("The loss is then computed from the logits, outside of the model."),
    "neftune_noise_alpha": _honoured("Noise on the word vectors. Rules out packing: the rows stay padded."),
}
PRECISION = {
    "bf16": _refused(
        f"{_APPLE} before macOS 14 or torch 2.6, and on NVIDIA GPUs without it",
        "Autocast; weights stay fp32. On a computer without GPU transformers wants `use_cpu` beside it.",
    ),
    "fp16": _refused(
        f"on the CPU, and {_APPLE} before torch 2.8",
        "Autocast with a loss scaler; weights stay fp32. `bf16` needs no scaler.",
    ),
    "bf16_full_eval": _honoured("The model itself is cast to bfloat16 where it is only evaluated."),
    "fp16_full_eval": _honoured("The model itself is cast to float16 where it is only evaluated."),
    "tf32": _refused("when true, elsewhere than on NVIDIA GPUs", "Rounds the factors of fp32 matrix products: faster."),
    "gradient_checkpointing": _honoured("Computes activations twice instead of keeping them: less memory, more time."),
    "gradient_checkpointing_kwargs": _honoured("Handed to the model's `gradient_checkpointing_enable`."),
    "torch_compile": _honoured("Rules out packing: the rows stay padded."),
    "torch_compile_backend": _honoured("Turns `torch_compile` on; `inductor` by default."),
    "torch_compile_mode": _honoured("Turns `torch_compile` on."),
    "use_liger_kernel": _refused(
        f"{_APPLE}: Liger's kernels are Triton code", "Rules out packing: the rows stay padded."
    ),
    "liger_kernel_config": _honoured("Which of Liger's kernels; only with `use_liger_kernel`."),
    "use_cache": _honoured("Written into the model's config; training needs no cache."),
    "torch_empty_cache_steps": _honoured("Gives unused memory of the device back every so many steps: slower."),
}
EVALUATION = {
    "eval_strategy": _honoured("`no`, `steps` or `epoch`."),
    "eval_steps": _honoured(f"Steps between evaluations, else `logging_steps`; {_RATIO}."),
    "eval_delay": _honoured("Epochs or steps, after `eval_strategy`, before the first evaluation."),
    "eval_on_start": _honoured("Evaluates once before training: a mistake in compute_metrics shows at once."),
    "prediction_loss_only": _honoured("Keeps the loss alone; compute_metrics is not called."),
    "eval_accumulation_steps": _honoured(
        "Moves predictions off the device every so many batches; without it they stay there until the end."
    ),
    "eval_do_concat_batches": _honoured("False hands predictions over batch by batch, as a list."),
    "eval_use_gather_object": _honoured("Gathers any objects from several processes; in one process nothing changes."),
    "include_for_metrics": _honoured("`inputs` and `loss` for compute_metrics, which gets neither by itself."),
    "batch_eval_metrics": _honoured("compute_metrics is called for each batch, with compute_result for the last one."),
    "load_best_model_at_end": _honoured("Needs the same strategy for saving and evaluation, or `save_strategy=best`."),
    "metric_for_best_model": _honoured("With or without `eval_` before it; `loss` where the best is asked for."),
    "greater_is_better": _honoured("Else true, unless the metric's name ends in `loss`."),
}
GENERATION = {
    "predict_with_generate": _honoured("Evaluates what the model writes rather than its logits."),
    "generation_max_length": _honoured("Only with `predict_with_generate`."),
    "generation_num_beams": _honoured("Only with `predict_with_generate`."),
    "generation_config": _honoured("A name, a folder or a GenerationConfig, in place of the model's own."),
    "sortish_sampler": _idle("No Trainer reads it any longer. Type `train_sampling_strategy=group_by_length`."),
}
SAVING = {
    "save_strategy": _engine(f"`no`, `steps`, `epoch` or `best`. {_WHOLE}"),
    "save_steps": _engine(f"Steps between checkpoints; {_RATIO}."),
    "save_total_limit": _engine(
        "The oldest ones beyond it go, by run and step, once the new one is whole; the best one stays. Of a folder "
        "only the files that Pippin or the script wrote at that save are deleted."
    ),
    "save_only_model": _honoured("No optimiser, schedule or random state: small, but nothing can be resumed from it."),
    "save_on_each_node": _honoured("For several computers without a shared disk."),
    "enable_jit_checkpoint": _honoured("A checkpoint on SIGTERM; under Pippin SIGTERM leaves one without it too."),
}
LOGGING = {
    "logging_strategy": _honoured("`no`, `steps` or `epoch`."),
    "logging_steps": _honoured(f"500 by default, so a shorter run shows no loss until its end; {_RATIO}."),
    "logging_first_step": _honoured("Logs step 1 too."),
    "logging_nan_inf_filter": _honoured("Losses that are inf or NaN stay out of the log."),
    "log_level": _honoured("Of transformers' messages; Pippin's own lines do not depend on it."),
    "log_level_replica": _honoured("The same for processes other than the first."),
    "log_on_each_node": _honoured("For several computers: one log for each, or one in all."),
    "disable_tqdm": _honoured("True prints each log as a dict in place of a bar."),
    "report_to": _honoured("Trackers. `none` is the default since transformers 5, and what `None` means; `all` was."),
    "run_name": _honoured("The run's name in trackers."),
    "project": _TRACKIO,
    "trackio_space_id": _TRACKIO,
    "trackio_bucket_id": _TRACKIO,
    "trackio_static_space_id": _TRACKIO,
    "include_num_input_tokens_seen": _honoured(
        "`all` or `non_padding`: tokens, and tokens per second, go into the log."
    ),
    "skip_memory_metrics": _honoured("False adds memory to the metrics, by psutil; slower."),
}
DEVICES = {
    "use_cpu": _honoured("Else the Apple GPU is taken where there is one, then another accelerator, then the CPU."),
    "local_rank": _honoured("Taken from old launchers, for your script to read; the Trainer itself does not."),
    "ddp_backend": _honoured("Between processes; torch's own choice where none is given."),
    "ddp_timeout": _honoured("Seconds that a process waits for the others."),
    "ddp_find_unused_parameters": _DDP,
    "ddp_bucket_cap_mb": _DDP,
    "ddp_broadcast_buffers": _DDP,
    "ddp_static_graph": _DDP,
    "fsdp": _refused(f"{_APPLE}, which takes no part in torch.distributed", "Shards the model over processes."),
    "fsdp_config": _honoured("Only with `fsdp`."),
    "deepspeed": _refused(f"{_APPLE}, for which DeepSpeed has no code", "A JSON file or dict; needs DeepSpeed."),
    "parallelism_config": _refused(f"{_APPLE}, which takes no part in torch.distributed", "Several GPUs as a mesh."),
    "accelerator_config": _honoured("How accelerate hands batches out; a dict or a JSON file."),
}
HUB = {
    "push_to_hub": _honoured("Uploads as transformers does. Checkpoints are then filled where they stand."),
    "hub_model_id": _honoured("The repository; else the name of `output_dir`."),
    "hub_strategy": _honoured("What is uploaded, and when."),
    "hub_token": _honoured("Neither printed nor written into `training_args.bin`. Better: `hf auth login`."),
    "hub_private_repo": _honoured("Only where the repository is made by this run."),
    "hub_always_push": _honoured("False passes over an upload while the one before it is still under way."),
    "hub_revision": _honoured("The branch that is uploaded to."),
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
    "overwrite_output_dir": Removed(
        bool, False, "5.0", _honoured("For your script to read; checkpoints are written into the folder either way.")
    ),
    "evaluation_strategy": Removed(_OPTIONAL_TEXT, None, "4.51", _honoured("Now `eval_strategy`.")),
    "no_cuda": Removed(bool, False, "5.0", _honoured("Now `use_cpu`: no GPU of any kind is used.")),
    "use_mps_device": Removed(bool, False, "5.0", _idle("The Apple GPU is taken by itself where there is one.")),
    "warmup_ratio": Removed(
        float,
        0.0,
        "5.15",
        _honoured("Now `warmup_steps`, as a number below 1; `warmup_steps` wins where both are given."),
    ),
    "group_by_length": Removed(bool, False, "5.2", _honoured("Now `train_sampling_strategy=group_by_length`.")),
    "logging_dir": Removed(
        _OPTIONAL_TEXT,
        None,
        "5.15",
        _honoured("Where TensorBoard's callback of the same Trainer writes, unless TENSORBOARD_LOGGING_DIR is set."),
    ),
    "save_safetensors": Removed(
        bool, True, "5.0", _refused("when false: models are never pickled", "Models are always saved as safetensors.")
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
    "jit_mode_eval": Removed(bool, False, "5.0", _idle("Evaluation by TorchScript is gone; numbers are the same.")),
    "use_ipex": Removed(bool, False, "4.57", _idle("Intel's extension is gone; torch itself has its kernels.")),
    "use_legacy_prediction_loop": Removed(bool, False, "5.0", _idle("There is one way to predict.")),
    "past_index": Removed(
        int, -1, "5.0", _refused("when 0 or more", "Models that hand states on from batch to batch are gone.")
    ),
    "ray_scope": Removed(
        str, "last", "5.0", _honoured("Now the variable RAY_SCOPE, which is set to it during a search.")
    ),
    "push_to_hub_model_id": Removed(_OPTIONAL_TEXT, None, "5.0", _honoured("Now `hub_model_id`.")),
    "push_to_hub_organization": Removed(
        _OPTIONAL_TEXT, None, "5.0", _honoured("Now the first part of `hub_model_id`.")
    ),
    "push_to_hub_token": Removed(_OPTIONAL_TEXT, None, "5.0", _honoured("Now `hub_token`.")),
    "dispatch_batches": Removed(_OPTIONAL_SWITCH, None, "4.51", _honoured("Now in `accelerator_config`.")),
    "split_batches": Removed(_OPTIONAL_SWITCH, None, "4.51", _honoured("Now in `accelerator_config`.")),
    "xpu_backend": Removed(_OPTIONAL_TEXT, None, "4.32", _honoured("Now `ddp_backend`.")),
    "fsdp_min_num_params": Removed(int, 0, "5.0", _honoured("Now `min_num_params` in `fsdp_config`.")),
    "fsdp_transformer_layer_cls_to_wrap": Removed(
        _OPTIONAL_TEXT, None, "5.0", _honoured("Now `transformer_layer_cls_to_wrap` in `fsdp_config`.")
    ),
    "sharded_ddp": Removed(str, "", "4.35", _refused("unless empty", "fairscale is gone; `fsdp` does the same.")),
    "tp_size": Removed(
        _OPTIONAL_NUMBER, 0, "4.52", _refused("above 1", "A model is now split when it is loaded, by `tp_plan=auto`.")
    ),
    "mp_parameters": Removed(str, "", "5.0", _idle("For SageMaker's launcher; the Trainer never read it.")),
    "tpu_num_cores": Removed(_OPTIONAL_NUMBER, None, "5.0", _idle("For the TPU launcher; the Trainer never read it.")),
    "tpu_metrics_debug": Removed(bool, False, "5.0", _honoured("Now `debug=tpu_metrics_debug`.")),
}
