"""One job from Recipe to Report: the way through all the packages, in one screen."""

from __future__ import annotations

import os
import secrets
import shlex
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pippin.commands.failures.explained import explained, write_here
from pippin.commands.planning import PlannedJob, plan_job, read_data
from pippin.disk import disk_words, free_bytes
from pippin.engine.arithmetic import arithmetic, threads_of
from pippin.engine.inference import Evaluation
from pippin.engine.interrupts import Interrupted
from pippin.engine.loop import Outcome
from pippin.engine.seeding import deterministic_kernels
from pippin.engine.session import Session
from pippin.errors import PippinError
from pippin.machine.drivers import get_backend
from pippin.machine.drivers.base import Backend
from pippin.machine.fallbacks import Fallbacks
from pippin.models.completeness import Loaded
from pippin.models.loading import load_model
from pippin.plan.plan import Choice, Plan
from pippin.recipe import Recipe
from pippin.records import from_json, to_json
from pippin.report.card import model_card
from pippin.report.page.history import read_history
from pippin.report.page.live import LivePage
from pippin.report.page.run_page import NAME as REPORT_PAGE
from pippin.report.page.run_page import run_page
from pippin.report.progress import TrainingProgress
from pippin.report.report import NAME as REPORT
from pippin.report.report import Report, read_report
from pippin.report.results import evaluation_results, make_report, train_results
from pippin.report.terminal import Terminal, escape
from pippin.report.trackers.trackers import Trackers
from pippin.runs.checkpoints.lock import locked
from pippin.runs.checkpoints.store import Store
from pippin.runs.data_card import data_card
from pippin.runs.events import Events
from pippin.runs.folder import RunFolder
from pippin.runs.opening import inputs_of, open_folder
from pippin.runs.predictions import write_predictions
from pippin.runs.record import Run, now
from pippin.runs.resume import Start, find_start, named_checkpoint
from pippin.runs.rules import Changes, changes_since
from pippin.runs.saving import Saver, checkpoint_bytes, room_needed, store_of
from pippin.tasks.base import Scorer
from pippin.text import memory

if TYPE_CHECKING:
    import torch


def run_job(recipe: Recipe, terminal: Terminal) -> Report:
    """Train, evaluate and predict as the recipe asks; returns the Report of the run's folder."""
    if recipe.output_dir:
        open_folder(recipe, "")  # refuses a folder in use before anything is read
    data = read_data(recipe, terminal)
    folder = open_folder(recipe, data.name)
    folder.warn = terminal.warn
    if folder.resumes and folder.before is not None and folder.before.is_finished:
        if named_checkpoint(recipe):
            find_start(folder, named_checkpoint(recipe))  # refuses that of another run
        return _finished_before(folder, terminal)
    with disk_words(folder.path), locked(folder.path):
        if folder.before is not None:  # it may have changed while another run had the lock
            folder = open_folder(recipe, data.name)
            folder.warn = terminal.warn
        folder.recover()
        start = _find_start(recipe, folder, terminal)
        job = plan_job(recipe, terminal, data=data, start=start.path if start else None)
        backend = get_backend(job.plan.execution.device.value)
        with (
            threads_of(start.record.arithmetic if start else None),
            deterministic_kernels(job.plan.execution.full_determinism, backend),
            backend.quick_arithmetic(),
        ):
            report = _run(job, folder, start, backend, terminal)
    terminal.show_report(report)
    return report


def _run(job: PlannedJob, folder: RunFolder, start: Start | None, backend: Backend, terminal: Terminal) -> Report:
    plan, debug = job.plan, job.recipe.log_level == "debug"
    run = _new_record(job, backend)
    if start is not None:
        run = replace(run, id=start.record.id, trained=start.record.trained if start.is_trained else None)
    elif folder.resumes and folder.before:  # it begins again
        run = replace(run, id=folder.before.id, started=folder.before.started)
    with explained(backend, lambda: job.machine, write_here, debug=debug):
        verification = _verify_first(job, backend, terminal)
        loaded: list[Loaded] = []
        load = _loading(job, start, loaded.append)
        session = Session(plan, job.data.task, job.rows, load, is_trained=bool(start and start.is_trained))
    _say_of_model(job, loaded[0], terminal)
    store = folder.store(run.id, plan.schedule.save_total_limit)
    store.check_place()
    _check_room(session, folder, store)
    changes = _changes(job, run, start, terminal)
    # From here on the folder is ours: whatever could be refused has been.
    with (
        disk_words(folder.path, checkpoint_bytes(session.model)),
        _recorded(folder, job, run, start, changes, terminal) as events,
        explained(backend, lambda: job.machine, folder.write, debug=debug),
        _fallbacks(plan, backend, events) as lacking,
    ):
        session.inference.notice = events.emit
        if verification:
            events.emit("verified", words=verification)
        outcome = _trained(job, session, folder, events, start, changes) if job.rows.train else None
        report = _judged(job, session, folder, outcome, terminal)
        report = replace(report, fallbacks=lacking.by_cost(), verification=verification)
        _publish(folder, report, events)
        if not plan.keeps_checkpoints:  # they only served to go on
            store_of(folder, plan).drop_all()
        return report


