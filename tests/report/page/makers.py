"""Runs, reports and histories that never happened, for their pages."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from helpers import by_class_part, some_plan
from pippin.machine.machine import Machine
from pippin.machine.traits import traits_of
from pippin.recipe import Recipe
from pippin.report.page.history import History
from pippin.report.report import Report
from pippin.runs.data_card import DataCard, LengthBin
from pippin.runs.record import Run
from pippin.tasks.parts import Bars, Part, TablePart

CLASSES = ("ABBR", "DESC", "NUM")


def make_run(status: str = "finished", classes: tuple[str, ...] = CLASSES, **changes) -> Run:
    machine = Machine(
        system="Linux", release="6", architecture="x86_64", python="3.11", torch="2.13.0", transformers="5.22",
        cpu_cores=2, memory_bytes=8 << 30, devices=(traits_of("cpu", "a processor", memory_bytes=8 << 30, bf16=False),),
    )  # fmt: skip
    plan = some_plan()
    card = DataCard(
        "questions", "trec", ("text",), "label", f"{len(classes)} classes", classes, "text-classification",
        {"train": 90, "validation": 10}, "text and label",
        parts=(Part("Training rows by class", bars=Bars(classes, tuple(range(10, 10 + len(classes))), "classes")),),
        lengths=(LengthBin(3, 6, 50), LengthBin(7, 10, 40)),
        padding=0.08,
        baselines={"eval_accuracy": 0.4},
        baseline_answer='always answering "ABBR"',
    )  # fmt: skip
    run = Run(
        Recipe(data="rows.csv", seed=7),
        machine,
        plan,
        card,
        "all-MiniLM",
        "2026-11-16T10:00:00+00:00",
        "an id",
        status=status,
    )
    return replace(run, **changes)


def make_report(classes: tuple[str, ...] = CLASSES, text: str = "Who was Galileo?", **changes) -> Report:
    results = {
        "eval_accuracy": 0.9, "eval_loss": 0.31, "eval_samples": 10, "epoch": 3.0, "train_runtime": 61.0,
        "train_samples_per_second": 44.3,
    }  # fmt: skip
    report = Report(
        "runs/questions", results, "accuracy", ("text",), best_step=30, peak_memory=500 << 20,
        parts=(by_class_part(classes), mistakes_part(17, text, classes[0], classes[1], 0.97)),
    )  # fmt: skip
    return replace(report, **changes)


def mistakes_part(row: Any, text: Any, truth: Any, predicted: Any, score: Any) -> Part:
    heads, formats = ("row", "text", "actual", "predicted", "confidence"), ("d", "long", "", "", ".0%")
    return Part(
        "Most confident mistakes, on the validation rows",
        TablePart(heads, ((row, text, truth, predicted, score),), formats),
    )


def mixed_up(*pairs: tuple[str, str, int]) -> TablePart:
    return TablePart(("actual", "predicted", "times"), pairs, ("", "", "d"), caption="Most frequent confusions.")


def make_history(logs: int = 30) -> History:
    history, began = History(), 1_800_000_000.0
    history.add("started", {"steps": logs}, began)
    for step in range(1, logs + 1):
        figures = {
            "step": step, "epoch": step / 10, "loss": 2.0 * math.exp(-step / 10) + 0.01, "grad_norm": 1.0,
            "learning_rate": 1e-4 * (1 - step / (logs + 1)), "samples_per_second": 40.0,
            "tokens_per_second": 900.0 + step % 7, "memory": 400 << 20, "seconds_left": float(logs - step),
        }  # fmt: skip
        history.add("log", figures, began + 2 * step)
        if step % 10 == 0:
            scores = {"step": step, "epoch": step / 10, "best": True, "eval_accuracy": step / 40, "eval_loss": 1.0}
            history.add("evaluation", scores, began + 2 * step)
    return history
