"""Checkpoints of a script are whole or not there, a script that dies leaves one, and taking it up changes nothing."""

from __future__ import annotations

import json
import os
import shutil
import signal

import pytest
import torch
from safetensors.torch import load_file
from small_trainer import Rows, arguments, figures, small_model

pytest.importorskip("accelerate")

from transformers import TrainerCallback  # noqa: E402

from pippin.drop_in import checkpoints, notices  # noqa: E402
from pippin.drop_in import trainer as trainer_module  # noqa: E402
from pippin.drop_in.trainer import Trainer  # noqa: E402
from pippin.errors import PippinError  # noqa: E402


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch):
    monkeypatch.setattr(notices, "_said", set())


@pytest.fixture
def make(tmp_path):
    """A Trainer with dropout, whose runs differ as soon as one random number does."""

    def trainer(callback=None, folder="run", kind=Trainer, **settings):
        asked = {"save_strategy": "steps", "save_steps": 5, "eval_strategy": "no", **settings}
        return kind(
            model=small_model(dropout=0.2),
            args=arguments(tmp_path / folder, **asked),
            train_dataset=Rows(43),
            eval_dataset=Rows(12, seed=1),
            callbacks=[callback] if callback else None,
        )

    return trainer


class At(TrainerCallback):
    """Does something at one event of one step."""

    def __init__(self, step, act, event="on_step_begin"):
        self.step, self.act, self.done = step, act, False
        setattr(self, event, self._act)

    def _act(self, args, state, control, **_):
        if state.global_step == self.step and not self.done:
            self.done = True
            self.act()


def fail(error):
    def act():
        raise error

    return act


def weights(trainer):
    return {name: tensor.detach().cpu().clone() for name, tensor in trainer.model.state_dict().items()}


def assert_same_weights(one, other):
    assert all(torch.equal(one[name], other[name]) for name in one)


@pytest.fixture
def uninterrupted(make):
    trainer = make(folder="whole")
    trainer.train()
    return weights(trainer)


@pytest.mark.parametrize(
    ("act", "error"),
    [
        (fail(RuntimeError("the script's own trouble")), RuntimeError),
        (fail(SystemExit(3)), SystemExit),
        (lambda: os.kill(os.getpid(), signal.SIGINT), KeyboardInterrupt),
    ],
    ids=["raises", "sys.exit", "Ctrl-C"],
)
def test_a_script_that_dies_leaves_a_checkpoint_and_goes_on_to_the_same_result(make, uninterrupted, act, error, capsys):
    trainer = make(At(7, act))
    with pytest.raises(error):
        trainer.train()
    assert sorted(os.listdir(trainer.args.output_dir)) == ["checkpoint-5", "checkpoint-7"]
    assert "step 7 is saved" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    again = make()
    again.train(resume_from_checkpoint=True)
    assert_same_weights(weights(again), uninterrupted)


@pytest.mark.parametrize("event", ["on_pre_optimizer_step", "on_optimizer_step"])
def test_ctrl_c_within_an_update_waits_for_its_end(make, uninterrupted, event):
    trainer = make(At(6, lambda: os.kill(os.getpid(), signal.SIGINT), event))
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    assert trainer.state.global_step == 7
    again = make()
    again.train(resume_from_checkpoint="True")  # as a flag gives it
    assert_same_weights(weights(again), uninterrupted)


def test_an_update_that_fails_leaves_no_checkpoint_of_half_of_it(make):
    trainer = make(At(6, fail(RuntimeError()), "on_optimizer_step"))
    with pytest.raises(RuntimeError):
        trainer.train()
    assert os.listdir(trainer.args.output_dir) == ["checkpoint-5"]


def test_a_script_without_checkpoints_gets_none(make):
    trainer = make(At(6, fail(RuntimeError())), save_strategy="no")
    with pytest.raises(RuntimeError):
        trainer.train()
    assert os.listdir(trainer.args.output_dir) == []


def test_a_scripts_own_handlers_stay(make):
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    try:
        make(At(3, lambda: os.kill(os.getpid(), signal.SIGINT)), max_steps=5).train()
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [1]


def test_a_save_that_fails_leaves_nothing_of_itself(make):
    trainer = make()

    def full(folder):
        raise OSError(28, "No space left on device")

    trainer._save_rng_state = full
    with pytest.raises(OSError, match="No space"):
        trainer.train()
    assert os.listdir(trainer.args.output_dir) == []


