"""All that a person sees in the terminal. No other module knows about colours, bars or widths."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape as escape_markup
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from pippin.machine.check import BAD, NOTE, OK, Check
from pippin.plan.plan import Plan
from pippin.recipe import Recipe
from pippin.redact import remember_secret, without_secrets
from pippin.report.report import Report
from pippin.report.words import clock_time, memory, visible
from pippin.verify.verdict import Finding, Verdict

#: Plan entries by the words that a person would use.
_PLAN_WORDS = {
    "device": "device",
    "precision": "precision",
    "max_length": "longest input",
    "batch_size": "batch",
    "micro_batch": "micro-batch",
    "micro_tokens": "tokens at once",
    "activations": "activations",
    "updates": "weights updated",
    "saving": "saved",
    "memory": "memory",
    "batching": "order of rows",
    "layout": "layout of rows",
    "pad_lengths": "padding",
    "last_layer": "last layer for",
    "word_vectors": "word vectors",
    "frozen": "frozen",
    "states": "its results in",
    "step": "steps run as",
    "compiled": "compiled",
    "capacities": "shapes",
    "learning_rate": "learning rate",
    "head_learning_rate": "head's rate",
    "epochs": "epochs",
    "steps": "steps",
    "warmup_steps": "warm-up",
    "logging_steps": "log every",
    "eval_steps": "evaluate every",
    "save_steps": "copy every",
    "best_metric": "model kept",
    "patience": "patience",
    "guards": "guards",
}
_WITHOUT_TRAINING = {"device", "precision", "max_length", "guards"}

#: Figures by class are shown up to so many classes, the confusion matrix up to so many; report.json has them all.
_MOST_CLASSES, _MOST_IN_MATRIX = 20, 8
#: What the figures by class and the words "taken for" take up.
_FIGURES_WIDTH = 46
#: Share of the time from which on saving is worth a word.
_WORTH_SAYING = 0.02
#: Where the output is a file or a pipe, tables may be as wide as this.
_PIPE_WIDTH = 160


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Whoever read our output is gone (`| head`): go on without a word, for the work is not done."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Terminal:
    """Prints notes, the plan, progress and results; says less when asked to."""

    def __init__(self, quiet: bool = False, live: bool = True, console: Console | None = None):
        self.console = console or _Console(highlight=False, width=None if sys.stdout.isatty() else _PIPE_WIDTH)
        self.quiet = quiet
        self.live = live and self.console.is_terminal and not quiet

    @classmethod
    def for_recipe(cls, recipe: Recipe) -> Terminal:
        remember_secret(recipe.token)
        return cls(quiet=recipe.log_level in ("warning", "error", "critical"), live=not recipe.disable_tqdm)

    def say(self, text: str) -> None:
        if not self.quiet:
            self.line(escape(text))

    def note(self, text: str) -> None:
        """Something worth knowing."""
        if not self.quiet:
            self.line(f"[dim]note:[/dim] {escape(text)}")

    def warn(self, text: str) -> None:
        """Something that may be wrong; never hidden."""
        self.line(f"[yellow]warning:[/yellow] {escape(text)}")

    def line(self, markup: str) -> None:
        """One line; only a terminal breaks it to its width."""
        self.console.print(visible(markup), soft_wrap=not self.console.is_terminal, emoji=False)

    def show_plan(self, plan: Plan, headline: str, trains: bool = True) -> None:
        """The plan, one choice a line with its reason; without training, only what concerns the rest."""
        if self.quiet:
            return
        self.console.print(f"[bold]{escape(headline)}[/bold]", emoji=False)
        table = Table.grid(padding=(0, 2))
        choices = plan.choices()
        for name in _PLAN_WORDS:
            choice = choices[name]
            if _goes_without_saying(name, plan) or not (trains or name in _WITHOUT_TRAINING):
                continue
            table.add_row(
                f"  {_PLAN_WORDS[name]}",
                Text(visible(_plan_value(name, choice.value)), style="cyan"),
                Text(visible(choice.reason)),
            )
        self.console.print(table)

    def show_findings(self, columns: str, notes: list[str], warnings: list[str]) -> None:
        """What was found in the data."""
        self.say(f"columns: {columns}")
        for text in notes:
            self.note(text)
        for text in warnings:
            self.warn(text)

    def show_checks(self, checks: list[Check], ready: bool) -> None:
        """The doctor's findings: one a line, with the reason and the cure below where there is one."""
        marks = {OK: "[green]ok  [/green]", NOTE: "[yellow]note[/yellow]", BAD: "[red]bad [/red]"}
        width = max(len(check.name) for check in checks)
        for check in checks:
            self.line(f"{marks[check.status]}  {escape(check.name):{width}}  {escape(check.found)}")
            for text in (check.why, check.todo and f"→ {check.todo}"):
                if text and check.status != OK:
                    self.line(" " * (width + 8) + escape(text))
        self.line("\nReady." if ready else "\nNot ready: put right what is marked bad, from the top.")

    def show_verdict(self, verdict: Verdict) -> None:
        """What was compared, how far it is apart, and how far it may be."""
        self.line(
            escape(f"{verdict.device} in {verdict.precision} against the CPU: {verdict.rows} rows, {verdict.model}")
        )
        width = max(len(finding.name) for finding in verdict.findings)
        for finding in verdict.findings:
            mark = "[green]ok  [/green]" if finding.agrees else "[red]bad [/red]"
            worst = "" if finding.agrees else _place(finding)
            figures = f"differs by {finding.error:.1e} (up to {finding.allowed:.1e} is rounding){worst}"
            self.line(f"{mark}  {finding.name:{width}}  {escape(figures)}")
        rounding = (
            "" if verdict.precision == "fp32" else f", as far as the rounding of {verdict.precision} lets one see"
        )
        good, bad = f"The results are the CPU's{rounding}.", "Not the CPU's results: do not train on it."
        self.line("\n" + (good if verdict.agrees else bad))

    def show_report(self, report: Report) -> None:
        """The result first, then where it is."""
        if self.quiet:
            return
        self.console.print()
        for prefix, title in (("eval", "validation"), ("test", "test")):
            figures = {
                key.removeprefix(prefix + "_"): value
                for key, value in report.results.items()
                if key.startswith(prefix + "_") and not key.endswith(("runtime", "per_second", "samples"))
            }
            if figures:
                rows = report.results.get(f"{prefix}_samples")
                shown = " · ".join(f"{name} [bold]{value:.4f}[/bold]" for name, value in figures.items())
                self.console.print(f"{title}: {shown} ({rows} rows)")
        if report.per_class and len(report.per_class) <= _MOST_CLASSES:
            self._show_classes(report)
        if "train_runtime" in report.results:
            early = ", stopped early" if report.stopped_early else ""
            share = report.saving_seconds / max(report.results["train_runtime"], 1e-9)
            saving = f"; saving took {share:.0%} of it" if share >= _WORTH_SAYING else ""
            self.console.print(
                f"trained {report.results['epoch']:g} epochs in {clock_time(report.results['train_runtime'])}{early}"
                f"{saving}, {memory(report.peak_memory)} at most; kept the model of step {report.best_step}"
            )
        if report.fallbacks:
            used = [f"{name} {use.calls} times, {use.share:.1%} of the time" for name, use in report.fallbacks.items()]
            self.line(escape(f"on the CPU, since the device has no kernel: {'; '.join(used)}"))
        if report.best_step is None:
            self.console.print(f"results in [bold]{escape(report.folder)}[/bold]", emoji=False)
            return
        self.console.print(f"saved in [bold]{escape(report.folder)}[/bold]", emoji=False)
        second = ' --text2 "…"' if len(report.text_columns) == 2 else ""
        self.console.print(escape(f'try: pippin predict {report.folder} --text "…"{second}'), emoji=False)

    def _show_classes(self, report: Report) -> None:
        """Figures by class, and how often each class was taken for each other, where there is room for it."""
        headings = ["class", "precision", "recall", "f1", "rows"]
        names = [visible(name) for name in report.per_class]
        matrix_width = sum(max(len(name), 3) + 2 for name in names)
        room = self.console.width - _FIGURES_WIDTH - max(map(len, names))
        with_matrix = len(names) <= _MOST_IN_MATRIX and matrix_width <= room
        title = f"by class, on the {report.judged_on} rows"
        table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
        for heading in [*headings, *(["taken for", *names] if with_matrix else [])]:
            table.add_column(Text(heading), justify="left" if heading == "class" else "right")
        for name, figures, taken in zip(names, report.per_class.values(), report.confusion, strict=True):
            shown = [f"{figures[key]:.3f}" for key in ("precision", "recall", "f1")]
            matrix = ["", *(str(count or "·") for count in taken)] if with_matrix else []
            table.add_row(Text(name), *shown, str(int(figures["rows"])), *matrix)
        self.console.print(table)

    @contextmanager
    def rows_bar(self, total: int | None, what: str) -> Iterator[Callable[[int], None]]:
        """A bar over rows, of which nobody may know how many come; gives the function that advances it."""
        if not self.live:
            yield lambda count: None
            return
        title = TextColumn("{task.description}", markup=False)
        figures = TextColumn("{task.completed}" if total is None else "{task.completed}/{task.total}")
        bar = Progress(title, BarColumn(), figures, console=self.console)
        task = bar.add_task(visible(what), total=total)
        with bar:
            yield lambda count: bar.advance(task, count)