def _finished_before(folder: RunFolder, terminal: Terminal) -> Report:
    """A finished run is left as it is."""
    terminal.say_where(escape(f"{folder.path} is finished: there is nothing to go on with."))
    before = folder.before
    assert before is not None
    if not before.plan.keeps_checkpoints:  # it may have died while removing them
        folder.store(before.id).drop_all()
    report = read_report(folder.path)
    if report is None:
        raise PippinError(f"{folder.path} is finished, but its {REPORT} is gone or damaged: there is nothing to show.")
    return report


def _find_start(recipe: Recipe, folder: RunFolder, terminal: Terminal) -> Start | None:
    """Where an unfinished run goes on; None for a new one. What was passed over is said."""
    named = named_checkpoint(recipe)
    if not recipe.wants_training or not (folder.resumes or named):
        return None
    found = find_start(folder, named)
    for name, why in found.passed_over:
        terminal.warn(f"{name} was passed over: {why}.")
    if found.start is None:
        terminal.note("nothing usable was saved: the run begins again.")
    return found.start


def _new_record(job: PlannedJob, backend: Backend) -> Run:
    return Run(
        job.recipe.public(),
        job.machine,
        job.plan,
        data_card(job.data, job.rows, job.plan),
        job.model,
        now(),
        secrets.token_hex(16),
        os.getcwd(),
        arithmetic(backend),
        fingerprint=job.fingerprint,
    )


def _loading(
    job: PlannedJob, start: Start | None, on_loaded: Callable[[Loaded], None]
) -> Callable[[str | None], torch.nn.Module]:
    """What loads the job's model, or that of the run that goes on; ``on_loaded`` hears what came out of its file."""
    source = job.recipe.using_model(str(start.path)) if start else job.recipe

    def take_note(loaded: Loaded) -> None:
        on_loaded(loaded)
        if job.rows.train is None or start is not None:
            loaded.require_whole()

    return lambda attention: load_model(source, job.config, attention, take_note, job.data.task.auto_model)


def _say_of_model(job: PlannedJob, loaded: Loaded, terminal: Terminal) -> None:
    """What did not come out of the model's file."""
    for text in loaded.notes():
        terminal.note(text)
    if job.other_classes and not loaded.new:
        terminal.warn(job.other_classes)


def _changes(job: PlannedJob, run: Run, start: Start | None, terminal: Terminal) -> Changes | None:
    """What is other than when an unfinished run was begun; refused where it would give nonsense, else said."""
    if start is None:
        return None
    changes = changes_since(start.record, job.recipe, job.plan, job.fingerprint, run.arithmetic)
    for change in changes.applied:
        terminal.note(f"from here on: {change}.")
    if changes.digits:
        terminal.warn(f"results may differ in their last digits, for since the run began: {'; '.join(changes.digits)}.")
    terminal.say(
        "its training is done: going on with what comes after"
        if start.is_trained
        else f"going on from {start.path.name} of {job.plan.schedule.steps.value}"
    )
    return changes


def _check_room(session: Session, folder: RunFolder, store: Store) -> None:
    """Refuse to start what the disk cannot hold: the checkpoints that are kept, and one that is being written.

    Those that are there already have their room.
    """
    needed = room_needed(session.model, store.keep) - store.bytes()
    free = free_bytes(folder.path)
    if session.rows.train and free < needed:
        raise PippinError(
            f"{folder.path}: this run needs {memory(needed)} for its checkpoints, and the disk has "
            f"{memory(free)} free. Free some room, or name an --output_dir on another disk."
        )


def _trained(
    job: PlannedJob, session: Session, folder: RunFolder, events: Events, start: Start | None, changes: Changes | None
) -> Outcome:
    """What training left behind: the model is in the folder when this returns, so that none of it is lost."""
    if start is not None and start.is_trained:
        assert start.record.trained is not None
        return from_json(Outcome, start.record.trained.outcome)
    assert job.data.train is not None
    with closing(Saver(folder, events, session.model, job.tokenizer, job.plan)) as saver:
        state = start.state if start else None
        outcome = session.train(job.data.train, events.emit, saver, state, bool(changes and changes.new_rates))

    def save(staging: Path) -> None:
        session.model.save_pretrained(staging)
        job.tokenizer.save_pretrained(staging)

    folder.install(save, to_json(outcome), events.position)
    return outcome


