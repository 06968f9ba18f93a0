"""All runs of a folder: in the terminal, as JSON and on a page."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from makers import make_run

from helpers import sealed
from pippin.records import to_json
from pippin.report.listing import list_runs
from pippin.report.page.index_page import index_page
from pippin.report.runs_table import show_runs

GOOD = "one-of-the-many-runs-with-a-name-that-is-longer-than-a-narrow-terminal-has-room-for"
LONG = "an-organisation/a-very-long-name-of-a-model-cased"


@pytest.fixture
def runs() -> Path:
    """One of each task, and one that answers the same to every row."""
    for name, results, baselines in (
        (GOOD, {"test_accuracy": 0.9, "eval_accuracy": 0.8}, {"test_accuracy": 0.3, "eval_accuracy": 0.2}),
        ("constant", {"eval_accuracy": 0.95, "eval_loss": 0.3}, {"eval_accuracy": 0.95}),
        ("numbers", {"eval_pearson": 0.7, "eval_mse": 0.1, "eval_r2": 0.5}, {"eval_pearson": 0.0}),
    ):
        run = make_run(model=LONG, results={**results, "train_runtime": 61.0})
        data = {**to_json(run), "data": {**to_json(run.data), "baselines": baselines}}
        os.makedirs(f"runs/{name}")
        Path("runs", name, "run.json").write_text(sealed(data))
    return Path("runs")


def rows_of(page: str) -> dict[str, str]:
    """Each run's row on the page, without its tags."""
    rows = re.findall("<tr>(.*?)</tr>", page, re.DOTALL)[1:]
    plain = [re.sub("<[^>]+>", " ", row).split() for row in rows]
    return {words[0]: " ".join(words) for words in plain}


def test_one_score_for_each_run_whatever_its_task(runs):
    page = index_page(list_runs(runs), runs / "index.html")
    assert "<h1><bdi" in page
    assert "3 runs in runs/" in page.replace("<wbr>", "")
    assert re.findall("<th[^>]*>([^<]+)", page) == ["Run", "Status", "Score", "Model", "Data", "Time", "Started"]
    rows = rows_of(page)
    assert "Accuracy 0.9000 (test) baseline 0.3000" in rows[GOOD]
    assert "Accuracy 0.9500 (validation) no better than the baseline, 0.9500" in rows["constant"]
    assert "Pearson 0.7000 (validation) baseline 0.0000" in rows["numbers"]
    assert f'title="{LONG}">an-organisation' in page
    assert f">{LONG}<" not in page, "a long name is cut in the middle"


def test_the_terminal_shows_the_baseline_and_keeps_its_columns(runs, screen):
    for width in (80, 100, 160):
        terminal, out = screen(width=width)
        show_runs(list_runs(runs), terminal)
        head, *lines = out.getvalue().splitlines()
        assert head.split()[:4] == ["run", "status", "score", "baseline"]
        assert max(map(len, [head, *lines])) <= width
        (constant,) = [line for line in lines if line.startswith("constant")]
        assert "Accuracy 0.9500 (validation)    0.9500" in constant
        assert "finished" in constant


def test_other_programs_get_the_baselines(runs, run_cli):
    code, out, _ = run_cli("runs", runs, "--json")
    listed = {each["name"]: each for each in json.loads(out)["runs"]}
    assert code == 0
    assert listed[GOOD]["baselines"] == {"accuracy": 0.3}, "of the rows that the scores are of"
    assert listed["constant"]["baselines"] == {"accuracy": 0.95}
