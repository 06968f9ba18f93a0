"""Names that transformers dropped exist only where a script uses them; a script's own declaration means its own."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json
import os
import pickle
import sys

import pytest
import transformers.hf_argparser
from transformers import HfArgumentParser, TrainerCallback
from transformers import Seq2SeqTrainingArguments as TheirSeq2SeqArguments
from transformers import TrainingArguments as TheirArguments

from pippin.drop_in import notices
from pippin.drop_in.arguments import Seq2SeqTrainingArguments, TrainingArguments
from pippin.drop_in.fields import REMOVED
from pippin.drop_in.parsing import teach
from pippin.drop_in.translation import MISSING

pytest.importorskip("accelerate")
pytestmark = pytest.mark.skipif(
    not {"overwrite_output_dir", "logging_dir", "warmup_ratio", "no_cuda"} <= set(MISSING),
    reason="transformers still has them",
)


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch):
    monkeypatch.setattr(notices, "_said", set())
    for name in ("TENSORBOARD_LOGGING_DIR", "RAY_SCOPE"):
        monkeypatch.delenv(name, raising=False)


def parsed(*kinds, words=("--output_dir", "out")):
    return HfArgumentParser(kinds).parse_args_into_dataclasses(list(words), look_for_args_file=False)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(TrainingArguments, TheirArguments), (Seq2SeqTrainingArguments, TheirSeq2SeqArguments)],
    ids=["plain", "seq2seq"],
)
def test_nobody_sees_a_name_that_nobody_gave(ours, theirs, monkeypatch):
    own, other = ours("out"), theirs("out")
    assert list(own.to_dict()) == list(other.to_dict())
    assert own.to_json_string() == other.to_json_string()
    assert own.to_sanitized_dict() == other.to_sanitized_dict()
    assert [field.name for field in dataclasses.fields(own)] == [field.name for field in dataclasses.fields(other)]
    assert repr(own) == str(own) == str(other)
    assert inspect.signature(ours) == inspect.signature(theirs)
    assert inspect.signature(ours.__init__) == inspect.signature(theirs.__init__)
    monkeypatch.setattr(sys, "argv", ["train.py"])
    assert HfArgumentParser(ours).format_help() == HfArgumentParser(theirs).format_help()


def test_arguments_are_made_of_their_own_dict():
    """As TRL does it: hub_token is the only one of its kind that transformers has."""
    args = TrainingArguments("out", hub_token="t0ken")
    given = {**args.to_dict(), "hub_token": args.hub_token}
    again = TrainingArguments(**given)
    assert again == args
    assert again.hub_token == "t0ken"
    assert TrainingArguments(**TrainingArguments("out").to_dict()).to_dict() == TrainingArguments("out").to_dict()


GIVEN = {
    "evaluation_strategy": "epoch",
    "warmup_ratio": 0.1,
    "overwrite_output_dir": True,
    "no_cuda": True,
    "logging_dir": "logs",
    "per_gpu_train_batch_size": 4,
    "dispatch_batches": False,
    "fsdp_min_num_params": 100,
    "tpu_metrics_debug": True,
    "push_to_hub_organization": "us",
    "push_to_hub_token": "t0ken",
    "include_inputs_for_metrics": True,
}


@pytest.mark.parametrize("name", [*GIVEN, None])
def test_a_name_that_was_given_is_seen_and_goes_round(name):
    given = {name: GIVEN[name]} if name else GIVEN
    args = TrainingArguments("out", **given)
    shown = args.to_dict()
    assert set(shown) - set(TheirArguments("out").to_dict()) == set(given)
    assert {name: value for name, value in shown.items() if name in given} == {
        name: "<PUSH_TO_HUB_TOKEN>" if name == "push_to_hub_token" else value for name, value in given.items()
    }
    assert all(f"{former}=" in repr(args) for former in given)
    assert "t0ken" not in repr(args) + args.to_json_string()
    assert set(given) <= {field.name for field in dataclasses.fields(args)}
    again = TrainingArguments(**{**shown, "hub_token": args.hub_token})
    assert again == args
    assert again.hub_token == args.hub_token
    for twin in (copy.deepcopy(args), copy.copy(args), pickle.loads(pickle.dumps(args))):
        assert twin == args
        assert twin.to_dict() == shown
        assert {former: getattr(twin, former) for former in given} == given
    assert dataclasses.replace(args, seed=1).no_cuda == args.no_cuda


def test_a_copy_with_a_change_follows_the_change():
    args = TrainingArguments("out", per_gpu_train_batch_size=16, no_cuda=True, overwrite_output_dir=True)
    changed = dataclasses.replace(args, per_device_train_batch_size=4)
    assert changed.per_device_train_batch_size == 4
    assert changed.overwrite_output_dir is True


def test_help_names_a_former_flag_where_it_is_given(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["train.py", "--no_cuda", "--help"])
    parser = HfArgumentParser(TrainingArguments)
    with pytest.raises(SystemExit):
        parser.parse_args_into_dataclasses()
    text = " ".join(parser.format_help().split())
    assert "Gone since transformers 5.0. Now `use_cpu`: no GPU of any kind is used." in text
    assert "overwrite_output_dir" not in text


@dataclasses.dataclass
class OwnSettings:
    """What a script of today may declare, since transformers no longer does."""

    overwrite_output_dir: bool = False
    logging_dir: str = "mine"
    warmup_ratio: float = 0.25
    no_cuda: bool = False


@pytest.mark.parametrize("kinds", [(OwnSettings, TrainingArguments), (TrainingArguments, OwnSettings)])
def test_a_scripts_own_class_declares_a_former_name(kinds):
    given = ["--output_dir", "out", "--warmup_ratio", "0.5", "--no_cuda", "--evaluation_strategy", "epoch"]
    found = dict(zip((kind.__name__ for kind in kinds), parsed(*kinds, words=given), strict=True))
    own, args = found["OwnSettings"], found["TrainingArguments"]
    assert (own.warmup_ratio, own.no_cuda, own.logging_dir) == (0.5, True, "mine")
    assert (args.warmup_steps, args.use_cpu, args.eval_strategy) == (0, False, "epoch")
    own, args = HfArgumentParser((OwnSettings, TrainingArguments)).parse_dict(
        {"output_dir": "out", "warmup_ratio": 0.5, "evaluation_strategy": "epoch"}
    )
    assert (own.warmup_ratio, args.warmup_steps, args.eval_strategy) == (0.5, 0, "epoch")


def test_a_flag_that_the_script_adds_itself():
    parser = HfArgumentParser(TrainingArguments)
    parser.add_argument("--logging_dir", default="mine")
    args, rest = parser.parse_args_into_dataclasses(["--output_dir", "out", "--logging_dir", "x"], False, False)
    assert rest.logging_dir == "x"
    assert "logging_dir" not in args.to_dict()


def test_a_copy_of_the_parser_can_be_taught():
    """TRL brings one."""
    copied = {"__name__": "a_copy"}
    exec(inspect.getsource(transformers.hf_argparser), copied)
    parser = copied["HfArgumentParser"](TrainingArguments)
    given = ["--output_dir", "out", "--evaluation_strategy", "epoch"]
    with pytest.raises(ValueError, match="--evaluation_strategy"):
        parser.parse_args_into_dataclasses(given, look_for_args_file=False)
    teach(copied["HfArgumentParser"])
    (args,) = parser.parse_args_into_dataclasses(given, look_for_args_file=False)
    assert args.eval_strategy == "epoch"


def test_a_parser_is_used_twice():
    parser = HfArgumentParser(TrainingArguments)
    (first,) = parser.parse_args_into_dataclasses(["--output_dir", "out", "--no_cuda"], look_for_args_file=False)
    (second,) = parser.parse_args_into_dataclasses(["--output_dir", "out"], look_for_args_file=False)
    assert first.use_cpu
    assert not second.use_cpu
    assert "no_cuda" not in second.to_dict()
    (third,) = parser.parse_dict({"output_dir": "out", "overwrite_output_dir": True})
    assert third.overwrite_output_dir
    assert parser.dataclass_types == [TrainingArguments]


def test_what_no_class_takes_is_still_refused():
    with pytest.raises(ValueError, match="evaluation_strategy"):
        HfArgumentParser(OwnSettings).parse_dict({"evaluation_strategy": "no", "no_cuda": True, "output_dir": "x"})
    with pytest.raises(ValueError, match="--output_dirr"):
        parsed(TrainingArguments, words=["--output_dirr", "x", "--no_cuda"])
    with pytest.raises(TypeError, match="nonsense"):
        TrainingArguments("out", nonsense=1)


@dataclasses.dataclass
class OwnWarmup(TrainingArguments):
    warmup_ratio: float = 0.1
    evaluation_strategy: str = "sometimes"


def test_a_subclass_declares_a_former_name_and_means_its_own(capsys, monkeypatch):
    OwnWarmup("out")
    assert "warmup_ratio" not in capsys.readouterr().err, "a library's own"
    monkeypatch.setattr(OwnWarmup, "__module__", "__main__")
    for args in (OwnWarmup("out"), *parsed(OwnWarmup), OwnWarmup("out", warmup_ratio=0.3)):
        assert args.get_warmup_steps(100) == 0
        assert args.eval_strategy == "no"
        assert args.evaluation_strategy == "sometimes"
    assert args.warmup_ratio == 0.3
    assert list(args.to_dict())[-2:] == ["warmup_ratio", "evaluation_strategy"]
    assert capsys.readouterr().err.count("warmup_ratio is defined by OwnWarmup itself") == 1


class ByHand(TrainingArguments):
    """Not a dataclass, as people write them."""

    def __init__(self, folder, no_cuda="mine", **others):
        super().__init__(folder, overwrite_output_dir=True, **others)
        self.no_cuda = no_cuda


def test_a_subclass_with_an_init_of_its_own():
    args = ByHand("out", evaluation_strategy="epoch")
    assert (args.no_cuda, args.use_cpu, args.overwrite_output_dir, args.eval_strategy) == ("mine", False, True, "epoch")


class Property(TrainingArguments):
    @property
    def logging_dir(self):
        return "mine"


def test_a_subclass_with_a_property_of_that_name():
    assert Property("out").logging_dir == "mine"


def test_an_error_within_a_property_is_not_hidden():
    class Broken(TrainingArguments):
        @property
        def mine(self):
            return self.nothing_of_that_name

    with pytest.raises(AttributeError, match="nothing_of_that_name"):
        _ = Broken("out").mine


@pytest.mark.parametrize("name", sorted(set(MISSING) - {"evaluation_strategy", "logging_dir"}))
def test_a_name_that_was_not_given_reads_as_it_always_did(name):
    args = TrainingArguments("out")
    assert getattr(args, name) == REMOVED[name].default
    assert name not in vars(args)


def tensorboard(folder=None):
    """transformers' callback as it is made, without tensorboard."""
    from transformers.integrations import TensorBoardCallback

    made = TensorBoardCallback.__new__(TensorBoardCallback)
    made.logging_dir, made.tb_writer, made._SummaryWriter = folder, None, None
    return made


