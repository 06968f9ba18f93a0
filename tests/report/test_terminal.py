"""What a person sees: plain lines when piped, nothing when quiet, no markup from the data."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
from rich.cells import cell_len

from helpers import by_class_part, some_plan
from pippin.machine.check import NOTE, Check
from pippin.plan.plan import Plan
from pippin.recipe.reading import recipe_from
from pippin.report.report import Report
from pippin.report.terminal import Terminal


def plan(**changes) -> Plan:
    values = {
        "device": "cpu", "precision": "fp32", "max_length": 128, "batch_size": 16, "micro_batch": 16,
        "batching": "windows", "pad_lengths": (8, 16), "learning_rate": 1e-4, "head_learning_rate": 2e-4, "epochs": 3.0,
        "steps": 9, "warmup_steps": 1, "logging_steps": 1, "eval_steps": 3, "save_steps": 0,
        "best_metric": "accuracy", "patience": 0, "micro_tokens": 0, "activations": "kept", "updates": "after backward",
        "saving": "beside the steps", "needed": 0, "word_vectors": 0, "step": "plain calls", "compiled": "never",
        "frozen": "nothing", "layout": "padded",
    }  # fmt: skip
    return some_plan("why {name}", **{**values, **changes})


def test_plan_shows_values_and_reasons(screen):
    terminal, out = screen()
    terminal.show_plan(plan(), "words: 90 training rows")
    text = out.getvalue()
    for words in ("words: 90 training rows", "1.00e-04", "why learning_rate", "2.00e-04", "8, 16", "3 steps"):
        assert words in text
    assert "micro-batch" not in text
    terminal.show_plan(plan(micro_batch=4), "")
    assert "micro-batch" in out.getvalue()


def test_guards_are_shown_where_there_are_any(screen):
    terminal, out = screen()
    terminal.show_plan(plan(), "")
    assert "guards" not in out.getvalue()
    terminal.show_plan(plan(guards=("long rows", "uneven heads")), "", trains=False)
    assert "long rows, uneven heads" in out.getvalue()
    assert "why guards" in out.getvalue()


def test_plan_without_training(screen):
    terminal, out = screen()
    terminal.show_plan(plan(), "judging", trains=False)
    assert "cpu" in out.getvalue()
    assert "learning rate" not in out.getvalue()


def test_quiet_hides_all_but_warnings(screen):
    terminal, out = screen(quiet=True)
    terminal.note("n")
    terminal.show_plan(plan(), "p")
    terminal.warn("look out")
    assert out.getvalue() == "warning: look out\n"


def test_markup_in_data_stays_text(screen):
    terminal, out = screen()
    terminal.show_report(
        Report("runs/[bold]x", {"eval_accuracy": 0.5, "eval_samples": 4}, "accuracy",
               parts=(by_class_part(["[red]danger"], (0, 0, 0, 4), [[4]]),))
    )  # fmt: skip
    assert "[red]danger" in out.getvalue()
    assert "runs/[bold]x" in out.getvalue()


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_any_width(screen, width):
    terminal, out = screen(width=width, tty=True)
    terminal.show_plan(plan(), "headline")
    terminal.warn("words " * 40)
    names = ["x" * 300, "字" * 90, "plain"]
    part = by_class_part(names, (0.5, 0.25, 0.125, 4), [[1, 2, 3]] * 3)
    terminal.show_report(Report("run", {}, "accuracy", parts=(part,)))
    lines = out.getvalue().splitlines()
    assert all(cell_len(line) <= width for line in lines)
    assert sum("0.500" in line and "0.250" in line and "0.125" in line for line in lines) == 3, "no figure is cut"
    assert any(line.startswith("plain ") for line in lines)


def test_a_narrow_plan_has_its_reasons_below(screen):
    terminal, out = screen(width=40, tty=True)
    terminal.show_plan(plan(), "headline")
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    place = lines.index("  learning rate  1.00e-04")
    assert lines[place + 1] == "      why learning_rate"
    assert "" not in lines


def test_a_path_is_never_broken(screen):
    terminal, out = screen(width=40, tty=True)
    folder = "/a/very/long/path" * 9
    terminal.show_report(Report(folder, {}, "accuracy", best_step=1))
    assert f"saved in {folder}\n" in out.getvalue()


def test_the_quiet_switch_tells_where_the_results_are(capsys):
    terminal = Terminal.for_recipe(recipe_from({"quiet": True}).recipe)
    terminal.say("plan")
    terminal.note("note")
    terminal.warn("look out")
    terminal.show_report(Report("runs/x", {"eval_accuracy": 0.5}, "accuracy", best_step=1))
    assert capsys.readouterr().out == "warning: look out\nsaved in runs/x\n"


@pytest.mark.parametrize("level", ["warning", "error", "critical"])
def test_a_log_level_hides_that_too(capsys, level):
    terminal = Terminal.for_recipe(recipe_from({"log_level": level}).recipe)
    terminal.show_report(Report("runs/x", {"eval_accuracy": 0.5}, "accuracy", best_step=1))
    assert capsys.readouterr().out == ""


def on_a_terminal(monkeypatch, **variables) -> Terminal:
    """A Terminal on standard output, which says that it is one."""
    for name in ("CI", "NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm", "COLORTERM": "truecolor", **variables}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    return Terminal()


def test_colours_and_a_bar_on_a_terminal(monkeypatch, capsys):
    terminal = on_a_terminal(monkeypatch)
    assert terminal.live
    terminal.warn("look out")
    assert "\x1b[33m" in capsys.readouterr().out


def test_no_colour_where_none_is_wanted(monkeypatch, capsys):
    terminal = on_a_terminal(monkeypatch, NO_COLOR="1")
    assert terminal.live
    terminal.warn("look out")
    assert capsys.readouterr().out == "warning: look out\n"


@pytest.mark.parametrize("variables", [{"CI": "true"}, {"CI": "1"}, {"TERM": "dumb"}])
def test_plain_lines_in_ci_and_on_dumb_terminals(monkeypatch, variables):
    assert not on_a_terminal(monkeypatch, **variables).live


def test_plain_lines_in_a_pipe_even_with_colours(monkeypatch, capsys):
    on_a_terminal(monkeypatch, CI="false", FORCE_COLOR="1")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False)
    terminal = Terminal()
    assert not terminal.live
    terminal.warn("words " * 40)
    assert capsys.readouterr().out.count("\n") == 1, "a pipe has no width"


def test_pair_models_show_how_to_give_two_texts(screen):
    terminal, out = screen()
    terminal.show_report(Report("run", {}, "accuracy", text_columns=("a", "b"), best_step=1))
    assert '--text "…" --text2 "…"' in out.getvalue()


def test_confusion_matrix_up_to_eight_classes(screen):
    figures = (0.5, 0.5, 0.5, 4)
    terminal, out = screen()
    two = Report("run", {}, "accuracy", parts=(by_class_part(["no", "yes"], figures, [[3, 1], [0, 4]]),))
    terminal.show_report(two)
    assert "predicted" in out.getvalue()
    assert [line.split() for line in out.getvalue().splitlines() if line.startswith(("no", "yes"))] == [
        ["no", "0.500", "0.500", "0.500", "4", "3", "1"],
        ["yes", "0.500", "0.500", "0.500", "4", "·", "4"],
    ]
    terminal, out = screen(width=50)
    terminal.show_report(two)
    assert "predicted" not in out.getvalue(), "a narrow terminal has no room for it"
    terminal, out = screen()
    names = [f"c{number}" for number in range(9)]
    many = Report("run", {}, "accuracy", parts=(by_class_part(names, figures, [[0] * 9] * 9),))
    terminal.show_report(many)
    assert "predicted" not in out.getvalue()


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (30, ["note  GPU", "      no such card in this", "      computer", "      → Look inside it"]),
        (80, ["note  GPU  no such card in this computer", "           → Look inside it"]),
    ],
)
def test_the_doctor_keeps_to_his_margin(screen, width, lines):
    terminal, out = screen(width=width, tty=True)
    terminal.show_checks([Check("GPU", NOTE, "no such card in this computer", "", "Look inside it")], ready=True)
    assert [line.rstrip() for line in out.getvalue().splitlines()] == [*lines, "", "Ready."]


def test_the_summary_of_a_run(screen):
    terminal, out = screen()
    results = {
        "epoch": 6.0, "train_runtime": 50.2, "eval_accuracy": 0.96667, "eval_f1_macro": 0.9666, "eval_loss": 0.1799,
        "eval_samples": 120, "eval_runtime": 0.1,
    }  # fmt: skip
    report = Report(
        "runs/demo", results, "accuracy", best_step=252, peak_memory=686 << 20, remarks=("[red] look out",),
        baselines={"eval_accuracy": 1 / 6, "eval_f1_macro": 0.05}, baseline_answer='always answering "[b]ABBR"',
    )  # fmt: skip
    terminal.show_report(report)
    assert [line.rstrip() for line in out.getvalue().splitlines()] == [
        "",
        'validation: accuracy 0.9667 (0.1667 by always answering "[b]ABBR") · f1_macro 0.9666 · loss 0.1799 (120 rows)',
        "trained for 6 epochs in 0:50 · peak memory 686 MB · kept the model from step 252",
        "warning: [red] look out",
        "saved in runs/demo",
        "report: runs/demo/report.html",
        'try it: pippin predict runs/demo --text "…"',
    ]


def test_both_sets_of_mnli_stand_beside_their_baselines(screen):
    terminal, out = screen()
    results = {"eval_accuracy": 0.5, "eval_accuracy_mm": 0.25}
    baselines = {"eval_accuracy": 0.4, "eval_accuracy_mm": 0.3}
    terminal.show_report(Report("r", results, "accuracy", baselines=baselines, baseline_answer="nothing"))
    assert "accuracy 0.5000 (0.4000 by nothing) · accuracy_mm 0.2500 (0.3000 by nothing)" in out.getvalue()


def test_short_runs_and_what_does_not_exist(screen):
    terminal, out = screen()
    part = by_class_part(["seen"], (None, None, None, 0))
    part = replace(part, table=replace(part.table, caption="No rows of it."))
    results = {"epoch": 0.0952, "train_runtime": 0.34}
    terminal.show_report(Report("r", results, "accuracy", best_step=4, stopped_early=True, parts=(part,)))
    assert "trained for 0.1 epochs in 0.3 s · stopped early · " in out.getvalue()
    assert "note: No rows of it." in out.getvalue()
    assert [line.split()[:5] for line in out.getvalue().splitlines() if line.startswith("seen")] == [
        ["seen", "–", "–", "–", "0"]
    ]
