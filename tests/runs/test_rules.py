"""What a resumed run may change: every field of the plan has its rule, and every setting comes under one of them."""

from __future__ import annotations

from pippin.plan.plan import Rule, plan_fields
from pippin.recipe.fields import recipe_fields
from pippin.runs.rules import FIXED

#: Settings of which the plan's choices say what became of them.
PLANNED = {
    "max_seq_length", "pad_to_max_length", "learning_rate", "head_learning_rate", "num_train_epochs", "max_steps",
    "batch_size", "processes", "hosts", "shard", "reduce",
    "per_device_train_batch_size", "gradient_accumulation_steps", "warmup_steps", "warmup_ratio", "freeze", "unfreeze",
    "train_only", "train_sampling_strategy", "eval_strategy", "eval_steps", "eval_delay", "metric_for_best_model",
    "early_stopping_patience", "load_best_model_at_end", "device", "use_cpu", "bf16", "fp16", "torch_compile",
    "gradient_checkpointing", "memory_limit", "logging_steps", "logging_strategy", "save_strategy", "save_steps",
    "dataloader_drop_last", "data_seed", "cache_frozen", "train",
}  # fmt: skip
#: Settings that no weight depends on, or whose effect on the rows their fingerprint tells.
FREE = {
    "data", "task", "task_name", "data_dir", "dataset_name", "dataset_config_name", "train_file", "validation_file",
    "test_file", "text_column", "label_column", "do_regression", "fine_labels", "validation_split", "encoding",
    "skip_bad_rows", "several_labels", "column_names", "no_header", "first_rows", "learn", "chat_template",
    "max_train_samples", "max_eval_samples", "max_predict_samples", "use_fast_tokenizer",
    "cache_dir", "token", "trust_remote_code", "ignore_mismatched_sizes", "do_train", "do_eval", "do_predict",
    "output_dir", "overwrite_output_dir", "run_name", "verify", "force", "report_to", "logging_dir", "project",
    "disable_tqdm", "quiet", "log_level", "resume", "resume_from_checkpoint",
}  # fmt: skip


def test_every_field_of_the_plan_has_a_rule():
    beside = {name: item.metadata for name, item in plan_fields().items()}
    assert all(each["rule"] in Rule.__args__ for each in beside.values())
    unnamed = {name for name, each in beside.items() if each["rule"] != "free" and not each["changed"]}
    assert unnamed <= recipe_fields().keys() | {"order_seed", "drop_last", "attention"}, (
        "told in the setting's own name"
    )


def test_every_setting_is_looked_after():
    given = recipe_fields().keys() & plan_fields().keys() - PLANNED
    assert not given & (FREE | set(FIXED))
    assert recipe_fields().keys() == given | PLANNED | FREE | set(FIXED)
