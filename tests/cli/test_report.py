"""`pippin report`, and the page that a run writes while it goes on."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from pippin.report.page.live import LivePage
from pippin.runs.folder import RunFolder
from pippin.runs.record import read_record


def test_a_run_leaves_its_page_and_the_command_makes_it_again(train, word_file, run_cli):
    train(word_file, "--eval_strategy", "steps", "--eval_steps", "2", "--logging_steps", "1")
    folder = "run"
    page = Path(folder, "report.html")
    first = page.read_text()
    assert "report.html" in json.loads(Path(folder, "run.json").read_text())["files"]
    assert '<span class="status finished">' in first
    baselines = json.loads(Path(folder, "report.json").read_text())["baselines"]
    assert json.loads(Path(folder, "run.json").read_text())["data"]["baselines"] == baselines
    assert 0 < baselines["eval_accuracy"] < 1
    data = json.loads(re.search(r'id="data">(.*?)</script>', first)[1])
    assert data["again_after"] == 0
    curves = {chart["id"]: [each["name"] for each in chart["series"]] for chart in data["charts"]}
    assert curves["loss"] == ["training", "validation"]
    assert len(data["charts"][0]["series"][0]["points"]) == 4
    page.unlink()
    code, out, _ = run_cli("report", folder)
    assert (code, out.strip()) == (0, str(page))
    assert _without_time(page.read_text()) == _without_time(first)


def test_mistakes_are_shown_with_their_rows(train, write_rows):
    rows = [{"text": f"the {word} again", "label": label} for word, label in (("good", "a"), ("bad", "b"))] * 30
    # One text with both labels: whatever the model says, one of them is wrong.
    wrong = [{"text": "the good <b>again</b>", "label": label} for label in "ab"]
    train(write_rows("rows.csv", rows), "--validation_file", write_rows("wrong.csv", wrong))
    *_, mistakes = json.loads(Path("run", "report.json").read_text())["parts"]
    assert mistakes["title"] == "Most confident mistakes, on the validation rows"
    assert [text for _, text, *_ in mistakes["table"]["rows"]] == ["the good <b>again</b>"]
    page = Path("run", "report.html").read_text()
    assert "<b>again" not in page
    assert "&lt;b&gt;again" in page


def test_runs_beside_each_other(train, word_file, run_cli):
    for seed in (1, 2):
        train(word_file, "--seed", seed, folder=f"run{seed}")
    assert run_cli("report", "run1", "run2", "--output", "both.html")[:2] == (0, "both.html\n")
    page = Path("both.html").read_text()
    assert "Settings that differ" in page
    assert "run1" in page
    assert '<span class="flag">--seed</span></td><td>1</td><td>2</td>' in page


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "there is no folder runs. Name the folder"),
        (["nothing"], "nothing is not the folder of a run"),
        (["nothing", "--outptu", "x"], "Did you mean --output?"),
        (["nothing", "--output"], "--output needs a value"),
    ],
)
def test_mistakes_at_the_keyboard(run_cli, words, message):
    code, out, error = run_cli("report", *words)
    assert (code, out) == (2, "")
    assert message in error


def test_the_page_of_a_run_that_goes_on_is_replaced_now_and_then(train, word_file):
    train(word_file)
    folder = "run"
    run = read_record(Path(folder))
    opened, seconds = RunFolder(Path(folder)), [0.0]
    opened.run = replace(run, status="started", files={})
    Path(folder, "events.jsonl").unlink()
    page = LivePage(opened, clock=lambda: seconds[0])
    path = Path(folder, "report.html")
    assert "report.html" in opened.run.files
    assert '<span class="status running">' in path.read_text()
    figures = {"step": 1, "loss": 0.5, "seconds_left": 9.0}
    page.on_event("started", {"steps": 10})
    page.on_event("log", figures)
    assert "step 1 of 10" not in path.read_text(), "so soon it is not written again"
    seconds[0] = 5.0
    page.on_event("log", {**figures, "step": 2})
    assert "step 2 of 10, about 9 s left" in path.read_text()
    page.on_event("evaluation", {"step": 3, "eval_accuracy": 0.75})
    assert "0.7500" in path.read_text(), "an evaluation is shown at once"
    assert f"step 3 · baseline {run.data.baselines['eval_accuracy']:.4f}" in path.read_text()
    opened.run = replace(opened.run, status="interrupted")
    page.end()
    assert '<span class="status interrupted">' in path.read_text()


def test_a_disk_that_refuses_the_page_does_not_stop_the_run(train, word_file, monkeypatch):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pippin.report.page.live.replace_text", refuse)
    _, results = train(word_file)
    assert results["eval_accuracy"] >= 0
    assert Path("run", "report.html").is_file(), "the finished one is written with the results"


def _without_time(page: str) -> str:
    return re.sub(r'"written":\d+', "", page)
