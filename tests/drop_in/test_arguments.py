"""TrainingArguments with the names that transformers dropped, and what the device at hand refuses."""

from __future__ import annotations

import copy
import dataclasses
import io
import json
import os
import pickle
import subprocess
import sys

import pytest
import torch
from transformers import HfArgumentParser

from pippin.drop_in import arguments
from pippin.drop_in.arguments import Seq2SeqTrainingArguments, TrainingArguments
from pippin.drop_in.fields import REMOVED
from pippin.drop_in.translation import MISSING
from pippin.errors import Mistakes, PippinError

pytest.importorskip("accelerate")

#: A former name, what it is given on the command line, today's field and the value that it must have.
BECOMES = {
    "evaluation_strategy": ("epoch", "eval_strategy", "epoch"),
    "no_cuda": (True, "use_cpu", True),
    "warmup_ratio": (0.1, "warmup_steps", 0.1),
    "group_by_length": (True, "train_sampling_strategy", "group_by_length"),
    "per_gpu_train_batch_size": (16, "per_device_train_batch_size", 16),
    "per_gpu_eval_batch_size": (32, "per_device_eval_batch_size", 32),
    "include_tokens_per_second": (True, "include_num_input_tokens_seen", "all"),
    "include_inputs_for_metrics": (True, "include_for_metrics", ["inputs"]),
    "adafactor": (True, "optim", "adafactor"),
    "torchdynamo": ("eager", "torch_compile_backend", "eager"),
    "push_to_hub_model_id": ("me/model", "hub_model_id", "me/model"),
    "push_to_hub_organization": ("us", "hub_model_id", "us/out"),
    "push_to_hub_token": ("t0ken", "hub_token", "t0ken"),
    "tpu_metrics_debug": (True, "debug", ["tpu_metrics_debug"]),
}
#: Taken and kept, for scripts that read them; nothing else depends on them.
KEPT = {
    "overwrite_output_dir": True,
    "use_mps_device": True,
    "save_safetensors": True,
    "fp16_backend": "cuda_amp",
    "half_precision_backend": "cpu_amp",
    "fp16_opt_level": "O2",
    "jit_mode_eval": True,
    "use_ipex": True,
    "use_legacy_prediction_loop": True,
    "past_index": -1,
    "sharded_ddp": "",
    "tp_size": 1,
    "mp_parameters": "x",
    "tpu_num_cores": 8,
}
ELSEWHERE = {  # tested one by one
    "logging_dir", "ray_scope", "dispatch_batches", "split_batches", "fsdp_min_num_params",
    "fsdp_transformer_layer_cls_to_wrap", "xpu_backend",
}  # fmt: skip


def removed(*names: str) -> pytest.MarkDecorator:
    """Only where transformers lacks the names: where it has them, they are its own matter."""
    return pytest.mark.skipif(not set(names) <= set(MISSING), reason="transformers still has it")


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch):
    for name in ("TENSORBOARD_LOGGING_DIR", "RAY_SCOPE", "WORLD_SIZE", "ACCELERATE_USE_CPU"):
        monkeypatch.setenv(name, "")  # so that it is put back
        monkeypatch.delenv(name)


def parse(*words: object, kind: type = TrainingArguments):
    return HfArgumentParser(kind).parse_args_into_dataclasses(
        ["--output_dir", "out", *map(str, words)], look_for_args_file=False
    )[0]


def plain(value):
    if isinstance(value, list):
        return [plain(item) for item in value]
    return getattr(value, "value", value)


def test_every_removed_name_is_tested():
    assert set(BECOMES) | set(KEPT) | ELSEWHERE == set(REMOVED)


@pytest.mark.parametrize("name", [name for name in BECOMES if name in MISSING])
def test_a_former_name_becomes_todays(name):
    value, today, expected = BECOMES[name]
    for args in (
        TrainingArguments("out", **{name: value}),
        parse(f"--{name}", value),
        HfArgumentParser(TrainingArguments).parse_dict({"output_dir": "out", name: value})[0],
    ):
        assert plain(getattr(args, today)) == expected
        assert plain(getattr(args, name)) == value, "scripts read it"
    untouched = TrainingArguments("out")
    assert plain(getattr(untouched, today)) != expected


@pytest.mark.parametrize("name", [name for name in KEPT if name in MISSING])
def test_a_former_name_without_meaning_is_taken(name):
    value = KEPT[name]
    assert getattr(TrainingArguments("out", **{name: value}), name) == value
    assert getattr(parse(f"--{name}", value), name) == value


@pytest.mark.parametrize("name", [name for name in MISSING if REMOVED[name].kind is bool])
def test_switches_stand_alone(name):
    assert getattr(parse(f"--{name}"), name) is True


@removed("no_cuda")
def test_help_teaches_what_became_of_a_name():
    parser = HfArgumentParser(TrainingArguments)
    parser.parse_args_into_dataclasses(["--output_dir", "out", "--no_cuda"], look_for_args_file=False)
    text = " ".join(parser.format_help().split())
    assert "Gone since transformers 5.0. Now `use_cpu`: no GPU of any kind is used." in text