@pytest.mark.parametrize("damage", ["model.safetensors", "optimizer.pt", "trainer_state.json"])
@pytest.mark.parametrize("theirs", [False, True], ids=["ours", "theirs"])
def test_what_is_damaged_is_passed_over(make, tmp_path, damage, theirs, capsys):
    trainer = make()
    trainer.train()
    last = tmp_path / "run" / "checkpoint-12"
    if theirs:
        for path in (tmp_path / "run").glob("*/manifest.json"):
            path.unlink()
    with (last / damage).open("r+b") as file:
        file.truncate((last / damage).stat().st_size // 2)
    found = checkpoints.newest(tmp_path / "run")
    assert found.path == tmp_path / "run" / "checkpoint-10"
    assert found.passed_over[0][0] == "checkpoint-12"
    again = make()
    again.train(resume_from_checkpoint=True)
    assert "skipped checkpoint-12" in capsys.readouterr().err
    assert_same_weights(weights(again), weights(trainer))


def test_a_shorter_run_in_the_same_folder_is_the_newest(make, tmp_path):
    make().train()
    with pytest.raises(RuntimeError):
        make(At(6, fail(RuntimeError())), save_steps=3).train()
    assert checkpoints.newest(tmp_path / "run").path == tmp_path / "run" / "checkpoint-6"


def test_a_finished_run_trains_no_further_step(make):
    trainer = make(max_steps=8, lr_scheduler_type="constant")
    trainer.train()
    again = make(max_steps=8, lr_scheduler_type="constant")
    found = again.train(resume_from_checkpoint=True)
    assert found.global_step == 8
    assert_same_weights(weights(again), weights(trainer))


def test_old_checkpoints_go_and_the_best_stays(make, tmp_path):
    trainer = make(
        save_steps=3,
        eval_strategy="steps",
        eval_steps=3,
        save_total_limit=2,
        load_best_model_at_end=True,
        metric_for_best_model="eval_loss",
    )
    trainer.train()
    losses = figures(trainer, "eval_loss")[0]
    best = 3 * (losses.index(min(losses)) + 1)
    assert trainer.state.best_model_checkpoint == str(tmp_path / "run" / f"checkpoint-{best}")
    kept = sorted(path.name for path in (tmp_path / "run").iterdir())
    assert kept == sorted({"checkpoint-12", f"checkpoint-{best}"} | ({"checkpoint-9"} if best == 12 else set()))
    state = json.loads((tmp_path / "run" / f"checkpoint-{best}" / "trainer_state.json").read_text())
    assert state["best_model_checkpoint"] == trainer.state.best_model_checkpoint
    assert_same_weights(load_file(tmp_path / "run" / f"checkpoint-{best}" / "model.safetensors"), weights(trainer))


@pytest.mark.emulated_mps
def test_layers_that_are_computed_twice_drop_out_the_same(make):
    plain = make(folder="plain", max_steps=2)
    plain.train()
    recomputed = make(folder="recomputed", max_steps=2, gradient_checkpointing=True)
    recomputed.train()
    assert figures(recomputed, "grad_norm")[0] == pytest.approx(figures(plain, "grad_norm")[0], rel=1e-4)


def test_nothing_that_can_be_trusted_is_said(make, tmp_path):
    make(max_steps=5).train()
    with (tmp_path / "run" / "checkpoint-5" / "model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"x")
    with pytest.raises(PippinError, match="all of its checkpoints are damaged"):
        make().train(resume_from_checkpoint=True)


def test_copies_of_transformers_own_checkpoints_count_by_their_step(tmp_path):
    for step in (1000, 500):  # in the order of an archive
        folder = tmp_path / f"checkpoint-{step}"
        folder.mkdir()
        (folder / "trainer_state.json").write_text("{}")
        os.utime(folder / "trainer_state.json", (2000 - step, 2000 - step))
    assert checkpoints.newest(tmp_path).path == tmp_path / "checkpoint-1000"


def test_what_stands_beside_a_checkpoints_files_stays(make, tmp_path):
    class Extra(Trainer):
        def _save_checkpoint(self, model, trial):
            folder = tmp_path / "run" / f"checkpoint-{self.state.global_step}"
            folder.mkdir(parents=True)
            (folder / "averages.bin").write_text("mine")
            super()._save_checkpoint(model, trial)

    make(kind=Extra, max_steps=5).train()
    assert (tmp_path / "run" / "checkpoint-5" / "averages.bin").read_text() == "mine"
    assert (tmp_path / "run" / "checkpoint-5" / "model.safetensors").exists()


def test_a_kill_between_two_names_loses_neither(tmp_path):
    staging = tmp_path / ".checkpoint-5-0123456789abcdef.partial"
    (staging / "replaced").mkdir(parents=True)
    (staging / "replaced" / "trainer_state.json").write_text("{}")
    assert checkpoints.newest(tmp_path).path == tmp_path / "checkpoint-5"
    assert not staging.exists()


def test_dying_again_at_the_same_step_saves_again(make, tmp_path):
    written = []
    for _ in range(2):
        with pytest.raises(RuntimeError):
            make(At(3, fail(RuntimeError()))).train()
        written.append((tmp_path / "run" / "checkpoint-3" / "manifest.json").stat().st_mtime_ns)
    assert written[0] < written[1]


def test_a_step_is_repeated_from_the_random_state_that_an_evaluation_left(make):
    settings = {"eval_strategy": "steps", "eval_steps": 1, "save_steps": 1000}
    whole = make(folder="whole", **settings)
    whole.train()
    with pytest.raises(RuntimeError):
        make(At(3, fail(RuntimeError())), **settings).train()
    again = make(**settings)
    again.train(resume_from_checkpoint=True)
    assert_same_weights(weights(again), weights(whole))


def test_the_best_weights_are_not_taken_for_the_last_steps(make, tmp_path):
    def forget():
        for path in (tmp_path / "run").glob("checkpoint-12"):
            shutil.rmtree(path)
        raise RuntimeError

    trainer = make(
        At(12, forget, "on_train_end"), eval_strategy="steps", eval_steps=3, save_steps=3, load_best_model_at_end=True
    )
    with pytest.raises(RuntimeError):
        trainer.train()
    assert not (tmp_path / "run" / "checkpoint-12").exists()


def test_termination_saves_before_the_process_dies_by_it(make, uninterrupted, tmp_path, monkeypatch):
    class Died(BaseException):
        pass

    monkeypatch.setattr(trainer_module, "die_by_termination", fail(Died()))
    with pytest.raises(Died):
        make(At(7, lambda: os.kill(os.getpid(), signal.SIGTERM))).train()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert (tmp_path / "run" / "checkpoint-7" / "manifest.json").exists()
    again = make()
    again.train(resume_from_checkpoint=True)
    assert_same_weights(weights(again), uninterrupted)
