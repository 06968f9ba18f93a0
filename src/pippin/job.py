"""One job from Recipe to Report: the way through all the packages, in one screen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pippin.data.dataset import Dataset
from pippin.failures.explained import explained
from pippin.machine.backends import get_backend
from pippin.machine.fallbacks import Fallbacks
from pippin.planned import PlannedJob, plan_job
from pippin.recipe import Recipe
from pippin.records import to_json
from pippin.report.card import model_card
from pippin.report.progress import TrainingProgress
from pippin.report.report import Report
from pippin.report.results import evaluation_results, make_report, train_results
from pippin.report.terminal import Terminal
from pippin.training.events import Events
from pippin.training.inference import Evaluation
from pippin.training.run import DataCard, Run, RunFolder, clear, now, open_folder
from pippin.training.seeding import deterministic_kernels
from pippin.training.session import Session


def run_job(recipe: Recipe, terminal: Terminal) -> Report:
    """Train, evaluate and predict as the recipe asks; returns the Report of the run's folder."""
    if recipe.output_dir:
        open_folder(recipe, "")  # refuses a folder in use before anything is read
    job = plan_job(recipe, terminal)
    folder = open_folder(recipe, job.data.name)
    backend = get_backend(job.plan.device.value)

    with deterministic_kernels(recipe.full_determinism, backend):
        session = Session(recipe, job.plan, job.data, job.rows, job.config, job.tokenizer)
        # From here on the folder is ours: whatever could be refused has been.
        with (
            _recorded(folder, job, terminal) as events,
            explained(backend, lambda: job.machine, folder.write, debug=recipe.log_level == "debug"),
            backend.counting_fallbacks(lambda operator: events.emit("fallback", operator=operator)) as lacking,
        ):
            report = _carry_out(session, folder, events, terminal, lacking)
    terminal.show_report(report)
    return report


def _carry_out(session: Session, folder: RunFolder, events: Events, terminal: Terminal, lacking: Fallbacks) -> Report:
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
    report = make_report(str(folder.path), results, session.data, outcome, evaluations, tests, lacking.by_cost())
    _publish(folder, report, events)
    return report


@contextmanager
def _recorded(folder: RunFolder, job: PlannedJob, terminal: Terminal) -> Iterator[Events]:
    """The run's folder with its record written first; whatever happens inside, the record says how it ended."""
    clear(folder)
    folder.begin(Run(job.recipe.public(), job.machine, job.plan, _data_card(job.data), job.model, now()))
    progress = TrainingProgress(terminal)
    events = Events(folder.events_path, progress.on_event)
    try:
        yield events
    except BaseException as error:
        status = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        events.emit(status, error=type(error).__name__)
        folder.update(status=status)
        progress.stop()
        if status == "interrupted":
            terminal.warn(f"{folder.path} holds what was written until the interruption, and no finished model.")
        raise
    finally:
        progress.stop()
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