def test_a_folder_for_logs_is_that_of_its_own_trainer(tmp_path):
    from small_trainer import small_model

    from pippin.drop_in.trainer import Trainer

    first, second, users = tensorboard(), tensorboard(), tensorboard("users")
    for args, callbacks in (
        (TrainingArguments(tmp_path, logging_dir="~/logs"), [first, users]),
        (TrainingArguments(tmp_path), [second]),
    ):
        Trainer(model=small_model(), args=args, callbacks=callbacks)
    assert first.logging_dir == os.path.expanduser("~/logs")
    assert users.logging_dir == "users"
    assert second.logging_dir is None
    assert "TENSORBOARD_LOGGING_DIR" not in os.environ
    assert args.logging_dir == os.path.join(tmp_path, "runs")
    late = tensorboard()
    trainer = Trainer(model=small_model(), args=TrainingArguments(tmp_path, logging_dir="late"))
    trainer.add_callback(late)
    assert late.logging_dir == "late"


def test_the_scope_of_a_search_is_that_of_its_own_trainer(tmp_path, monkeypatch):
    from small_trainer import small_model
    from transformers import Trainer as TheirTrainer

    from pippin.drop_in.trainer import Trainer

    seen = []
    monkeypatch.setattr(TheirTrainer, "hyperparameter_search", lambda self: seen.append(os.environ.get("RAY_SCOPE")))
    for args in (TrainingArguments(tmp_path, ray_scope="all"), TrainingArguments(tmp_path)):
        Trainer(model=small_model(), args=args).hyperparameter_search()
    assert seen == ["all", None]


def test_callbacks_read_a_former_name(tmp_path):
    class Reads(TrainerCallback):
        def on_init_end(self, args, state, control, **_):
            self.seen = args.logging_dir, args.evaluation_strategy, json.dumps(args.to_dict()) != ""

    from small_trainer import small_model

    from pippin.drop_in.trainer import Trainer

    reads = Reads()
    Trainer(model=small_model(), args=TrainingArguments(tmp_path), callbacks=[reads])
    assert reads.seen == (os.path.join(tmp_path, "runs"), "no", True)
