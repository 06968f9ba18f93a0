"""`--hosts`: several computers over ssh, by a stand-in for ssh and by two real hosts in network namespaces."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from groups import finished, outcome, read_until
from hosts import Pair, two_computers, why_not

from pippin.cli.join import wait_for_end

FAKE = f"{sys.executable} {Path(__file__).parent / 'fake_ssh.py'}"
Begin = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def begin(word_file: Path, tiny_model: Path) -> Begin:
    """Start a short job on two computers."""

    def begin_job(folder: str, *flags: object, on: Pair | None = None, **variables: str) -> subprocess.Popen[str]:
        words = [
            sys.executable, "-m", "pippin", "train", word_file, "--model", tiny_model, "--max_steps", 6, "--batch_size",
            12, "--logging_steps", 1, "--output_dir", folder, "--hosts", "localhost,mac-b", *flags,
        ]  # fmt: skip
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PIPPIN_SSH": on.ssh if on else FAKE, **variables}
        return subprocess.Popen(
            on.inside(*words) if on else list(map(str, words)),
            env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    return begin_job


def ended(run: subprocess.Popen[str], code: int) -> str:
    out, _ = run.communicate(timeout=120)
    assert run.returncode == code, out
    assert "Traceback" not in out
    return out


def test_what_does_not_fit_together_is_told_before_the_start(begin, word_file, tmp_path):
    other = tmp_path / "other"
    (other / "pippin-0.1.0.dist-info").mkdir(parents=True)
    (other / "torch-2.1.0.dist-info").mkdir()
    (other / "torch-2.1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.1.0\n")
    (other / "pippin").write_text(f"#!{sys.executable}\nfrom pippin.cli.main import main\nraise SystemExit(main())\n")
    (other / "pippin").chmod(0o755)
    (tmp_path / "changed.csv").write_text("text,label\nanother row,here\n")
    runs = {
        f"{word_file} on mac-b differs from the file on": begin(
            "c", FAKE_SSH=f"file={word_file}:{tmp_path}/changed.csv"
        ),
        "mac-b: Permission denied (publickey). Check that": begin("a", FAKE_SSH="refused"),
        "mac-b has torch 2.1.0, but this computer has": begin("b", FAKE_SSH=f"path={other}"),
    }
    for words, run in runs.items():
        assert f"pippin: {words}" in ended(run, 2)
    assert not Path("a").exists()


def test_this_computer_must_be_among_them(run_cli, word_file, monkeypatch):
    monkeypatch.setattr("pippin.commands.hosts.is_this_computer", lambda name: False)
    code, _, err = run_cli("train", word_file, "--hosts", "mac-b,mac-c")
    assert code == 2
    assert "none of these is this computer" in err
    assert "--hosts localhost,mac-b,mac-c" in err
    code, _, err = run_cli("train", word_file, "--hosts", "mac-b", "--processes", 2)
    assert "exclude each other" in err


def test_the_end_of_a_leader_and_its_silence_are_told_apart_from_its_signs_of_life():
    ours, theirs = os.pipe()
    os.write(theirs, b"\n" * 5000)
    wait_for_end(ours, silence=0)
    assert select.select([ours], [], [], 0)[0] == [], "all signs of life were taken"
    os.close(theirs)
    wait_for_end(ours, silence=1e6)


@pytest.fixture(scope="module")
def pair(tmp_path_factory) -> Iterator[Pair]:
    if reason := why_not():
        pytest.skip(reason)
    with two_computers(tmp_path_factory.mktemp("ssh")) as found:
        yield found


def test_two_computers_train_as_one(begin, nursery, words, pair):
    finished(begin("both", on=pair), *nursery.group(words("alone", "--reduce", "exact"), 0))
    assert outcome("both") == outcome("alone")


def test_ctrl_c_stops_all_and_the_run_is_resumed(begin, pair):
    run = begin("stopped", on=pair)
    read_until(run, "step 2/6")
    run.send_signal(signal.SIGINT)
    assert "pippin resume stopped" in ended(run, 130)


def test_a_cut_link_is_named_within_seconds(begin, pair):
    run = begin("cut", "--max_steps", 4000, on=pair)
    read_until(run, "step 2/4000")
    pair.cut_link()
    out = ended(run, 2)
    assert "pippin: mac-b: the connection was lost" in out
    assert "pippin resume cut" in out
