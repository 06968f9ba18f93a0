"""A run that was interrupted goes on to the result that it would have had, bit for bit."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from runs_helpers import story, weights

from helpers import events, make_rows

# fmt: off
SETTINGS = {
    "plain": [],
    "accumulation": ["--gradient_accumulation_steps", 2, "--num_train_epochs", 4],
    "bf16": ["--bf16"],
    "plateau": ["--lr_scheduler_type", "reduce_lr_on_plateau", "--eval_strategy", "steps", "--eval_steps", 5],
    "best model": ["--load_best_model_at_end", "--eval_strategy", "steps", "--eval_steps", 4],
    "early stopping": ["--early_stopping_patience", 6, "--eval_strategy", "steps", "--eval_steps", 4,
                       "--num_train_epochs", 3],
    "checkpointing": ["--gradient_checkpointing"],
    "moments in bfloat16": ["--optim_state", "bf16"],
    # One row at a time: two rows a batch take as many steps, in a fraction of the time.
    "saved between steps": ["--memory_limit", 0.001, "--force", "--per_device_train_batch_size", 2,
                            "--max_train_samples", 26, "--max_steps", 24],
    "noise": ["--neftune_noise_alpha", "5"],
    "sgd": ["--optim", "sgd"],
    "adafactor": ["--optim", "adafactor"],
    "random order": ["--train_sampling_strategy", "random", "--dataloader_drop_last"],
    "saved often": ["--save_steps", 2, "--save_total_limit", 2],
}
# fmt: on


@pytest.mark.parametrize("flags", SETTINGS.values(), ids=SETTINGS)
def test_resumed_equals_uninterrupted(command, interrupt, run_cli, flags):
    flags = ["--num_train_epochs", 2, *flags]
    code, _, error = command("whole", *flags)
    assert code == 0, error
    interrupt(18)  # in the middle of the second epoch, and of a window of the log
    code, out, error = command("parts", *flags, "--logging_steps", 2)
    assert code == 143, error
    assert "stopped after step 18" in error
    assert "pippin resume parts" in error
    assert json.loads(Path("parts/run.json").read_text())["status"] == "interrupted"
    code, out, error = run_cli("resume", "parts", "--logging_steps", 3)
    assert code == 0, error
    assert "resuming from step-18" in out
    assert weights("parts") == weights("whole")
    late = [entry for entry in story("whole") if entry[1] > 21]
    assert [entry for entry in story("parts") if entry[1] > 21] == late
    whole, parts = (json.loads(Path(folder, "all_results.json").read_text()) for folder in ("whole", "parts"))
    for key in ("train_loss", "eval_loss", "eval_accuracy", "epoch"):
        assert whole[key] == parts[key], key
    record = json.loads(Path("parts/run.json").read_text())
    assert record["status"] == "finished"
    assert "from step 18" in record["resumed"][0]


def test_every_line_of_the_log_is_there_once(command, interrupt, run_cli):
    command("whole")
    for step in (9, 21, 30):
        interrupt(step)
        assert command("parts", "--resume")[0] == 143
    interrupt(-1)
    assert command("parts", "--resume")[0] == 0
    assert story("parts") == story("whole")
    assert weights("parts") == weights("whole")
    assert len(json.loads(Path("parts/run.json").read_text())["resumed"]) == 3


def test_at_the_end_of_an_epoch_and_after_the_last_step(command, interrupt, run_cli):
    command("whole", "--logging_steps", 14)
    for folder, step in (("epoch", 28), ("end", 42)):
        interrupt(step)
        assert command(folder, "--logging_steps", 14)[0] == 143
        assert run_cli("resume", folder)[0] == 0
        assert weights(folder) == weights("whole")
        assert story(folder) == story("whole")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=["INT", "TERM", "HUP"]
)
def test_signals_save_and_say_how_to_go_on(command, interrupt, number, code):
    def own(*_):
        raise AssertionError("not the run's own handler")

    before = signal.signal(number, own)  # whatever the tests were started with: nohup ignores SIGHUP
    try:
        interrupt(6, number)
        found, _, error = command("run")
        assert signal.getsignal(number) is own, "handlers are put back"
    finally:
        signal.signal(number, before)
    assert found == code
    assert "stopped after step 6 of 42, which is saved. To continue: pippin resume run" in error
    assert [path.name for path in Path("run/checkpoints").iterdir()] == ["step-6"]


def test_resume_on_a_new_folder_starts_from_the_beginning(command):
    assert command("whole")[0] == 0
    assert command("fresh", "--resume")[0] == 0
    assert command("asked", "--resume_from_checkpoint", "True")[0] == 0
    assert weights("fresh") == weights("asked") == weights("whole")


def test_without_the_flag_an_unfinished_run_is_not_touched(command, interrupt):
    interrupt(6)
    command("run")
    before = Path("run/run.json").read_bytes()
    code, _, error = command("run")
    assert code == 2
    assert "unfinished run" in error
    assert "--resume" in error
    assert Path("run/run.json").read_bytes() == before


def test_a_finished_run_trains_no_extra_step(command, run_cli):
    assert command("run")[0] == 0
    before = {path.name: path.read_bytes() for path in Path("run").iterdir() if path.is_file()}
    code, out, _ = run_cli("resume", "run")
    assert code == 0
    assert "run is finished" in out
    assert {path.name: path.read_bytes() for path in Path("run").iterdir() if path.is_file()} == before


def test_checkpoints_go_when_the_run_is_finished_unless_asked_for(command):
    command("plain")
    assert not Path("plain/checkpoints").exists()
    command("kept", "--save_steps", 20)
    assert [path.name for path in Path("kept/checkpoints").iterdir()] == ["step-42"]


def test_saved_by_time(command, monkeypatch):
    """A checkpoint at every step when no minutes may be lost."""
    saved = command("run", "--save_minutes", "1e-9", "--save_total_limit", 1)
    assert saved[0] == 0
    assert [event["step"] for event in events("run", "saved")] == list(range(1, 43))


def test_what_may_change_is_applied_and_said(command, interrupt, run_cli):
    interrupt(18)
    command("run")
    code, out, error = run_cli("resume", "run", "--learning_rate", "1e-4", "--num_train_epochs", "4")
    assert code == 0, error
    for words in ("learning rate 0.003 → 0.0001", "epochs 3.0 → 4.0", "steps 42 → 56"):
        assert f"from here on: {words}" in out
    rates = {event["step"]: event["learning_rate"] for event in events("run", "log")}
    assert rates[18] > 1e-3
    assert rates[21] < 1e-4, "the new rate holds from the checkpoint on"
    assert json.loads(Path("run/all_results.json").read_text())["epoch"] == 4.0


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--seed", 7], "seed 42 → 7"),
        (["--per_device_train_batch_size", 4], "batch size 8 → 4"),
        (["--max_seq_length", 16], "max length 64 → 16"),
        (["--optim", "sgd"], "optim adamw_torch_fused → sgd"),
        (["--bf16"], "precision fp32 → bf16"),
    ],
)
def test_what_would_be_nonsense_is_refused(command, interrupt, flags, words):
    interrupt(6)
    command("run", "--bf16", "false")
    before = {path: path.read_bytes() for path in Path("run").rglob("*") if path.is_file()}
    code, _, error = command("run", "--resume", *flags)
    assert code == 2
    assert words in error
    assert {path: path.read_bytes() for path in Path("run").rglob("*") if path.is_file()} == before


def test_other_rows_are_refused(command, interrupt, write_rows):
    interrupt(6)
    command("run")
    rows = make_rows(120)
    rows[17]["label"] = "food" if rows[17]["label"] != "food" else "tool"
    write_rows("words.csv", rows)
    code, _, error = command("run", "--resume")
    assert code == 2
    assert "rows, or the classes" in error
    write_rows("words.csv", [{**row, "label": row["label"].upper()} for row in make_rows(120)])
    code, _, error = command("run", "--resume")
    assert code == 2
    assert "rows, or the classes" in error


def test_damaged_checkpoints_are_passed_over_and_said(command, interrupt, run_cli):
    command("whole")
    interrupt(18)
    command("run", "--save_steps", 4, "--save_total_limit", 2)
    (newest,) = Path("run/checkpoints").glob("step-18")
    (newest / "optimizer.safetensors").write_bytes(b"")
    code, out, error = run_cli("resume", "run")
    assert code == 0, error
    assert "skipped step-18: optimizer.safetensors has 0 bytes" in out
    assert "resuming from step-16" in out
    assert weights("run") == weights("whole")


def test_a_damaged_best_model_is_never_kept(command, interrupt, run_cli):
    flags = [
        "--load_best_model_at_end",
        "--metric_for_best_model",
        "loss",
        "--eval_strategy",
        "steps",
        "--eval_steps",
        4,
    ]
    interrupt(18)
    command("run", *flags, "--num_train_epochs", 2)
    best = json.loads(Path("run/checkpoints/step-18/state.json").read_text())["best"]["step"]
    assert best in (4, 8, 12, 16)
    path = Path(f"run/checkpoints/step-{best}/model.safetensors")
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    # A rate that ruins the model makes sure that no later one is better.
    code, out, error = run_cli("resume", "run", "--learning_rate", "0.9")
    assert code == 0, error
    assert f"best model, from step {best}, cannot be restored (model.safetensors was changed or damaged)" in out
    assert json.loads(Path("run/report.json").read_text())["best_step"] == 28


def test_where_none_is_good_the_run_begins_again(command, interrupt, run_cli):
    command("whole")
    interrupt(18)
    command("run")
    (Path("run/checkpoints/step-18") / "state.json").write_text("{}")
    code, out, error = run_cli("resume", "run")
    assert code == 0, error
    assert ": state.json" in out
    assert "starting over" in out
    assert weights("run") == weights("whole")


def test_a_checkpoint_by_its_path(command, interrupt, run_cli):
    command("whole")
    interrupt(18)
    command("run", "--save_steps", 4, "--save_total_limit", 3)
    code, out, error = command("run", "--resume_from_checkpoint", "run/checkpoints/step-12")
    assert code == 0, error
    assert "resuming from step-12" in out
    assert weights("run") == weights("whole")
    code, _, error = command("other", "--resume_from_checkpoint", "nowhere")
    assert code == 2
    assert "nowhere: there is no such folder" in error
    assert not Path("other/run.json").exists()


def test_a_checkpoint_of_another_folder(command, interrupt):
    command("whole")
    interrupt(18)
    command("first")
    code, out, error = command("second", "--resume_from_checkpoint", "first/checkpoints/step-18")
    assert code == 0, error
    assert weights("second") == weights("whole")
    assert json.loads(Path("first/run.json").read_text())["status"] == "interrupted"


def test_resume_names_what_is_no_run(run_cli):
    Path("empty").mkdir()
    for words in (["empty"], ["nowhere"]):
        code, _, error = run_cli("resume", *words)
        assert code == 2
        assert "is not the folder of a run" in error
    assert run_cli("resume")[0] == 2
