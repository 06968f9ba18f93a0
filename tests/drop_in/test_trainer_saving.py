"""A script's saving hooks and callbacks see what transformers shows them; large files are written beside the steps."""

from __future__ import annotations

import os
import shutil
import threading

import pytest
import torch
import transformers
from small_trainer import Rows, arguments, figures, small_model
from transformers import TrainerCallback

pytest.importorskip("accelerate")

from pippin.drop_in import checkpoints, later, notices, saving  # noqa: E402
from pippin.drop_in.arguments import TrainingArguments  # noqa: E402
from pippin.drop_in.trainer import Trainer  # noqa: E402
from pippin.runs.checkpoints.manifest import problem_of, read  # noqa: E402


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch):
    monkeypatch.setattr(notices, "_said", set())
    monkeypatch.setattr(later, "_LARGE", 1)


@pytest.fixture
def make(tmp_path):
    def trainer(kind=Trainer, folder="run", callbacks=None, rows=43, args=None, **settings):
        asked = {"save_strategy": "steps", "save_steps": 4, "eval_strategy": "no", **settings}
        return kind(
            model=small_model(dropout=0.2),
            args=args or arguments(tmp_path / folder, **asked),
            train_dataset=Rows(rows),
            eval_dataset=Rows(6),
            callbacks=callbacks,
        )

    return trainer


@pytest.fixture
def threads(monkeypatch):
    """By step, whether its checkpoint was finished by the thread that trains."""
    found = {}
    usual = saving.SavesCheckpoints._finish_checkpoint

    def finish(self, transaction, *others):
        found[transaction.step] = threading.current_thread() is threading.main_thread()
        usual(self, transaction, *others)

    monkeypatch.setattr(saving.SavesCheckpoints, "_finish_checkpoint", finish)
    return found


def hooked(theirs):
    """A Trainer that notes what its hooks are told."""

    class Hooked(theirs):
        def __init__(self, *arguments, **named):
            super().__init__(*arguments, **named)
            self.told = []

        def save_model(self, output_dir=None, _internal_call=False):
            self.told.append(("save_model", output_dir, _internal_call))
            super().save_model(output_dir, _internal_call)
            self.told.append(sorted(os.listdir(output_dir)))

        def _save(self, output_dir=None, state_dict=None):
            self.told.append(("_save", output_dir, state_dict))
            super()._save(output_dir, state_dict)
            with open(os.path.join(output_dir, "own.txt"), "w") as file:
                file.write(f"step {self.state.global_step}")

    return Hooked


def test_hooks_are_told_the_place_that_transformers_tells_them(make, tmp_path):
    told = []
    for kind in (transformers.Trainer, Trainer):
        trainer = make(hooked(kind), save_total_limit=1)
        trainer.train()
        told.append(trainer.told)
        if kind is transformers.Trainer:
            shutil.rmtree(tmp_path / "run")
    assert told[0] == told[1]
    assert sorted(os.listdir(tmp_path / "run")) == ["checkpoint-12"]
    assert problem_of(tmp_path / "run" / "checkpoint-12") is None
    assert "own.txt" in read(tmp_path / "run" / "checkpoint-12").files


def test_a_model_with_its_own_way_to_save_is_told_too(make, tmp_path):
    told = []
    trainer = make()
    usual = trainer.model.save_pretrained

    def save_pretrained(folder, **named):
        usual(folder, **named)
        told.append((str(folder), os.path.exists(os.path.join(folder, "model.safetensors"))))

    trainer.model.save_pretrained = save_pretrained
    trainer.train()
    assert told == [(str(tmp_path / "run" / f"checkpoint-{step}"), True) for step in (4, 8, 12)]


def test_a_hook_that_fails_leaves_nothing_of_its_checkpoint(make, tmp_path):
    make(max_steps=8).train()
    before = (tmp_path / "run" / "checkpoint-8" / "manifest.json").read_bytes()

    class Fails(Trainer):
        def _save(self, output_dir=None, state_dict=None):
            super()._save(output_dir, state_dict)
            if self.state.global_step == 8:
                raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        make(Fails).train()
    assert sorted(os.listdir(tmp_path / "run")) == ["checkpoint-4", "checkpoint-8"]
    assert (tmp_path / "run" / "checkpoint-8" / "manifest.json").read_bytes() == before, (
        "what it was to replace is back"
    )
    assert problem_of(tmp_path / "run" / "checkpoint-8") is None


def kill_in_the_middle_of(trainer, step):
    """Train until a save, and stop within it as a kill would: nothing is cleared up."""

    class Killed(BaseException):
        pass

    def die(folder, usual=trainer._save_rng_state):
        if trainer.state.global_step == step:
            raise Killed
        usual(folder)

    trainer._save_rng_state = die
    trainer._save_before_leaving = lambda error: None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(saving.Transaction, "abandon", lambda self: None)
        with pytest.raises(Killed):
            trainer.train()


