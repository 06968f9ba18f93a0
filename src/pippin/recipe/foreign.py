"""Names that are no field of ours: other names of one; of Hugging Face's scripts, what is not needed or refused."""

from __future__ import annotations

#: Short names, as many other programs have them, of ours.
SHORT_NAMES = {
    "model": "model_name_or_path",
    "lr": "learning_rate",
    "epochs": "num_train_epochs",
    "max_length": "max_seq_length",
    "output": "output_dir",
}

#: Names that BERT's and Hugging Face's scripts have, or had, for one of our fields.
FORMER_NAMES = {
    "evaluation_strategy": "eval_strategy",
    "no_cuda": "use_cpu",
    "train_batch_size": "per_device_train_batch_size",
    "eval_batch_size": "per_device_eval_batch_size",
    "per_gpu_train_batch_size": "per_device_train_batch_size",
    "per_gpu_eval_batch_size": "per_device_eval_batch_size",
    "text_column_names": "text_column",
    "text_column_name": "text_column",
    "label_column_name": "label_column",
    "use_auth_token": "token",
}
ALIASES = {**SHORT_NAMES, **FORMER_NAMES}

_IN_MEMORY = "rows are tokenised once and kept in memory, so there is no loader to set up"
_OWN_SUMS = "Pippin adds up the processes' gradients itself, without DistributedDataParallel"
_FIRST_WRITES = "of several processes, only the first one prints and writes"
_SHARDING = ("Pippin has one way to spread a model over several GPUs", "Use --shard.")
_NO_TPU = ("Pippin doesn't run on TPUs", "")
_NO_HUB_PUSH = "a run never uploads anything; publish its folder with `hf upload` when you want to"
_TRACKIO_SPACE = "Pippin itself uploads nothing, so trackio's figures stay on this computer"

#: Accepted, since what it is for holds anyway; the note is said. Name -> note.
NOT_NEEDED = {
    "use_mps_device": "the Apple GPU is used by itself when it is there",
    "group_by_length": "like lengths are grouped by default",
    "save_safetensors": "models are always saved as safetensors",
    "save_only_model": "checkpoints hold what it takes to go on; the model in them loads as it is",
    "enable_jit_checkpoint": "a run that is interrupted always saves first",
    "restore_callback_states_from_checkpoint": "a resumed run takes up all of its state",
    "dataloader_num_workers": _IN_MEMORY,
    "dataloader_pin_memory": _IN_MEMORY,
    "dataloader_persistent_workers": _IN_MEMORY,
    "dataloader_prefetch_factor": _IN_MEMORY,
    "dataloader_multiprocessing_context": _IN_MEMORY,
    "dataloader_in_order": _IN_MEMORY,
    "dispatch_batches": _IN_MEMORY,
    "split_batches": _IN_MEMORY,
    "auto_find_batch_size": "a batch that does not fit is put through in parts by itself",
    "use_legacy_prediction_loop": "there is one way to predict",
    "preprocessing_num_workers": "the tokenizer uses every core by itself",
    "remove_unused_columns": "only the text and label columns are ever read",
    "length_column_name": "lengths are counted while tokenising",
    "use_cache": "encoders keep no cache while training",
    "local_rank": "the launcher's environment says which process this is",
    "log_level_replica": _FIRST_WRITES,
    "log_on_each_node": _FIRST_WRITES,
    "save_on_each_node": _FIRST_WRITES,
    "average_tokens_across_devices": "the loss is always that of the whole batch, over all processes",
    "ddp_find_unused_parameters": _OWN_SUMS,
    "ddp_bucket_cap_mb": _OWN_SUMS,
    "ddp_broadcast_buffers": _OWN_SUMS,
    "ddp_static_graph": _OWN_SUMS,
    "ddp_timeout": "a lost process is noticed within seconds",
    "logging_nan_inf_filter": "Pippin never hides a NaN: it stops the run",
    "skip_memory_metrics": "memory is watched at no cost",
    "include_num_input_tokens_seen": "tokens are always counted",
    "include_tokens_per_second": "tokens per second are always shown",
    "eval_accumulation_steps": "predictions leave the device batch by batch already",
    "eval_do_concat_batches": "predictions are always joined",
    "eval_use_gather_object": "several processes share an evaluation, and every row counts once",
    "hub_strategy": _NO_HUB_PUSH,
    "hub_private_repo": _NO_HUB_PUSH,
    "hub_always_push": _NO_HUB_PUSH,
    "half_precision_backend": "torch's own autocast is the only one",
    "fp16_backend": "torch's own autocast is the only one",
}

