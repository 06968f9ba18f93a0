"""One job from Recipe to Report: the way through all the packages, in one screen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pippin.data.dataset import Dataset, prepare
from pippin.data.encoding import encode
from pippin.data.sources import find_source
from pippin.machine.machine import Machine
from pippin.machine.probe import probe
from pippin.models.loading import (
    display_name,
    load_config,
    load_tokenizer,
    longest_input,
    match_classes,
    resolve_model,
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
from pippin.training.run import DataCard, Run, RunFolder, clear, now, open_folder
from pippin.training.session import EncodedSplits, Session


def run_job(recipe: Recipe, terminal: Terminal) -> Report:
    """Train, evaluate and predict as the recipe asks; returns the Report of the run's folder."""
    if recipe.output_dir:
        open_folder(recipe, "")  # refuses a folder in use before anything is read
    data = prepare(find_source(recipe), recipe)
    folder = open_folder(recipe, data.name)
    terminal.show_findings(data.columns.reason, data.notes, data.warnings)
    machine = probe()
    choose_device(recipe, machine)  # refuses a device that is not there before the model is loaded
    data = data.with_classes(match_classes(data.labels, recipe))
    config, tokenizer = load_config(recipe, data.labels), load_tokenizer(recipe)
    rows, plan = _encode_and_plan(recipe, machine, data, config, tokenizer)
    _show(data, rows, plan, recipe, terminal)

    with _recorded(folder, recipe, machine, plan, data, terminal) as events:
        session = Session(recipe, plan, data, rows, config, tokenizer, folder, events)
        results: dict[str, float] = {}
        outcome = session.train() if recipe.wants_training else None
        if outcome and rows.train:
            results |= train_results(outcome, len(rows.train), session.model)
            session.save_model()
            folder.write_json("train_results.json", results)
        evaluations = session.evaluate_all() if recipe.wants_evaluation else {}
        if evaluations:
            results |= evaluation_results(evaluations, "eval")
            epoch = {"epoch": results["epoch"]} if outcome else {}
            folder.write_json("eval_results.json", epoch | evaluation_results(evaluations, "eval"))
        tests = _predict(session, terminal) if recipe.wants_prediction else {}
        if tests:
            results |= evaluation_results(tests, "test")
            folder.write_json("predict_results.json", evaluation_results(tests, "test"))
        report = make_report(str(folder.path), results, data, outcome, evaluations, tests)
        _publish(folder, report, events)
    terminal.show_report(report)
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


def _show(data: Dataset, rows: EncodedSplits, plan: Plan, recipe: Recipe, terminal: Terminal) -> None:
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
        events.emit("failed", error=type(error).__name__)
        folder.update(status="failed")
        raise
    finally:
        terminal.stop_training()
        events.close()


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


def _predict(session: Session, terminal: Terminal) -> dict[str, Any]:
    """Predict every test split; returns the scores of those that have labels."""
    scores = {}
    for split, encoded in session.rows.test.items():
        with terminal.rows_bar(len(encoded), f"predicting {split}") as advance:
            scores[split] = session.predict(split, advance)
    return {split: score for split, score in scores.items() if score is not None}


def _publish(folder: RunFolder, report: Report, events: Events) -> None:
    folder.write_json("all_results.json", dict(sorted(report.results.items())))
    folder.write_json("report.json", to_json(report))
    folder.update(status="finished", results=report.results)
    assert folder.run is not None
    if "train_loss" in report.results:
        folder.write("README.md", model_card(folder.run, report))
    events.emit("finished", **report.results)