def test_a_kill_in_a_hook_is_not_gone_on_from(make, tmp_path, capsys):
    kill_in_the_middle_of(make(hooked(Trainer)), 8)
    assert (tmp_path / "run" / "checkpoint-8" / "model.safetensors").exists()
    again = make()
    again.train(resume_from_checkpoint=True)
    assert "skipped checkpoint-8" in capsys.readouterr().err
    whole = make(folder="whole")
    whole.train()
    assert_same_weights(again, whole)


def assert_same_weights(one, other):
    others = other.model.state_dict()
    assert all(torch.equal(tensor, others[name]) for name, tensor in one.model.state_dict().items())


class Alters(TrainerCallback):
    """Adds to a checkpoint, changes a file of it, and takes another away."""

    def on_save(self, args, state, control, **_):
        folder = f"{args.output_dir}/checkpoint-{state.global_step}"
        os.makedirs(f"{folder}/ema")
        with open(f"{folder}/ema/weights.bin", "w") as file:
            file.write("averages")
        with open(f"{folder}/config.json", "a") as file:
            file.write("\n")
        os.remove(f"{folder}/training_args.bin")


@pytest.mark.parametrize("kind", [Trainer, hooked(Trainer)], ids=["staged", "in place"])
def test_callbacks_may_change_a_checkpoint(make, tmp_path, kind):
    make(kind, callbacks=[Alters()], max_steps=8, save_total_limit=1).train()
    assert os.listdir(tmp_path / "run") == ["checkpoint-8"], "what a callback put into the older one went with it"
    assert problem_of(tmp_path / "run" / "checkpoint-8") is None
    assert "ema/weights.bin" in read(tmp_path / "run" / "checkpoint-8").files
    again = make(kind, callbacks=[Alters()])
    again.train(resume_from_checkpoint=True)
    assert again.state.global_step == 12


def test_what_was_sealed_and_is_not_changed_is_not_read_again(make, monkeypatch):
    class Looks(TrainerCallback):
        def on_save(self, args, state, control, **_):
            self.seen = os.listdir(f"{args.output_dir}/checkpoint-{state.global_step}")

    sealed = []
    monkeypatch.setattr("pippin.drop_in.transaction.seal", count(sealed, "pippin.runs.checkpoints.manifest.seal"))
    looks = Looks()
    make(callbacks=[looks], max_steps=4).train()
    assert "model.safetensors" in looks.seen
    assert len(sealed) == 1


def count(calls, place):
    from pippin.runs.checkpoints.manifest import seal

    def counted(*arguments, **named):
        calls.append(place)
        return seal(*arguments, **named)

    return counted


@pytest.mark.parametrize("every", [5, 7])
@pytest.mark.parametrize("accumulated", [1, 2])
def test_losses_are_logged_as_if_nothing_had_happened(make, every, accumulated):
    """A log tells of all steps since the last one, also where the run was broken off between the two."""
    settings = {"logging_steps": every, "gradient_accumulation_steps": accumulated, "num_train_epochs": 4}
    whole = make(folder="whole", **settings)
    whole.train()

    class Dies(TrainerCallback):
        def on_substep_end(self, args, state, control, **_):
            self.on_pre_optimizer_step(args, state, control)

        def on_pre_optimizer_step(self, args, state, control, **_):
            if state.global_step == 9:  # a loss of the next step is in the sum already
                raise RuntimeError

    with pytest.raises(RuntimeError):
        make(callbacks=[Dies()], **settings).train()
    again = make(**settings)
    found = again.train(resume_from_checkpoint=True)
    assert figures(again, "loss", "grad_norm", "learning_rate") == figures(whole, "loss", "grad_norm", "learning_rate")
    own = figures(whole, "loss")[0]
    assert found.training_loss == pytest.approx(sum(own) / len(own), rel=0.2), "the mean of the steps that it made"


def test_large_files_are_written_beside_the_steps(make, tmp_path, threads):
    trainer = make()
    trainer.train()
    assert threads == {4: False, 8: False, 12: True}, "at the end nothing goes on"
    assert all(problem_of(tmp_path / "run" / f"checkpoint-{step}") is None for step in (4, 8, 12))
    for step in (4, 8):
        again = make(folder=f"from {step}")
        again.train(resume_from_checkpoint=str(tmp_path / "run" / f"checkpoint-{step}"))
        assert_same_weights(again, trainer)
    assert not trainer._checkpoint_copies, "the memory is given back"