@removed("evaluation_strategy")
def test_a_json_file_of_old(tmp_path):
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({"output_dir": "out", "overwrite_output_dir": True, "evaluation_strategy": "steps"}))
    args = HfArgumentParser(TrainingArguments).parse_json_file(str(path))[0]
    assert args.overwrite_output_dir
    assert args.eval_strategy == args.evaluation_strategy == "steps"
    assert args.do_eval


@removed("evaluation_strategy", "logging_dir", "warmup_ratio")
def test_what_scripts_read_though_they_never_gave_it():
    args = TrainingArguments("out")
    assert args.evaluation_strategy == "no"
    assert args.logging_dir == os.path.join("out", "runs")
    assert args.local_rank == -1
    assert (args.no_cuda, args.overwrite_output_dir, args.warmup_ratio, args.save_safetensors) == (
        False,
        False,
        0,
        True,
    )
    assert TrainingArguments("out", eval_strategy="epoch").evaluation_strategy == "epoch"


@removed("logging_dir", "ray_scope")
def test_what_became_a_variable_is_kept_for_the_trainer():
    args = parse("--logging_dir", "~/logs", "--ray_scope", "all")
    assert (args.logging_dir, args.ray_scope) == ("~/logs", "all")
    assert "TENSORBOARD_LOGGING_DIR" not in os.environ
    assert "RAY_SCOPE" not in os.environ
    assert TrainingArguments("out").logging_dir == os.path.join("out", "runs"), "it is the other arguments' own"


def test_backend_between_processes(monkeypatch):
    monkeypatch.setattr(arguments.TheirArguments, "__post_init__", lambda self: None)  # it would look for the others
    assert parse("--xpu_backend", "gloo").ddp_backend == "gloo"


@removed("dispatch_batches", "split_batches")
def test_names_that_moved_into_accelerates_settings():
    args = TrainingArguments(
        "out", dispatch_batches=False, split_batches=True, accelerator_config={"even_batches": False}
    )
    assert args.accelerator_config.dispatch_batches is False
    assert args.accelerator_config.split_batches is True
    assert args.accelerator_config.even_batches is False
    assert dataclasses.replace(args, seed=1).accelerator_config.split_batches is True
    with pytest.raises(PippinError, match="settings.json"):
        TrainingArguments("out", split_batches=True, accelerator_config="settings.json")
    with pytest.raises(PippinError, match=r"accelerator_config\['split_batches'\] contradict"):
        TrainingArguments("out", split_batches=True, accelerator_config={"split_batches": False})


@removed("fsdp_min_num_params")
def test_names_that_moved_into_the_settings_of_fsdp():
    args = TrainingArguments("out", fsdp_min_num_params=100, fsdp_transformer_layer_cls_to_wrap="BertLayer")
    assert args.fsdp_config["min_num_params"] == 100
    assert args.fsdp_config["auto_wrap_policy"] == "SIZE_BASED_WRAP"
    assert args.fsdp_config["transformer_layer_cls_to_wrap"] in ("BertLayer", ["BertLayer"])


@removed("warmup_ratio")
def test_warm_up_by_share():
    assert TrainingArguments("out", warmup_ratio=0.1).get_warmup_steps(50) == 5
    assert TrainingArguments("out", warmup_ratio=1.0).get_warmup_steps(50) == 50
    both = TrainingArguments("out", warmup_ratio=0.1, warmup_steps=7)
    assert both.get_warmup_steps(50) == 7, "as in every release that had both"
    with pytest.raises(PippinError, match=r"warmup_ratio=10: .* warmup_steps"):
        TrainingArguments("out", warmup_ratio=10)


@removed("no_cuda")
def test_optimisers_that_transformers_dropped():
    assert TrainingArguments("out", optim="adamw_hf").optim == "adamw_torch"
    with pytest.raises(ValueError, match="adamw_hff"):
        TrainingArguments("out", optim="adamw_hff")


@removed("no_cuda")
def test_no_tracker_is_none_of_them():
    assert TrainingArguments("out", report_to=None).report_to == []


@pytest.mark.parametrize(
    "given",
    [
        {"evaluation_strategy": "epoch", "eval_strategy": "steps"},
        {"per_gpu_train_batch_size": 16, "per_device_train_batch_size": 4},
        {"group_by_length": True, "train_sampling_strategy": "sequential"},
        {"adafactor": True, "optim": "sgd"},
        {"warmup_ratio": 0.1, "warmup_steps": 0.2},
        {"push_to_hub_model_id": "a/b", "hub_model_id": "a/c"},
    ],
    ids=lambda given: next(iter(given)),
)
def test_contradictions_name_both_and_what_to_give(given):
    former, today = given
    if former not in MISSING:
        pytest.skip("transformers still has it")
    with pytest.raises(
        PippinError, match=f"^{former} and {today} contradict each other .* Give {today} alone"
    ) as error:
        TrainingArguments("out", **given)
    assert all(str(value) in str(error.value) or value is True for value in given.values())


