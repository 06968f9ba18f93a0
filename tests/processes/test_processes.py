"""Several processes at one job: the same weights whatever their number, and nothing is lost with one of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from every_job import JOBS
from groups import children, finished, outcome, read_until
from nursery import Forked

from pippin.machine.network import free_port

PROGRAM = Path(__file__).parent / "every_job.py"
Start = Callable[..., subprocess.Popen[str]]
TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--standalone")


def test_any_number_of_processes_ends_with_the_same_weights(every_job):
    """For every kind of job, with dropout; also where the shards cannot be dealt out evenly."""
    finished(*every_job("of1", 1), *every_job("of2", 2), *every_job("of4", 4))
    finished(*every_job("of3", 3, "jobs=classes,tokens"), *every_job("alone", 0, "jobs=classes", "reduce=exact"))
    for job in JOBS:
        assert outcome(f"of1/{job}") == outcome(f"of2/{job}") == outcome(f"of4/{job}"), job
    for job in ("classes", "tokens"):
        assert outcome(f"of3/{job}") == outcome(f"of1/{job}")
    assert outcome("alone/classes") == outcome("of1/classes"), "no launcher is needed"
    assert Path("of1/classes/predictions.csv").read_text() == Path("of4/classes/predictions.csv").read_text()
    plan = json.loads(Path("of2/classes/run.json").read_text())["plan"]
    assert plan["execution"]["processes"]["value"] == 2
    assert plan["batches"]["batch_size"]["value"] == 13


def test_fast_sums_are_the_same_but_for_their_last_digits(every_job):
    """Without dropout, which draws other numbers."""
    settings = ("jobs=classes,tokens", "reduce=fast", "batch_size=12")
    finished(*every_job("of2", 2, *settings), *every_job("alone", 0, "jobs=classes,tokens", "batch_size=12"))
    for job in ("classes", "tokens"):
        (_, two), (_, one) = outcome(f"of2/{job}"), outcome(f"alone/{job}")
        assert two["train_loss"] == pytest.approx(one["train_loss"], rel=0.05)
        assert two["eval_samples"] == one["eval_samples"]


def test_srun_and_kubeflow_are_launchers(nursery, words):
    """As they set the variables, without them."""
    slurm = {
        "SLURM_NTASKS": "2", "SLURM_STEP_ID": "0", "SLURM_JOB_ID": "7", "SLURM_STEP_NODELIST": "localhost",
        "MASTER_PORT": str(free_port()),
    }  # fmt: skip
    kubeflow = {"WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": str(free_port())}
    runs = []
    for rank in range(2):
        own = {"SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank)}
        runs += [Forked(nursery, words("slurm"), {**slurm, **own})]
        runs += [Forked(nursery, words("kubeflow"), {**kubeflow, "RANK": str(rank)})]
    finished(*runs, *nursery.group(words("alone", "--reduce", "exact"), 0))
    assert outcome("slurm") == outcome("kubeflow") == outcome("alone")


def test_other_commands_run_in_one_process(run_cli, monkeypatch):
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0"}.items():
        monkeypatch.setenv(name, value)
    code, _, err = run_cli("predict", "run", "--text", "x")
    assert (code, err) == (
        2,
        "pippin: pippin predict runs in one process, but torchrun has started 2. Start it without.\n",
    )
    monkeypatch.setenv("RANK", "1")
    assert run_cli("predict", "run", "--text", "x") == (2, "", "")


def test_a_run_goes_on_in_four_two_and_one_process(nursery, words):
    whole = nursery.group(words("whole", "--reduce", "exact"), 0)
    for size, step, flags in ((4, 2, ()), (2, 4, ("--resume",))):
        runs = nursery.group(words("stopped", *flags), size)
        runs[0].wait_for(f"step {step}/6")
        runs[-1].send_signal(signal.SIGTERM)  # any of them will do
        for run in runs:
            out, _ = run.communicate()
            assert run.returncode == 143, out
        assert "resume stopped" in runs[0].text
    finished(*whole, *nursery.group(words("stopped", "--resume"), 0))  # added up as it began
    assert outcome("stopped") == outcome("whole")


def test_processes_are_started_and_stopped_by_the_command(start):
    """By torch's launcher, which hands on what it is told."""
    run = start("stopped", "--processes", 2, "--max_steps", 4000)
    read_until(run, "step 2/4000")
    run.send_signal(signal.SIGTERM)
    out, _ = run.communicate(timeout=120)
    assert run.returncode == 143, out
    assert "resume stopped" in out


def test_a_lost_process_is_named_and_all_stop(start):
    run = start("lost", "--processes", 2, "--max_steps", 4000)
    read_until(run, "step 2/4000")
    os.kill(children(run)[-1], signal.SIGKILL)
    out, _ = run.communicate(timeout=60)
    assert run.returncode == 2, out
    assert out.splitlines()[-1].startswith("pippin: process 1 of 2 was stopped by SIGKILL, so all were stopped.")
    assert "Traceback" not in out


def test_torchrun_starts_again_what_was_lost_and_the_result_is_the_same(start, nursery, words):
    elastic = (*TORCHRUN, "--nproc_per_node", "2", "--max_restarts", "2")
    run = start("again", "--save_steps", 1, launcher=elastic)
    whole = nursery.group(words("whole", "--reduce", "exact"), 0)
    read_until(run, "step 3/6")
    os.kill(children(run)[-1], signal.SIGKILL)
    finished(*whole, run)
    assert outcome("again") == outcome("whole")


def test_what_is_wrong_is_said_once(nursery, words):
    runs = nursery.group(words("bad", "--label_column", "nothing"), 2)
    out = "".join(run.communicate()[0] for run in runs)
    assert [run.returncode for run in runs] == [2, 3]
    assert out.count("nothing") == 1, out
    assert "Traceback" not in out


def test_a_failure_of_one_process_is_told_by_that_one(nursery, words):
    runs = nursery.group([PROGRAM.with_name("one_fails.py"), *words("bad")], 2)
    first, second = (run.communicate()[0] for run in runs)
    assert "pippin: process 1 of 2 on " in second
    assert "RuntimeError: the device is gone" in second
    assert "has failed, so all were stopped. To continue: pippin resume bad" in first
    assert "Traceback" not in first + second


def test_a_failure_of_the_first_process_leaves_nobody_waiting(nursery, words):
    runs = nursery.group([PROGRAM.with_name("one_fails.py"), *words("bad")], 2, FAILS="0")
    first, second = (run.communicate(timeout=60)[0] for run in runs)
    assert [run.returncode for run in runs] == [2, 3]
    assert "RuntimeError: the device is gone" in first
    assert second == "", "it has been said"
