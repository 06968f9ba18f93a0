"""A run in a notebook: one output that is updated, errors in a line, and the guide's own notebook."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import nbclient
import nbformat
import pytest

from helpers import some_plan
from pippin.engine.interrupts import Interrupted
from pippin.errors import Mistakes, PippinError
from pippin.recipe import Recipe
from pippin.report.notebook import NotebookTerminal, PythonTerminal, in_notebook, terminal_for
from pippin.report.progress import TrainingProgress
from pippin.report.report import Report, for_python

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebook.ipynb"


def log(step: int, loss: float = 0.5) -> dict:
    return {"step": step, "epoch": 0.1, "loss": loss, "memory": 2**30, "seconds_left": 60, "learning_rate": 1e-3,
            "samples_per_second": 10.0, "tokens_per_second": 99.0}  # fmt: skip


@pytest.fixture
def output(capsys):
    """A terminal in a notebook, all that it showed as HTML, and a clock to turn."""
    shown: list[str] = []
    time = SimpleNamespace(now=0.0)

    def show(view):
        shown.append(view._repr_html_())
        return lambda view: shown.append(view._repr_html_())

    terminal = NotebookTerminal(show, lambda: time.now)
    yield terminal, shown, time
    assert capsys.readouterr().out == "", "nothing is printed beside the output"


def test_a_run_is_one_output(output):
    terminal, shown, time = output
    progress = TrainingProgress(terminal)
    terminal.note("see --max_steps")
    terminal.warn("a <b>class</b> is rare")
    terminal.show_plan(some_plan(), "words: 40 rows")
    progress.on_event("started", {"steps": 100})
    before = len(shown)
    for step in range(1, 51):
        time.now += 0.01
        progress.on_event("log", log(step, 1 / step))
    assert len(shown) - before == 2, "four times a second at most"
    assert "loss 0.0" in shown[-1]
    progress.on_event("evaluation", {"step": 50, "epoch": 1.0, "best": True, "eval_accuracy": 0.75, "eval_loss": 0.4})
    assert len(shown) - before == 3
    for words in (
        "<b>words: 40 rows</b>", 'value="50"', "50/100", "1:00 left", "accuracy 0.7500 · loss 0.4000 · best so far",
        "<polyline", "a &lt;b&gt;class&lt;/b&gt; is rare", "see max_steps", "learning rate",
    ):  # fmt: skip
        assert words in shown[-1]
    progress.on_event("slow", {"share": 0.5})
    assert "slowed to 50% of its initial speed" in shown[-1]
    progress.on_event("trained", {})
    progress.stop()
    terminal.show_report(Report("runs/x", {"eval_accuracy": 0.75}, "accuracy"))
    assert "done · validation accuracy 0.7500" in shown[-1]
    assert repr(terminal.view) == (
        "words: 40 rows · done · step 100/100 · validation accuracy 0.7500 · saved in runs/x"
    )


def test_a_run_that_stops_says_so(output):
    terminal, shown, _ = output
    terminal.on_event("started", {"steps": 9})
    terminal.on_event("interrupted", {"error": "KeyboardInterrupt"})
    assert "interrupted" in shown[-1]
    with terminal.rows_bar(9, "predicting test") as advance:
        advance(9)
    assert "predicting test" in shown[-1]


@pytest.mark.parametrize(
    ("shell", "expected"), [(SimpleNamespace(kernel=object()), True), (object(), False), (None, False)]
)
def test_where_a_notebook_is(monkeypatch, shell, expected):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not in_notebook()
    assert type(terminal_for(Recipe())) is PythonTerminal
    module = ModuleType("IPython")
    module.get_ipython = lambda: shell  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", module)
    assert in_notebook() is expected
    assert (type(terminal_for(Recipe())) is NotebookTerminal) is expected
    assert type(terminal_for(Recipe(), quiet=True)) is PythonTerminal


def test_python_hears_of_keywords_not_of_flags(capsys):
    flags = Report("runs/x", {"eval_accuracy": 0.5}, "accuracy", remarks=("Try more epochs (--epochs) or --lr 0.1.",))
    report = for_python(flags)
    assert report.remarks == ("Try more epochs (epochs) or lr=0.1.",)
    assert "(epochs)" in report._repr_html_()
    terminal = terminal_for(Recipe())
    terminal.show_report(flags)
    terminal.note("see --max_steps")
    terminal.say("--max_steps 3")
    terminal.show_plan(some_plan("set by --max_steps"), "words: 40 rows")
    out = capsys.readouterr().out
    assert "--" not in out.replace("try it: pippin predict runs/x --text", "")
    assert "or lr=0.1." in out
    assert "set by max_steps" in out


def test_errors_are_a_line_and_no_frames():
    assert PippinError("no such file")._render_traceback_() == ["PippinError: no such file"]
    assert Mistakes(["one"])._render_traceback_() == ["PippinError: one"]
    assert Interrupted("stopped after step 6", 2)._render_traceback_() == ["Interrupted: stopped after step 6"]


def test_a_report_in_a_line_and_as_a_table(tmp_path):
    from helpers import by_class_part

    results = {"eval_accuracy": 0.9, "eval_loss": 0.3, "eval_samples": 9, "test_accuracy": 0.8, "train_loss": 0.1}
    parts = (by_class_part([f"class {number}" for number in range(77)]),)
    report = Report(str(tmp_path), results, "accuracy", parts=parts)
    assert repr(report) == f"Report({str(tmp_path)!r}, validation accuracy 0.9000 · test accuracy 0.8000)"
    table = report._repr_html_()
    assert "<td>validation accuracy</td><td>0.9000</td>" in table
    assert "baseline" not in table
    assert "href" not in table
    (tmp_path / "report.html").write_text("")
    named = Report(str(tmp_path), results, "accuracy", baselines={"eval_accuracy": 0.95}, remarks=("<one> answer",),
                   baseline_answer='always answering "a"')  # fmt: skip
    table = named._repr_html_()
    for words in ("<td>0.9500</td>", "&lt;one&gt; answer", "always answering &quot;a&quot;", 'report.html"'):
        assert words in table


def test_the_guides_notebook_runs(tiny_model, tmp_path):
    """With a tiny model and few steps in its parameters, and all else as it stands there."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    stored = [[each.output_type for each in cell.outputs] for cell in notebook.cells if cell.cell_type == "code"]
    parameters = next(cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", ()))
    parameters.source = f"MODEL = {str(tiny_model)!r}\nSTEPS = 3"
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [[each.output_type for each in cell.outputs] for cell in cells] == stored, (
        "tools/make_notebook.py stores them"
    )
    training = next(cell for cell in cells if cell.source.startswith("report = pippin.train"))
    live, report = training.outputs
    assert "step 3/3" in live.data["text/plain"]
    assert "<table>" in report.data["text/html"]
    assert (tmp_path / "runs" / "head" / "report.html").is_file()