@removed("evaluation_strategy", "include_tokens_per_second")
def test_the_same_in_both_spellings_is_fine():
    args = TrainingArguments("out", evaluation_strategy="epoch", eval_strategy="epoch", no_cuda=True, use_cpu=True)
    assert args.eval_strategy == "epoch"
    counted = TrainingArguments("out", include_tokens_per_second=True, include_num_input_tokens_seen="non_padding")
    assert counted.include_num_input_tokens_seen == "non_padding"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"save_safetensors": False}, "never pickled. Leave it out"),
        ({"half_precision_backend": "apex"}, "Use fp16=True alone"),
        ({"past_index": 0}, "past_index=0"),
        ({"sharded_ddp": "simple"}, "Use fsdp"),
        ({"tp_size": 2}, "tp_plan='auto'"),
        ({"fp16": True, "use_cpu": True}, "fp16=True: float16 training needs a GPU"),
        ({"tf32": True, "use_cpu": True}, "tf32=True: only NVIDIA GPUs have TF32. Leave it out"),
    ],
    ids=lambda given: next(iter(given)) if isinstance(given, dict) else "",
)
def test_refused(given, words):
    if not set(given) & set(REMOVED) <= set(MISSING):
        pytest.skip("transformers still has it")
    with pytest.raises(PippinError) as error:
        TrainingArguments("out", **given)
    assert words in str(error.value)


@removed("save_safetensors", "evaluation_strategy")
def test_all_mistakes_at_once():
    with pytest.raises(Mistakes) as error:
        parse("--no_save_safetensors", "--past_index", 3, "--evaluation_strategy", "epoch", "--eval_strategy", "steps")
    assert len(error.value.mistakes) == 3


def test_without_accelerate_it_says_what_to_type(monkeypatch):
    monkeypatch.setattr(arguments, "is_accelerate_available", lambda: False)
    with pytest.raises(PippinError, match=r"pip install 'pippin\[trainer\]'"):
        TrainingArguments("out")


@dataclasses.dataclass
class OwnArguments(TrainingArguments):
    extra: int = 1
    eval_strategy: str = "epoch"
    per_device_train_batch_size: int = 4


@removed("evaluation_strategy", "per_gpu_train_batch_size")
def test_a_class_of_the_users():
    args = parse("--extra", 2, "--per_gpu_train_batch_size", 16, "--hub_token", "s3cret", kind=OwnArguments)
    assert (args.extra, args.per_device_train_batch_size, args.eval_strategy) == (2, 16, "epoch")
    assert OwnArguments("out").per_device_train_batch_size == 4
    assert "s3cret" not in repr(args) + str(args)
    assert pickle.loads(pickle.dumps(args)) == args


@pytest.mark.parametrize("kind", [TrainingArguments, Seq2SeqTrainingArguments, OwnArguments])
def test_tokens_are_not_shown(kind):
    args = kind("out", hub_token="s3cret", push_to_hub_token="s3cret")
    assert "s3cret" not in repr(args) + str(args) + args.to_json_string() + str(args.to_sanitized_dict())


@removed("evaluation_strategy")
def test_sequences_to_sequences():
    args = parse("--predict_with_generate", "--evaluation_strategy", "epoch", kind=Seq2SeqTrainingArguments)
    assert isinstance(args, TrainingArguments)
    assert args.predict_with_generate
    assert args.eval_strategy == "epoch"


@removed("evaluation_strategy", "include_inputs_for_metrics")
def test_copies():
    args = TrainingArguments("out", evaluation_strategy="epoch", warmup_ratio=0.1, include_inputs_for_metrics=True)
    for twin in (copy.deepcopy(args), pickle.loads(pickle.dumps(args)), dataclasses.replace(args)):
        assert twin == args
    stream = io.BytesIO()
    torch.save(args, stream)
    stream.seek(0)
    assert torch.load(stream, weights_only=False) == args


@removed("evaluation_strategy", "warmup_ratio")
def test_copies_with_a_change():
    args = TrainingArguments("out", evaluation_strategy="epoch", warmup_ratio=0.1)
    changed = dataclasses.replace(args, eval_strategy="steps", warmup_steps=5)
    assert (changed.eval_strategy, changed.evaluation_strategy, changed.warmup_steps) == ("steps", "steps", 5)
    assert dataclasses.replace(TrainingArguments("out", use_cpu=True), use_cpu=False).use_cpu is False
    assert "TENSORBOARD_LOGGING_DIR" not in os.environ, "a folder that nobody gave is not handed over"


@removed("evaluation_strategy", "logging_dir")
def test_dicts():
    args = TrainingArguments("out", evaluation_strategy="epoch", logging_dir="logs")
    read = json.loads(args.to_json_string())
    assert (read["evaluation_strategy"], read["eval_strategy"], read["logging_dir"]) == ("epoch", "epoch", "logs")
    assert args.to_sanitized_dict()["train_batch_size"] == 8


def test_importing_pippin_does_not_import_transformers():
    code = (
        "import sys, pippin, pippin.drop_in.fields; sys.exit('transformers' in sys.modules or 'torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