def test_what_is_written_beside_the_steps_is_what_transformers_writes(make, tmp_path, threads):
    for kind, folder in ((transformers.Trainer, "theirs"), (Trainer, "ours")):
        trainer = kind(
            model=small_model(),
            args=arguments(tmp_path / folder, save_strategy="steps", save_steps=3, eval_strategy="no", max_steps=5),
            train_dataset=Rows(43),
        )
        trainer.train()
    assert threads[3] is False
    theirs, ours = (tmp_path / side / "checkpoint-3" for side in ("theirs", "ours"))
    assert set(os.listdir(ours)) - set(os.listdir(theirs)) == {
        "manifest.json", "pippin_rng_state.safetensors", "pippin_state.json",
    }  # fmt: skip
    one, other = (torch.load(path / "optimizer.pt", map_location="cpu", weights_only=True) for path in (theirs, ours))
    assert other["param_groups"] == one["param_groups"]
    assert other["state"].keys() == one["state"].keys()
    for number, state in one["state"].items():
        for name, value in state.items():
            assert torch.allclose(other["state"][number][name], value, atol=1e-6)


class Own(TrainerCallback):
    def on_save(self, args, state, control, **_):
        pass


def around(theirs):
    class Around(theirs):
        def _save_checkpoint(self, model, trial):
            super()._save_checkpoint(model, trial)
            folder = f"{self.args.output_dir}/checkpoint-{self.state.global_step}"
            with open(f"{folder}/manifest_of_mine.txt", "w") as file:
                file.write("mine")

    return Around


@pytest.mark.parametrize(
    "case",
    [{"callbacks": [Own()]}, {"kind": hooked(Trainer)}, {"kind": around(Trainer)}],
    ids=["on_save", "hooks", "around"],
)
def test_who_looks_for_a_checkpoint_finds_it(make, threads, case, tmp_path):
    make(**case).train()
    assert set(threads.values()) == {True}
    for step in (4, 8, 12):
        assert problem_of(tmp_path / "run" / f"checkpoint-{step}") is None


def test_without_memory_for_a_copy_it_is_written_at_once(make, threads, monkeypatch):
    monkeypatch.setattr(saving, "available_memory", lambda: 1000)
    make().train()
    assert set(threads.values()) == {True}


def test_a_scripts_own_callback_never_runs_before_the_checkpoint_is_there(make, tmp_path, threads):
    seen = {}

    class Looks(TrainerCallback):
        def on_step_begin(self, args, state, control, **_):
            seen[state.global_step] = os.listdir(args.output_dir)

    make(callbacks=[Looks()]).train()
    assert threads[4] is False
    assert "checkpoint-4" in seen[4]
    assert "checkpoint-8" in seen[8]


def test_what_fails_beside_the_steps_is_raised(make, tmp_path, monkeypatch, capsys):
    def full(self):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(later.Later, "write", full)
    trainer = make()
    with pytest.raises(OSError, match="No space"):
        trainer.train()
    assert os.listdir(tmp_path / "run") == []
    assert trainer.state.global_step == 8, "the next save asks after the last one"
    assert "no checkpoint could be written" in capsys.readouterr().err


def test_what_fails_beside_the_last_steps_is_raised_too(make, monkeypatch):
    def full(self):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(later.Later, "write", full)
    with pytest.raises(OSError, match="No space"):
        make(max_steps=6, save_steps=4).train()


def test_a_token_is_in_no_file(make, tmp_path):
    args = TrainingArguments(
        str(tmp_path / "run"),
        hub_token="s3cret",
        push_to_hub_token="s3cret",
        max_steps=2,
        save_steps=1,
        report_to="none",
    )
    trainer = make(args=args)
    trainer.train()
    trainer.save_model()
    files = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert any(path.name == "training_args.bin" for path in files)
    assert [path.name for path in files if b"s3cret" in path.read_bytes()] == []
    assert trainer.args is args
    assert args.hub_token == args.push_to_hub_token == "s3cret"
    read = torch.load(tmp_path / "run" / "training_args.bin", weights_only=False)
    assert read.max_steps == 2
    assert read.hub_token is None


def test_settings_are_saved_as_they_are(make, tmp_path):
    make(max_steps=4, save_total_limit=3).train()
    read = torch.load(tmp_path / "run" / "checkpoint-4" / "training_args.bin", weights_only=False)
    assert read.save_total_limit == 3


def test_a_sign_that_transformers_takes_away_again_is_no_part_of_a_checkpoint(make, tmp_path):
    """As enable_jit_checkpoint does: a file says that a save is under way, and is removed behind it."""

    class Signs(Trainer):
        def _save_checkpoint(self, model, trial):
            folder = tmp_path / "run" / f"checkpoint-{self.state.global_step}"
            folder.mkdir(parents=True)
            (folder / "checkpoint-is-incomplete.txt").write_text("in progress")
            super()._save_checkpoint(model, trial)
            (folder / "checkpoint-is-incomplete.txt").unlink()

    make(Signs, max_steps=4).train()
    assert checkpoints.newest(tmp_path / "run").path == tmp_path / "run" / "checkpoint-4"
