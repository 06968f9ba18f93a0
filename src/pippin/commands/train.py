"""One job from Recipe to Report: the way through all the packages, in one screen."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING, Any

from pippin.commands.failures.explained import explained, write_here
from pippin.commands.planning import PlannedJob, plan_job, read_data
from pippin.commands.recording import recorded
from pippin.commands.sharing import Lead, Orders
from pippin.disk import disk_words, free_bytes
from pippin.engine.inference import Evaluation
from pippin.engine.loop import Outcome
from pippin.engine.seeding import arithmetic, conditions
from pippin.engine.session import Session, lacking_operators
from pippin.errors import PippinError
from pippin.machine.drivers import get_backend
from pippin.machine.drivers.base import Backend
from pippin.models.completeness import Loaded
from pippin.models.keeping import save_model
from pippin.models.loading import fingerprint_of, load_model
from pippin.plan.plan import Choice
from pippin.plan.trained import ADAPTERS
from pippin.recipe import Recipe
from pippin.records import from_json, to_json
from pippin.report.card import model_card
from pippin.report.page.history import read_history
from pippin.report.page.run_page import NAME as REPORT_PAGE
from pippin.report.page.run_page import run_page
from pippin.report.report import NAME as REPORT
from pippin.report.report import Report, read_report
from pippin.report.results import evaluation_results, make_report, train_results
from pippin.report.terminal import Terminal, escape
from pippin.runs.checkpoints.lock import locked
from pippin.runs.checkpoints.store import Store
from pippin.runs.data_card import data_card
from pippin.runs.events import Events
from pippin.runs.folder import RunFolder
from pippin.runs.opening import open_folder
from pippin.runs.predictions import write_predictions
from pippin.runs.record import Run, now
from pippin.runs.resume import Start, find_start, named_checkpoint
from pippin.runs.rules import Changes, changes_since
from pippin.runs.saving import Saver, checkpoint_bytes, room_needed
from pippin.text import memory

if TYPE_CHECKING:
    import torch


def run_job(recipe: Recipe, terminal: Terminal, lead: Lead | None = None) -> Report:
    """Train, evaluate and predict as the recipe asks; returns the Report of the run's folder.

    ``lead`` hands out orders where several processes share the job.
    """
    lead = lead or Lead()
    if recipe.output_dir:
        open_folder(recipe, "")  # refuses a folder in use before anything is read
    data = read_data(recipe, terminal)
    folder = open_folder(recipe, data.name)
    folder.warn = terminal.warn
    if folder.resumes and folder.before is not None and folder.before.is_finished:
        if named_checkpoint(recipe):
            find_start(folder, lambda name, why: None, named_checkpoint(recipe))  # refuses that of another run
        return _finished_before(folder, terminal)
    with disk_words(folder.path), locked(folder.path):
        if folder.before is not None:  # it may have changed while another run had the lock
            folder = open_folder(recipe, data.name)
            folder.warn = terminal.warn
        folder.recover()
        start = _find_start(recipe, folder, terminal)
        if start and start.record.plan.execution.shards.value and not recipe.reduce:
            recipe = replace(recipe, reduce="exact")  # as it began, however many processes there are now
        least = lead.tightest.free_memory if lead.tightest else None
        if lead.tightest and lead.tightest.host != gethostname():
            free = memory(lead.tightest.free_memory or 0)
            terminal.note(f"{lead.tightest.host} has the least free memory, {free}: the plan is made to fit there.")
        job = plan_job(recipe, terminal, data=data, start=start.path if start else None, most_memory=least)
        backend = get_backend(job.plan.execution.device.value)
        with conditions(job.plan, backend, start.record.arithmetic if start else None):
            report = _run(job, folder, start, backend, terminal, lead)
    terminal.show_report(report)
    return report


def _run(
    job: PlannedJob, folder: RunFolder, start: Start | None, backend: Backend, terminal: Terminal, lead: Lead
) -> Report:
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
        changes = _changes(job, run, start, terminal)
        lead.give(_orders(job, start, changes))
        is_trained = bool(start and start.is_trained)
        session = Session(plan, job.data.task, job.rows, load, is_trained, lead.group)
    _say_of_model(job, loaded[0], terminal)
    store = folder.store(run.id, plan.schedule.save_total_limit)
    store.check_place()
    _check_room(session, folder, store)
    # From here on the folder is ours: whatever could be refused has been.
    with (
        disk_words(folder.path, checkpoint_bytes(session.model)),
        recorded(folder, job, run, start, changes, terminal) as events,
        explained(backend, lambda: job.machine, folder.write, debug=debug),
        lacking_operators(plan, backend, lambda operator: events.emit("fallback", operator=operator)) as lacking,
    ):
        session.inference.notice = events.emit
        if verification:
            events.emit("verified", words=verification)
        outcome = _trained(job, session, folder, events, start, changes) if job.rows.train else None
        report = _judged(job, session, folder, outcome, terminal)
        report = replace(report, fallbacks=lacking.by_cost(), verification=verification)
        _publish(folder, report, events)
        if not plan.keeps_checkpoints:  # they only served to go on
            store.drop_all()
        return report


def _orders(job: PlannedJob, start: Start | None, changes: Changes | None) -> Orders:
    """What the other processes are told."""
    is_trained = bool(start and start.is_trained)
    trains = job.rows.train is not None and not is_trained
    return Orders(
        job.plan,
        job.data.task,
        job.rows,
        job.data.train,
        job.config,
        job.facts.adapters,
        trains,
        job.recipe.wants_evaluation,
        job.recipe.wants_prediction,
        start.record.arithmetic if start else None,
        start.state if start and trains else None,
        bool(changes and changes.new_rates),
    )


def _finished_before(folder: RunFolder, terminal: Terminal) -> Report:
    terminal.say_where(escape(f"{folder.path} is finished: there is nothing to resume."))
    before = folder.before
    assert before is not None
    if not before.plan.keeps_checkpoints:  # it may have died while removing them
        folder.store(before.id).drop_all()
    report = read_report(folder.path)
    if report is None:
        raise PippinError(f"{folder.path} is finished, but its {REPORT} is missing or damaged.")
    return report


def _find_start(recipe: Recipe, folder: RunFolder, terminal: Terminal) -> Start | None:
    """Where an unfinished run goes on; None for a new one."""
    named = named_checkpoint(recipe)
    if not recipe.wants_training or not (folder.resumes or named):
        return None
    start = find_start(folder, lambda name, why: terminal.warn(f"skipped {name}: {why}."), named)
    if start is None:
        terminal.note("no usable checkpoint was saved: starting over.")
    return start


def _new_record(job: PlannedJob, backend: Backend) -> Run:
    # Said in the record, so that a run that is resumed by fewer processes goes on adding in the same order.
    recipe = replace(job.recipe.public(), processes=None, hosts=())
    if job.plan.execution.shards.value:
        recipe = replace(recipe, reduce="exact")
    return Run(
        recipe,
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

    kept, adds = job.plan.execution.kept.value, job.plan.execution.trained.value == ADAPTERS and start is None

    def load(attention: str | None) -> torch.nn.Module:
        model: Any = load_model(source, job.config, attention, take_note, job.data.task.auto_model, kept)
        if adds:
            model.base_fingerprint = fingerprint_of(source)
        return model

    return load


def _say_of_model(job: PlannedJob, loaded: Loaded, terminal: Terminal) -> None:
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
        terminal.warn(f"last digits of the results may differ. Changed since it began: {'; '.join(changes.digits)}.")
    where = "after training" if start.is_trained else f"from {start.path.name} of {job.plan.schedule.steps.value}"
    terminal.say(f"resuming {where}")
    return changes


def _check_room(session: Session, folder: RunFolder, store: Store) -> None:
    """Refuse to start what the disk cannot hold: the checkpoints that are kept, and one that is being written.

    Those that are there already have their room.
    """
    needed = room_needed(session.model, store.keep) - store.bytes()
    free = free_bytes(folder.path)
    if session.rows.train and free < needed:
        raise PippinError(
            f"{folder.path}: this run needs {memory(needed)} for its checkpoints, but the disk has only "
            f"{memory(free)} free. Free some space, or name an --output_dir on another disk."
        )


def _trained(
    job: PlannedJob, session: Session, folder: RunFolder, events: Events, start: Start | None, changes: Changes | None
) -> Outcome:
    """What training left behind: the model is in the folder when this returns, so that none of it is lost."""
    if start is not None and start.is_trained:
        assert start.record.trained is not None
        session.settle()
        return from_json(Outcome, start.record.trained.outcome)
    assert job.data.train is not None
    with closing(Saver(folder, events, session.model, job.tokenizer, job.plan)) as saver:
        state = start.state if start else None
        new_rates = bool(changes and changes.new_rates)
        outcome = session.train(job.data.train, events.emit, saver, state, new_rates, _samples(job, session))
    session.settle()

    def save(staging: Path) -> None:
        save_model(session.model, staging, session.finished_weights)
        job.tokenizer.save_pretrained(staging)

    folder.install(save, to_json(outcome), events.position)
    return outcome


def _samples(job: PlannedJob, session: Session) -> Callable[[], Iterable[dict[str, Any]]]:
    if job.data.task.reads != "targets":
        return tuple
    from pippin.commands.samples import sampler  # of no use to others, and it takes a moment

    return sampler(job, session)


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
    return make_report(str(folder.path), results, job.data, rows, outcome, evaluations, tests)


def _verify_first(job: PlannedJob, backend: Backend, terminal: Terminal) -> str:
    """What a GPU's comparison with the CPU found, before it trains."""
    if job.rows.train is None or not backend.traits.is_gpu:
        return ""
    from pippin.commands.verify.verify import verify_first  # of no use on the CPU, and it takes a moment

    return verify_first(job, backend, terminal.say)


def _predict(job: PlannedJob, session: Session, folder: RunFolder, terminal: Terminal) -> dict[str, Evaluation]:
    """Predict every test split; returns the scores of those that have labels."""
    scores = {}
    for split, encoded in job.rows.test.items():
        with terminal.rows_bar(len(encoded), f"predicting {split}") as advance:
            if encoded.labels is None:
                scorer = session.predict(encoded, advance)
            else:
                scores[split] = session.evaluate(encoded, advance)
                scorer = scores[split].scorer
        write_predictions(folder, split, job.data, scorer, has_labels=encoded.labels is not None)
    return scores


def _publish(folder: RunFolder, report: Report, events: Events) -> None:
    folder.write_json("all_results.json", dict(sorted(report.results.items())))
    folder.write_json(REPORT, to_json(report))
    finished = replace(folder.record, status="finished", results=report.results)
    if "train_loss" in report.results:
        folder.write("README.md", model_card(finished, report))
    events.emit("finished", **report.results)
    folder.write(REPORT_PAGE, run_page(finished, read_history(folder.events_path), report, str(folder.path)))
    folder.update(status="finished", results=report.results)  # last: what is finished is whole
