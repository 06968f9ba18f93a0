"""One job from Recipe to Report: the way through all the packages, in one screen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pippin.data.dataset import Dataset, prepare
from pippin.data.encoding import encode
from pippin.data.sources import find_source
from pippin.errors import PippinError
from pippin.machine.backends import get_backend
from pippin.machine.backends.base import Backend
from pippin.machine.machine import Machine
from pippin.machine.probe import probe
from pippin.models.loading import (
    display_name,
    load_config,
    load_tokenizer,
    longest_input,
    match_classes,
    require_trained,
    resolve_model,
    set_log_level,
)
from pippin.plan.device import choose_device
from pippin.plan.make import Rows, make_plan
from pippin.plan.plan import Plan
from pippin.recipe import Recipe
from pippin.records import to_json
from pippin.report.card import model_card
from pippin.report.report import Report
from pippin.report.results import evaluation_results, make_report, train_results
from pippin.report.terminal import Terminal
from pippin.training.events import Events
from pippin.training.inference import Evaluation
from pippin.training.run import DataCard, Run, RunFolder, clear, now, open_folder
from pippin.training.seeding import deterministic_kernels
from pippin.training.session import EncodedSplits, Session

#: Share of unknown tokens from which something is likely wrong.
_MANY_UNKNOWN = 0.2


def run_job(recipe: Recipe, terminal: Terminal) -> Report:
    """Train, evaluate and predict as the recipe asks; returns the Report of the run's folder."""
    if recipe.output_dir:
        open_folder(recipe, "")  # refuses a folder in use before anything is read
    set_log_level(recipe.log_level)
    known = None if recipe.wants_training else require_trained(recipe)
    data = prepare(find_source(recipe), recipe, known)
    folder = open_folder(recipe, data.name)
    terminal.show_findings(data.columns.reason, data.notes, data.warnings)
    machine = probe()
    backend = get_backend(choose_device(recipe, machine).value)
    labels, warning = match_classes(data.labels, recipe)
    data = data.with_classes(labels)
    config, tokenizer = load_config(recipe, labels), load_tokenizer(recipe)
    rows, plan = _encode_and_plan(recipe, machine, data, config, tokenizer)
    _show(data, rows, plan, recipe, warning, terminal)

    with deterministic_kernels(recipe.full_determinism, backend):
        session = Session(recipe, plan, data, rows, config, tokenizer)
        # From here on the folder is ours: whatever could be refused has been.
        with _recorded(folder, recipe, machine, plan, data, terminal) as events, _explained_by(backend):
            report = _carry_out(session, folder, events, terminal)
    terminal.show_report(report)
    return report


def _carry_out(session: Session, folder: RunFolder, events: Events, terminal: Terminal) -> Report:
    """Train, evaluate, predict; each result is written as soon as it is there."""
    recipe, rows = session.recipe, session.rows
    results: dict[str, float] = {}
    outcome = session.train(folder, events) if rows.train else None
    if outcome and rows.train:
        results |= train_results(outcome, len(rows.train), session.model)
        session.save_model(folder)
        folder.write_json("train_results.json", results)
    evaluations = session.evaluate_all() if recipe.wants_evaluation else {}
    if evaluations:
        results |= evaluation_results(evaluations, "eval")
        epoch = {"epoch": results["epoch"]} if outcome else {}
        folder.write_json("eval_results.json", epoch | evaluation_results(evaluations, "eval"))
    tests = _predict(session, folder, terminal) if recipe.wants_prediction else {}
    if tests:
        results |= evaluation_results(tests, "test")
        folder.write_json("predict_results.json", evaluation_results(tests, "test"))
    report = make_report(str(folder.path), results, session.data, outcome, evaluations, tests)
    _publish(folder, report, events)
    return report


