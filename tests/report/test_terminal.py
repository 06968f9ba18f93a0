"""What a person sees: plain lines when piped, nothing when quiet, no markup from the data."""

from __future__ import annotations

import pytest

from pippin.plan.plan import Choice, Plan
from pippin.report.report import Report


def plan(**changes) -> Plan:
    values = {
        "device": "cpu", "precision": "fp32", "max_length": 128, "batch_size": 16, "micro_batch": 16,
        "batching": "windows", "pad_lengths": (8, 16), "learning_rate": 1e-4, "head_learning_rate": 2e-4, "epochs": 3.0,
        "steps": 9, "warmup_steps": 1, "logging_steps": 1, "eval_steps": 3, "save_steps": 0,
        "best_metric": "accuracy", "patience": 0,
    }  # fmt: skip
    return Plan(**{name: Choice(value, f"why {name}") for name, value in {**values, **changes}.items()})


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
               per_class={"[red]danger": {"precision": 0, "recall": 0, "f1": 0, "rows": 4}}, confusion=[[4]])
    )  # fmt: skip
    assert "[red]danger" in out.getvalue()
    assert "runs/[bold]x" in out.getvalue()


@pytest.mark.parametrize("width", [40, 60, 200])
def test_any_width(screen, width):
    terminal, out = screen(width=width)
    terminal.show_plan(plan(), "headline")
    assert all(len(line) <= width for line in out.getvalue().splitlines())


def test_pair_models_show_how_to_give_two_texts(screen):
    terminal, out = screen()
    terminal.show_report(Report("run", {}, "accuracy", text_columns=("a", "b"), best_step=1))
    assert '--text "…" --text2 "…"' in out.getvalue()


def test_confusion_matrix_up_to_eight_classes(screen):
    figures = {"precision": 0.5, "recall": 0.5, "f1": 0.5, "rows": 4}
    terminal, out = screen()
    two = Report("run", {}, "accuracy", per_class={"no": figures, "yes": figures}, confusion=[[3, 1], [0, 4]])
    terminal.show_report(two)
    assert "taken for" in out.getvalue()
    assert [line.split() for line in out.getvalue().splitlines() if line.startswith(("no", "yes"))] == [
        ["no", "0.500", "0.500", "0.500", "4", "3", "1"],
        ["yes", "0.500", "0.500", "0.500", "4", "·", "4"],
    ]
    terminal, out = screen(width=50)
    terminal.show_report(two)
    assert "taken for" not in out.getvalue(), "a narrow terminal has no room for it"
    terminal, out = screen()
    names = [f"c{number}" for number in range(9)]
    many = Report("run", {}, "accuracy", per_class=dict.fromkeys(names, figures), confusion=[[0] * 9] * 9)
    terminal.show_report(many)
    assert "taken for" not in out.getvalue()