def _judged(
    job: PlannedJob, session: Session, folder: RunFolder, outcome: Outcome | None, terminal: Terminal
) -> Report:
    """Evaluate and predict; each result is written as soon as it is there."""
    recipe, rows = job.recipe, job.rows
    results: dict[str, float] = {}
    if outcome and outcome.micro_batch < job.plan.batches.micro_batch.value:
        fitting = Choice(outcome.micro_batch, f"memory ran out with {job.plan.batches.micro_batch.value}")
        folder.update(plan=job.plan.changed(micro_batch=fitting))
    if outcome and rows.train:
        results |= train_results(outcome, len(rows.train), session.model)
        folder.write_json("train_results.json", results)
    evaluations = session.evaluate_all() if recipe.wants_evaluation else {}
    if evaluations:
        results |= evaluation_results(evaluations, "eval")
        epoch = {"epoch": results["epoch"]} if outcome else {}
        folder.write_json("eval_results.json", epoch | evaluation_results(evaluations, "eval"))
    tests = _predict(job, session, folder, terminal) if recipe.wants_prediction else {}
    if tests:
        results |= evaluation_results(tests, "test")
        folder.write_json("predict_results.json", evaluation_results(tests, "test"))
    return make_report(str(folder.path), results, job.data, outcome, evaluations, tests)


def _verify_first(job: PlannedJob, backend: Backend, terminal: Terminal) -> str:
    """What a GPU's comparison with the CPU found, before it trains."""
    if job.rows.train is None or not backend.traits.is_gpu:
        return ""
    from pippin.commands.verify.first import verify_first  # of no use on the CPU, and it takes a moment

    return verify_first(job, backend, terminal.say)


def _fallbacks(plan: Plan, backend: Backend, events: Events) -> AbstractContextManager[Fallbacks]:
    """Operators that the device lacks run on the CPU and are counted, unless none of that is wanted."""
    if plan.execution.mps_fallback == "off":
        return nullcontext(Fallbacks())
    return backend.counting_fallbacks(lambda operator: events.emit("fallback", operator=operator))


@contextmanager
def _recorded(
    folder: RunFolder, job: PlannedJob, run: Run, start: Start | None, changes: Changes | None, terminal: Terminal
) -> Iterator[Events]:
    """The run's folder with its record written first; whatever happens inside, the record says how it ended."""
    progress = TrainingProgress(terminal)
    if start is not None and folder.before is not None:
        folder.go_on(run, "after training" if start.is_trained else f"from step {start.step}")
        events = Events(folder.events_path, progress.on_event)
        events.go_back(start.record.trained.events if start.record.trained else start.state["events"], start.step)
    else:
        folder.begin(run, inputs_of(job.recipe))
        events = Events(folder.events_path, progress.on_event)
    page = LivePage(folder)
    events.listen(page.on_event)
    if job.recipe.wants_training:
        terminal.say(f"follow it in a browser: {folder.path / REPORT_PAGE}")
    trackers = Trackers(job.recipe, folder, terminal.warn)
    events.listen(trackers.on_event)
    if start is not None:
        events.emit("resumed", step=start.step, changes=list(changes.applied if changes else ()))
    try:
        trackers.open(start.step if start else 0 if folder.resumes else None)
        yield events
    except BaseException as error:
        progress.stop()
        status = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        with suppress(OSError):  # a full disk refuses this too
            events.emit(status, error=type(error).__name__)
            folder.update(status=status)
            page.end()
        if isinstance(error, KeyboardInterrupt):
            words = f"{str(error) or 'stopped at once'}. Go on with: pippin resume {shlex.quote(str(folder.path))}"
            raise Interrupted(words, getattr(error, "signal", signal.SIGINT)) from None
        raise
    finally:
        progress.stop()
        trackers.close()
        with suppress(OSError):
            events.close()


def _predict(job: PlannedJob, session: Session, folder: RunFolder, terminal: Terminal) -> dict[str, Evaluation]:
    """Predict every test split; returns the scores of those that have labels."""
    scores = {}
    for split, encoded in job.rows.test.items():
        with terminal.rows_bar(len(encoded), f"predicting {split}") as advance:
            if encoded.labels is None:
                scorer: Scorer = job.data.task.scorer(encoded)
                session.inference.run(encoded, scorer.add, advance)
            else:
                scores[split] = session.evaluate(encoded, advance)
                scorer = scores[split].scorer
        write_predictions(folder, split, job.data, scorer, has_labels=encoded.labels is not None)
    return scores


def _publish(folder: RunFolder, report: Report, events: Events) -> None:
    folder.write_json("all_results.json", dict(sorted(report.results.items())))
    folder.write_json(REPORT, to_json(report))
    assert folder.run is not None
    finished = replace(folder.run, status="finished", results=report.results)
    if "train_loss" in report.results:
        folder.write("README.md", model_card(finished, report))
    events.emit("finished", **report.results)
    folder.write(REPORT_PAGE, run_page(finished, read_history(folder.events_path), report, str(folder.path)))
    folder.update(status="finished", results=report.results)  # last: what is finished is whole