def _encode_and_plan(
    recipe: Recipe, machine: Machine, data: Dataset, config: Any, tokenizer: Any
) -> tuple[EncodedSplits, Plan]:
    limit = longest_input(tokenizer, config)
    length = min(recipe.max_seq_length, limit or recipe.max_seq_length)
    test = data.test if recipe.wants_prediction else {}
    rows = EncodedSplits(
        encode(data.train, tokenizer, length) if data.train and recipe.wants_training else None,
        {name: encode(split, tokenizer, length) for name, split in data.validation.items()},
        {name: encode(split, tokenizer, length) for name, split in test.items()},
    )
    facts = Rows(
        lengths=rows.train.lengths if rows.train else None,
        longest=max((int(split.lengths.max()) for split in rows.all()), default=0),
        outputs=data.labels.outputs,
        has_validation=bool(rows.validation),
    )
    return rows, make_plan(recipe, machine, data.task, config, limit, facts)


def _show(
    data: Dataset, rows: EncodedSplits, plan: Plan, recipe: Recipe, warning: str | None, terminal: Terminal
) -> None:
    if warning:
        terminal.warn(warning)
    unknown = max((split.unknown for split in rows.all()), default=0.0)
    if unknown > _MANY_UNKNOWN:
        terminal.warn(f"{unknown:.0%} of the tokens are unknown to the tokenizer: is the model for another language?")
    cut, total = sum(split.cut for split in rows.all()), sum(len(split) for split in rows.all())
    if cut:
        terminal.note(f"{cut} of {total} texts are longer than {plan.max_length.value} tokens and were cut.")
    sizes = [f"{len(data.train)} training"] if data.train is not None else []
    sizes += [
        f"{len(split)} {name.replace('_', ' ')}" for name, split in [*data.validation.items(), *data.test.items()]
    ]
    kind = "numbers" if data.labels.regression else f"{len(data.labels.names)} classes"
    model = display_name(resolve_model(recipe.model_name_or_path))
    terminal.show_plan(plan, f"{data.name}: {', '.join(sizes)} rows, {kind} · {model}", recipe.wants_training)


@contextmanager
def _recorded(
    folder: RunFolder, recipe: Recipe, machine: Machine, plan: Plan, data: Dataset, terminal: Terminal
) -> Iterator[Events]:
    """The run's folder with its record written first; whatever happens inside, the record says how it ended."""
    clear(folder)
    model = display_name(resolve_model(recipe.model_name_or_path))
    folder.begin(Run(recipe.public(), machine, plan, _data_card(data), model, now()))
    events = Events(folder.events_path, terminal.on_event)
    try:
        yield events
    except BaseException as error:
        status = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        events.emit(status, error=type(error).__name__)
        folder.update(status=status)
        terminal.stop_training()
        if status == "interrupted":
            terminal.warn(f"{folder.path} holds what was written until the interruption, and no finished model.")
        raise
    finally:
        terminal.stop_training()
        events.close()


@contextmanager
def _explained_by(backend: Backend) -> Iterator[None]:
    """Errors of the device in plain words."""
    try:
        yield
    except Exception as error:
        explanation = backend.explain(error)
        if explanation is None:
            raise
        raise PippinError(explanation) from error


def _data_card(data: Dataset) -> DataCard:
    splits = {"train": data.train, **data.validation, **data.test}
    return DataCard(
        name=data.name,
        task=data.task.name,
        text_columns=data.columns.text,
        label_column=data.columns.label,
        classes=data.labels.names,
        regression=data.labels.regression,
        rows={name: len(split) for name, split in splits.items() if split is not None},
        columns_reason=data.columns.reason,
    )


def _predict(session: Session, folder: RunFolder, terminal: Terminal) -> dict[str, Evaluation]:
    """Predict every test split; returns the scores of those that have labels."""
    scores = {}
    for split, encoded in session.rows.test.items():
        with terminal.rows_bar(len(encoded), f"predicting {split}") as advance:
            scores[split] = session.predict(split, folder, advance)
    return {split: score for split, score in scores.items() if score is not None}


def _publish(folder: RunFolder, report: Report, events: Events) -> None:
    folder.write_json("all_results.json", dict(sorted(report.results.items())))
    folder.write_json("report.json", to_json(report))
    folder.update(status="finished", results=report.results)
    assert folder.run is not None
    if "train_loss" in report.results:
        folder.write("README.md", model_card(folder.run, report))
    events.emit("finished", **report.results)
