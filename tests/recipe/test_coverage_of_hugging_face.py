"""Every flag of run_glue.py and every TrainingArguments field is honoured, not needed, or refused: none unknown."""

from __future__ import annotations

import dataclasses

import pytest

from pippin.recipe.fields import recipe_fields
from pippin.recipe.foreign import ALIASES, DEFAULTS, NOT_NEEDED, REFUSED, REFUSED_WHEN_OFF, SWITCH_WORDS, SWITCHES

RUN_GLUE = """
model_name_or_path config_name tokenizer_name cache_dir use_fast_tokenizer model_revision token trust_remote_code
ignore_mismatched_sizes task_name dataset_name dataset_config_name max_seq_length overwrite_cache pad_to_max_length
max_train_samples max_eval_samples max_predict_samples train_file validation_file test_file
""".split()
REMOVED = """
overwrite_output_dir use_mps_device no_cuda evaluation_strategy warmup_ratio group_by_length logging_dir
save_safetensors per_gpu_train_batch_size per_gpu_eval_batch_size fp16_backend half_precision_backend
include_tokens_per_second jit_mode_eval tpu_num_cores past_index
""".split()


def known(name: str) -> bool:
    return name in recipe_fields() or name in ALIASES or name in NOT_NEEDED or name in REFUSED


@pytest.mark.parametrize("name", RUN_GLUE + REMOVED)
def test_script_flags_are_known(name):
    assert known(name)


def test_every_training_argument_is_known():
    from transformers import TrainingArguments

    names = [field.name for field in dataclasses.fields(TrainingArguments) if not field.name.startswith("_")]
    assert len(names) > 80
    assert [name for name in names if not known(name)] == []


def test_every_boolean_is_a_switch():
    from transformers import TrainingArguments

    booleans = [
        field.name
        for field in dataclasses.fields(TrainingArguments)
        if field.type in (bool, bool | None, "bool", "bool | None", "Optional[bool]")
    ]
    assert len(booleans) > 30
    known_switches = {name for name, field in recipe_fields().items() if field.kind is bool} | SWITCHES
    assert [name for name in booleans if ALIASES.get(name, name) not in known_switches] == []


def test_shared_defaults_are_hugging_faces():
    from transformers import TrainingArguments

    theirs = {field.name: field.default for field in dataclasses.fields(TrainingArguments)}
    # None here means that the plan decides; it takes Hugging Face's value for a classic command (tests/plan).
    different = {
        name: (field.default, theirs[name])
        for name, field in recipe_fields().items()
        if name in theirs
        and field.default is not None
        and field.default != getattr(theirs[name], "value", theirs[name])
    }
    different.pop("optim", None)  # transformers made the fused AdamW its default only later
    different.pop("train_sampling_strategy", None)  # ours groups like lengths, on purpose; older releases lack the name
    assert different == {"disable_tqdm": (False, None)}


def test_each_name_stands_in_one_list():
    lists = [set(recipe_fields()), set(ALIASES), set(NOT_NEEDED), set(REFUSED)]
    for place, names in enumerate(lists):
        for others in lists[place + 1 :]:
            assert names & others == set()
    assert set(ALIASES.values()) <= set(recipe_fields())
    assert set(NOT_NEEDED) | set(REFUSED) >= SWITCHES | set(DEFAULTS)
    assert set(NOT_NEEDED) >= set(REFUSED_WHEN_OFF)
    assert set(SWITCH_WORDS) <= SWITCHES