#: Refused, unless it is given its "off" value or its default. Name -> (reason, what to type instead or "").
REFUSED = {
    "ignore_data_skip": ("a resumed run always goes on at its place in the data", ""),
    "trackio_space_id": (_TRACKIO_SPACE, "Set TRACKIO_SPACE_ID, which trackio reads itself."),
    "trackio_bucket_id": (_TRACKIO_SPACE, ""),
    "trackio_static_space_id": (_TRACKIO_SPACE, ""),
    "push_to_hub": (_NO_HUB_PUSH, ""),
    "hub_model_id": (_NO_HUB_PUSH, ""),
    "hub_revision": (_NO_HUB_PUSH, ""),
    "hub_token": (_NO_HUB_PUSH, "To read from the Hub use --token or HF_TOKEN."),
    "push_to_hub_model_id": (_NO_HUB_PUSH, ""),
    "push_to_hub_organization": (_NO_HUB_PUSH, ""),
    "push_to_hub_token": (_NO_HUB_PUSH, ""),
    "torch_compile_backend": ("Pippin compiles with torch's own backend", "Use --torch_compile alone."),
    "torch_compile_mode": ("Pippin records compiled steps itself", "Use --torch_compile alone."),
    "jit_mode_eval": ("removed from transformers too", ""),
    "use_ipex": ("removed from transformers too", ""),
    "use_liger_kernel": (
        "Liger's kernels are CUDA only and have none for encoders' classification heads",
        "",
    ),
    "liger_kernel_config": ("Liger's kernels are not used", ""),
    "adafactor": ("it became a name of an optimiser", "Use --optim adafactor."),
    "optim_args": ("none of the optimisers offered takes extra arguments", "Use --adam_beta1 and its kin."),
    "optim_target_modules": ("layer-wise optimisers (GaLore, Apollo) are not offered", ""),
    "bf16_full_eval": ("evaluation runs in the precision of training", "Use --bf16."),
    "fp16_full_eval": ("evaluation runs in the precision of training", "Use --fp16."),
    "fp16_opt_level": ("it belonged to NVIDIA's apex, which is gone", "Use --fp16."),
    "prediction_loss_only": ("metrics are always computed", ""),
    "batch_eval_metrics": ("metrics are computed over all rows at once", ""),
    "include_for_metrics": ("it serves a Python compute_metrics function", ""),
    "include_inputs_for_metrics": ("it serves a Python compute_metrics function", ""),
    "label_names": (
        "it names keyword arguments of a Python model",
        "For the label's column use --label_column.",
    ),
    "accelerator_config": ("Pippin has its own engine and does not use accelerate", ""),
    "parallelism_config": _SHARDING,
    "ddp_backend": ("the backend follows from the device: nccl for CUDA, else gloo", ""),
    "fsdp": _SHARDING,
    "fsdp_config": _SHARDING,
    "fsdp_min_num_params": _SHARDING,
    "fsdp_transformer_layer_cls_to_wrap": _SHARDING,
    "mp_parameters": ("it belonged to SageMaker's model parallelism", ""),
    "deepspeed": _SHARDING,
    "tpu_num_cores": _NO_TPU,
    "tpu_metrics_debug": _NO_TPU,
    "debug": ("transformers' debug hooks belong to its own Trainer", ""),
    "past_index": ("it belonged to models with a memory of past states", ""),
    "torchdynamo": ("it became torch_compile", "Use --torch_compile."),
    "ray_scope": ("there is no hyper-parameter search", ""),
}

#: Not needed when on, refused when off, in the same form as REFUSED.
REFUSED_WHEN_OFF = {
    "save_safetensors": ("Pippin writes no pickle: models are always saved as safetensors", "Leave it out."),
}

#: Hugging Face's own defaults of names above, where they don't read as "off": spelling one out asks for nothing.
DEFAULTS = {
    "past_index": "-1",
    "fp16_opt_level": "O1",
    "ray_scope": "last",
    "torch_compile_backend": "inductor",
    "torch_compile_mode": "default",
    "hub_strategy": "every_save",
    "half_precision_backend": "auto",
    "fp16_backend": "auto",
    "local_rank": "-1",
    "log_level_replica": "warning",
    "ddp_timeout": "1800",
    "length_column_name": "length",
}

#: Names above that stand alone as switches, without a value after them.
SWITCHES = set(
    """
    adafactor auto_find_batch_size average_tokens_across_devices batch_eval_metrics bf16_full_eval
    dataloader_in_order dataloader_persistent_workers dataloader_pin_memory ddp_broadcast_buffers
    ddp_find_unused_parameters ddp_static_graph dispatch_batches enable_jit_checkpoint eval_do_concat_batches
    eval_use_gather_object fp16_full_eval group_by_length hub_always_push hub_private_repo ignore_data_skip
    include_inputs_for_metrics include_num_input_tokens_seen include_tokens_per_second jit_mode_eval
    log_on_each_node logging_nan_inf_filter prediction_loss_only push_to_hub remove_unused_columns
    restore_callback_states_from_checkpoint save_on_each_node save_only_model save_safetensors
    skip_memory_metrics split_batches tpu_metrics_debug use_cache use_ipex use_legacy_prediction_loop
    use_liger_kernel use_mps_device
    """.split()
)

#: Words that a switch takes beside true and false.
SWITCH_WORDS = {"include_num_input_tokens_seen": {"all", "non_padding"}}

#: Values that turn a flag off, so that a script which only spells out defaults still runs.
_OFF = {"", "false", "none", "no", "off", "0", "f", "n", "null", "[]", "{}"}


def is_off(value: object) -> bool:
    """Whether a value means "not asked for"."""
    if isinstance(value, (list, tuple)):
        return all(is_off(item) for item in value)
    return value is None or str(value).strip().lower() in _OFF


def asks_for_nothing(name: str, value: object) -> bool:
    """Whether a value of a name above is "off" or what Hugging Face has anyway."""
    return is_off(value) or str(value).strip().lower() == DEFAULTS.get(name, "").lower()