def escape(text: str) -> str:
    """Words from anywhere as words: no markup, no control characters, no secrets."""
    return escape_markup(visible(without_secrets(text)))


def _goes_without_saying(name: str, plan: Plan) -> bool:
    """Choices that tell a person nothing; run.json holds them all."""
    return (
        (name == "micro_batch" and plan.micro_batch.value == plan.batch_size.value)
        or (name == "micro_tokens" and not plan.micro_tokens.value)
        or (name == "activations" and plan.activations.value == "kept")
        or (name == "updates" and plan.updates.value == "after backward")
        or (name == "saving" and plan.saving.value == "beside the steps")
        or (name == "memory" and not plan.memory.value)
        or (name == "head_learning_rate" and plan.head_learning_rate.value == plan.learning_rate.value)
        or (name == "patience" and plan.patience.value == 0)
        or (name == "save_steps" and plan.save_steps.value == 0)
        or (name == "guards" and not plan.guards.value)
        or (name == "pad_lengths" and plan.layout.value == "packed")
        or (name == "step" and plan.step.value == "plain calls")
        or (name == "compiled" and plan.compiled.value == "never")
        or (name == "capacities" and not plan.capacities.value)
        or (name == "word_vectors" and plan.word_vectors.value == 0)
        or (name in ("frozen", "states") and plan.frozen.value == "nothing")
    )


def _place(finding: Finding) -> str:
    """Where something disagrees."""
    worst = f", worst in {finding.worst}" if finding.worst else ""
    return f"{worst}; begins in {finding.module}" if finding.module else worst


def _plan_value(name: str, value: Any) -> str:
    if name.endswith("learning_rate"):
        return f"{value:.2e}"
    if name == "pad_lengths":
        return ", ".join(map(str, value)) if value else "longest row"
    if name == "memory":
        return memory(value)
    if name == "capacities":
        return ", ".join(map(str, value))
    if name == "guards":
        return ", ".join(value)
    if name == "frozen" and value.isdecimal():
        return "embeddings" + (f" and {value} layer{'s' * (value != '1')}" if value != "0" else "")
    if name in ("logging_steps", "eval_steps", "save_steps"):
        return f"{value} steps" if value else "never"
    if name == "best_metric":
        return f"best {value}" if value else "the last"
    return f"{value:g}" if isinstance(value, float) else str(value)
