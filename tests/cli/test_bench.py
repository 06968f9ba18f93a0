"""`pippin bench` from its words to its files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pippin.commands.bench import benchmark as bench_run
from pippin.commands.bench.folder import as_json
from pippin.commands.bench.results import HEAD_ONLY, INFERENCE, TRAINING, Bench, Point, Setting, read_bench
from pippin.commands.bench.views import bar_charts as bench_charts
from pippin.commands.bench.views.panels import charts_of
from pippin.machine.machine import Machine
from pippin.machine.traits import traits_of


@pytest.fixture
def tiny(tiny_model, word_file) -> list[str]:
    """Words for a benchmark of a second."""
    return [str(word_file), "--model_name_or_path", str(tiny_model), "--minutes", "0.02", "--repeats", "2"]


def test_from_words_to_charts(run_cli, tiny, monkeypatch):
    monkeypatch.setattr(bench_charts, "_ENDINGS", (".png",))
    code, out, err = run_cli("bench", *tiny)
    assert code == 0, err
    bench = read_bench("runs/bench/bench.json")
    assert {point.setting.test for point in bench.points if point.seconds} == {INFERENCE, TRAINING, HEAD_ONLY}
    assert bench.complete
    assert bench.devices == ("cpu",)
    assert [answer.test for answer in bench.largest] == [TRAINING, HEAD_ONLY]
    files = {path.name for path in Path("runs/bench").iterdir()}
    assert files == {"bench.html", "bench.json", "bench.md", "throughput.png", "memory.png"}
    assert "Report: runs/bench/bench.html" in out
    assert "On this machine, use cpu" in out
    assert "inference · warm-up · about" in out
    assert "Not measured for lack of time" in out


def test_machines_are_compared_without_running_anything(run_cli, monkeypatch):
    monkeypatch.setattr(bench_charts, "charts_of", lambda benches: charts_of(benches)[:1])  # drawing takes a second
    monkeypatch.setattr(bench_charts, "_ENDINGS", (".svg",))
    machine = Machine("Linux", "6", "x86_64", "3.12", "2.13.0", "4.57.0", 2, None, (traits_of("cpu", ""),))
    points = tuple(Point(Setting(TRAINING, "cpu", "fp32", batch), 1000, (2.0,), 500.0, (4.0,)) for batch in (16, 32))
    for name in ("a.json", "b.json"):
        bench = Bench("tiny", "words", machine, "2026-01-02", "0.1", ("cpu",), points, training_rows=1000)
        Path(name).write_text(as_json(bench))
    code, out, err = run_cli("bench", "--compare", "a.json", "b.json")
    assert code == 0, err
    assert "2: cpu" in out
    assert {path.name for path in Path("runs/bench").iterdir()} == {"compare.html", "compare.md", "speed_up.svg"}


def test_ctrl_c_keeps_what_was_measured(run_cli, tiny, monkeypatch):
    monkeypatch.setattr(bench_charts, "write_charts", lambda benches, folder: [])

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(bench_run, "affordable_rows", interrupted)
    code, out, _ = run_cli("bench", *tiny, "--json", "--output_dir", "mine")
    assert code == 130
    printed = json.loads(out)
    assert printed == json.loads(Path("mine/bench.json").read_text())
    assert printed["complete"] is False
    assert {point["setting"]["test"] for point in printed["points"]} == {INFERENCE}
    assert "interrupted" in Path("mine/bench.md").read_text()


def test_all_mistakes_in_one_message(run_cli):
    code, _, err = run_cli(
        "bench", "no.csv", "--minuts", "3", "--repeats", "two", "--device", "gpu", "--against", "keras", "--minutes", -1
    )
    assert code == 2
    assert "6 things to put right" in err
    for words in (
        "Did you mean --minutes?",
        "--repeats: 'two' is not a whole number",
        "--device gpu: there is no such device",
        "--against: 'keras' is not one of transformers",
        "--minutes: -1 must be above 0",
        "no.csv: there is no such file",
    ):
        assert words in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--compare", "a.json"], "two files or more"),
        (["--compare", "a.json", "b.json", "--full"], "runs nothing: leave out --full"),
        (["--compare", "a.json", "b.json"], "a.json: there is no such file"),
        (["--full", "--model_name_or_path", "x"], "--full is BERT-base"),
        (["--minutes"], "needs a value"),
        (["-minutes", "3"], "Did you mean --minutes?"),
        (["--device", "cuda:99"], "--device cuda:99"),
        (["a", "b"], "one FILE or FOLDER at a time"),
    ],
)
def test_mistakes(run_cli, words, said):
    code, _, err = run_cli("bench", *words)
    assert code == 2
    assert said in err


def test_a_folder_in_use_is_refused_before_anything_runs(run_cli):
    Path("mine").mkdir()
    Path("mine/thesis.txt").write_text("")
    code, _, err = run_cli("bench", "--output_dir", "mine")
    assert code == 2
    assert "exists and is not empty" in err
