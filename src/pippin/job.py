"""One job from Recipe to Report: the way through all the packages, in one screen."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace

from pippin.checkpoints.lock import locked
from pippin.checkpoints.store import Store
from pippin.disk import disk_words
from pippin.errors import PippinError
from pippin.failures.explained import explained, write_here
from pippin.machine.backends import get_backend
from pippin.machine.backends.base import Backend
from pippin.machine.fallbacks import Fallbacks
from pippin.plan.plan import Choice
from pippin.planned import PlannedJob, plan_job
from pippin.recipe import Recipe
from pippin.records import to_json
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
from pippin.training.data_card import data_card
from pippin.training.events import Events
from pippin.training.inference import Evaluation
from pippin.training.interrupts import Interrupted
from pippin.training.resume import Resume, find_checkpoint, prepare_resume, run_before
from pippin.training.run import Run, RunFolder, now, open_folder
from pippin.training.saving import checkpoint_bytes
from pippin.training.seeding import deterministic_kernels
from pippin.training.session import Session, keeps_checkpoints


def run_job(recipe: Recipe, terminal: Terminal) -> Report:
    """Train, evaluate and predict as the recipe asks; returns the Report of the run's folder."""
    if recipe.output_dir:
        open_folder(recipe, "")  # refuses a folder in use before anything is read
    job = plan_job(recipe, terminal)
    folder = open_folder(recipe, job.data.name)
    if folder.before is not None and folder.before.status == "finished":
        return _finished_before(folder, terminal)
    backend = get_backend(job.plan.device.value)

    with (
        disk_words(folder.path),
        locked(folder.path),
        deterministic_kernels(recipe.full_determinism, backend),
        backend.quick_arithmetic(),
    ):
        with explained(backend, lambda: job.machine, write_here, debug=recipe.log_level == "debug"):
            verification = _verify_first(job, backend, terminal)
            session = Session(recipe, job.plan, job.data, job.rows, job.config, job.tokenizer)
        session.check_room(folder)
        resume = _find_resume(job, session, folder, terminal)
        # From here on the folder is ours: whatever could be refused has been.
        with (
            disk_words(folder.path, checkpoint_bytes(session.model)),
            _recorded(folder, job, resume, terminal) as events,
            explained(backend, lambda: job.machine, folder.write, debug=recipe.log_level == "debug"),
            _fallbacks(recipe, backend, events) as lacking,
        ):
            report = _carry_out(session, folder, events, resume, terminal, lacking, verification)
    terminal.show_report(report)
    return report


def _finished_before(folder: RunFolder, terminal: Terminal) -> Report:
    """A finished run is left as it is."""
    terminal.say_where(escape(f"{folder.path} is finished: there is nothing to go on with."))
    assert folder.before is not None
    if not keeps_checkpoints(folder.before.recipe, folder.before.plan):  # it may have died while removing them
        Store(folder.checkpoints).drop_all()
    report = read_report(folder.path)
    if report is None:
        raise PippinError(f"{folder.path} is finished, but its {REPORT} is gone or damaged: there is nothing to show.")
    return report


def _find_resume(job: PlannedJob, session: Session, folder: RunFolder, terminal: Terminal) -> Resume | None:
    """Where an unfinished run goes on; None for a new one. What was passed over or changed is said."""
    before = run_before(job.recipe, folder.before) if job.recipe.wants_training else None
    if before is None:
        return None
    found = find_checkpoint(job.recipe, session.store(folder))
    for name, why in found.passed_over:
        terminal.warn(f"{name} was passed over: {why}.")
    if found.path is None:
        terminal.note("nothing usable was saved: the run begins again.")
        return None
    resume = prepare_resume(found.path, found.step, job.recipe, job.plan, job.fingerprint, before)
    if before.machine.torch != job.machine.torch:
        terminal.warn(
            f"the run began with torch {before.machine.torch} and goes on with {job.machine.torch}: "
            "results may differ in the last digits."
        )
    for change in resume.changes:
        terminal.note(f"from here on: {change}.")
    terminal.say(f"going on from {resume.path.name} of {job.plan.steps.value}")
    return resume


def _carry_out(
    session: Session,
    folder: RunFolder,
    events: Events,
    resume: Resume | None,
    terminal: Terminal,
    lacking: Fallbacks,
    verification: str,
) -> Report:
    """Train, evaluate, predict; each result is written as soon as it is there."""
    recipe, rows = session.recipe, session.rows
    results: dict[str, float] = {}
    session.inference.notice = events.emit
    if verification:
        events.emit("verified", words=verification)
    outcome = session.train(folder, events, resume) if rows.train else None
    if outcome and outcome.micro_batch < session.plan.micro_batch.value:
        fitting = Choice(outcome.micro_batch, f"memory ran out with {session.plan.micro_batch.value}")
        folder.update(plan=replace(session.plan, micro_batch=fitting))
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
    report = replace(report, verification=verification)
    _publish(folder, report, events)
    session.finish(folder)
    return report


def _verify_first(job: PlannedJob, backend: Backend, terminal: Terminal) -> str:
    """What a GPU's comparison with the CPU found, before it trains."""
    if job.rows.train is None or backend.kind == "cpu":
        return ""
    from pippin.verify.first import verify_first  # of no use on the CPU, and it takes a moment

    return verify_first(job, backend, terminal.say)


def _fallbacks(recipe: Recipe, backend: Backend, events: Events) -> AbstractContextManager[Fallbacks]:
    """Operators that the device lacks run on the CPU and are counted, unless the recipe wants none of that."""
    if recipe.mps_fallback == "off":
        return nullcontext(Fallbacks())
    return backend.counting_fallbacks(lambda operator: events.emit("fallback", operator=operator))


@contextmanager
def _recorded(folder: RunFolder, job: PlannedJob, resume: Resume | None, terminal: Terminal) -> Iterator[Events]:
    """The run's folder with its record written first; whatever happens inside, the record says how it ended."""
    card = data_card(job.recipe, job.data, job.rows, job.plan)
    run = Run(job.recipe.public(), job.machine, job.plan, card, job.model, now(), fingerprint=job.fingerprint)
    progress = TrainingProgress(terminal)
    if resume is not None and folder.before is not None:
        folder.go_on(run, resume.step)
        events = Events(folder.events_path, progress.on_event, position=resume.state["events"])
    else:
        folder.begin(run)
        events = Events(folder.events_path, progress.on_event)
    page = LivePage(folder)
    events.listen(page.on_event)
    if job.recipe.wants_training:
        terminal.say(f"follow it in a browser: {folder.path / REPORT_PAGE}")
    trackers = Trackers(job.recipe, folder, terminal.warn)
    events.listen(trackers.on_event)
    if resume is not None:
        events.emit("resumed", step=resume.step, changes=list(resume.changes))
    try:
        trackers.open(resume.step if resume else 0)
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


def _predict(session: Session, folder: RunFolder, terminal: Terminal) -> dict[str, Evaluation]:
    """Predict every test split; returns the scores of those that have labels."""
    scores = {}
    for split, encoded in session.rows.test.items():
        with terminal.rows_bar(len(encoded), f"predicting {split}") as advance:
            scores[split] = session.predict(split, folder, advance)
    return {split: score for split, score in scores.items() if score is not None}


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
