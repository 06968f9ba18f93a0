"""One job from Recipe to Report. Each line of `run_job` is a noun made from the ones before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pippin.data.dataset import Dataset, prepare
from pippin.data.encoding import Encoded, encode
from pippin.data.sources import find_source
from pippin.machine.backends import get_backend
from pippin.machine.probe import probe
from pippin.models.loading import (
    display_name,
    load_config,
    load_model,
    load_tokenizer,
    longest_input,
    match_classes,
    resolve_model,
)
from pippin.models.training_mode import prepare_for_training
from pippin.plan.device import choose_device
from pippin.plan.make import Rows, make_plan
from pippin.plan.plan import Plan
from pippin.recipe import Recipe
from pippin.records import to_json
from pippin.report.card import model_card
from pippin.report.report import Report
from pippin.report.terminal import Terminal
from pippin.training.copies import Copies
from pippin.training.events import Events
from pippin.training.inference import Evaluation, Inference, evaluate
from pippin.training.loop import Outcome, Training, count_flops, train
from pippin.training.losses import Loss
from pippin.training.metrics import confusion, per_class
from pippin.training.optimiser import make_optimiser, make_schedule
from pippin.training.predictions import write_predictions
from pippin.training.run import DataCard, Run, RunFolder, clear, now, open_folder
from pippin.training.seeding import seed_everything
from pippin.training.step import EagerStep


def run_job(recipe: Recipe, terminal: Terminal) -> Report:
    """Train, evaluate and predict as the recipe asks; returns the Report of the run's folder."""
    if recipe.output_dir:
        open_folder(recipe, "")  # refuses a folder in use before anything is read
    data = prepare(find_source(recipe), recipe)
    folder = open_folder(recipe, data.name)
    for note in data.notes:
        terminal.note(note)
    for warning in data.warnings:
        terminal.warn(warning)
    machine = probe()
    choose_device(recipe, machine)  # refuses a device that is not there before the model is loaded
    labels = match_classes(data.labels, recipe)
    data = data.with_classes(labels)
    config, tokenizer = load_config(recipe, labels), load_tokenizer(recipe)
    rows, plan = _encode_and_plan(recipe, machine, data, config, tokenizer)
    _say_what_was_cut(rows, plan, terminal)
    _show(data, plan, recipe, terminal)

    clear(folder)
    card = _data_card(data)
    folder.begin(
        Run(
            recipe.public(),
            machine,
            plan,
            card,
            display_name(resolve_model(recipe.model_name_or_path)),
            now(),
        )
    )
    events = Events(folder.events_path, terminal.on_event)
    try:
        report = _Work(recipe, plan, data, rows, config, tokenizer, folder, events, terminal).do()
    except BaseException as error:
        events.emit("failed", error=type(error).__name__)
        folder.update(status="failed")
        raise
    finally:
        terminal.stop_training()
        events.close()
    terminal.show_report(report)
    return report


@dataclass(frozen=True)
class _EncodedSplits:
    train: Encoded | None
    validation: dict[str, Encoded]
    test: dict[str, Encoded]

    def all(self) -> list[Encoded]:
        return [*([self.train] if self.train else []), *self.validation.values(), *self.test.values()]


def _encode_and_plan(
    recipe: Recipe, machine: Any, data: Dataset, config: Any, tokenizer: Any
) -> tuple[_EncodedSplits, Plan]:
    limit = longest_input(tokenizer, config)
    length = min(recipe.max_seq_length, limit or recipe.max_seq_length)
    rows = _EncodedSplits(
        encode(data.train, tokenizer, length) if data.train and recipe.wants_training else None,
        {name: encode(split, tokenizer, length) for name, split in data.validation.items()},
        {name: encode(split, tokenizer, length) for name, split in data.test.items()},
    )
    facts = Rows(
        lengths=rows.train.lengths if rows.train else None,
        longest=max((int(split.lengths.max()) for split in rows.all()), default=0),
        outputs=data.labels.outputs,
        has_validation=bool(rows.validation),
    )
    return rows, make_plan(recipe, machine, data.task, config, limit, facts)


def _say_what_was_cut(rows: _EncodedSplits, plan: Plan, terminal: Terminal) -> None:
    cut, total = sum(split.cut for split in rows.all()), sum(len(split) for split in rows.all())
    if cut:
        terminal.note(f"{cut} of {total} texts are longer than {plan.max_length.value} tokens and were cut.")


def _show(data: Dataset, plan: Plan, recipe: Recipe, terminal: Terminal) -> None:
    terminal.say(f"columns: {data.columns.reason}")
    sizes = [f"{len(split)} {name}" for name, split in (("training", data.train),) if split is not None]
    sizes += [
        f"{len(split)} {name.replace('_', ' ')}" for name, split in [*data.validation.items(), *data.test.items()]
    ]
    kind = "numbers" if data.labels.regression else f"{len(data.labels.names)} classes"
    model = display_name(resolve_model(recipe.model_name_or_path))
    terminal.show_plan(plan, f"{data.name}: {', '.join(sizes)} rows, {kind} · {model}")


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


@dataclass
class _Work:
    """The part of a job that has a model in hand."""

    recipe: Recipe
    plan: Plan
    data: Dataset
    rows: _EncodedSplits
    config: Any
    tokenizer: Any
    folder: RunFolder
    events: Events
    terminal: Terminal

    def do(self) -> Report:
        self.backend = get_backend(self.plan.device.value)
        if self.recipe.tf32 is not None:
            self.backend.set_tf32(self.recipe.tf32)
        seed_everything(self.recipe.seed, self.backend, self.recipe.full_determinism)
        self.model: Any = self.backend.place(load_model(self.recipe, self.config))
        self.loss = Loss(self.data.labels.regression, self.recipe.label_smoothing_factor)
        self.inference = Inference(
            self.model,
            self.backend,
            self.plan.precision.value,
            self.plan.pad_lengths.value,
            self.pad_token,
            self.recipe.per_device_eval_batch_size,
        )
        results: dict[str, float] = {}
        outcome = self._train() if self.recipe.wants_training else None
        if outcome:
            results |= self._train_results(outcome)
            self._save_model()
            self.folder.write_json("train_results.json", results)
        evaluations = self._evaluate_all() if self.recipe.wants_evaluation else {}
        eval_results = self._eval_results(evaluations, results.get("epoch"))
        if eval_results:
            self.folder.write_json("eval_results.json", eval_results)
        tests = self._predict() if self.recipe.do_predict or not self.recipe.is_classic else {}
        test_results = {key: value for test in tests.values() for key, value in test.results("test").items()}
        if test_results:
            self.folder.write_json("predict_results.json", test_results)
        results |= eval_results | test_results
        self.folder.write_json("all_results.json", dict(sorted(results.items())))
        return self._finish(results, outcome, evaluations, tests)

    @property
    def pad_token(self) -> int:
        return self.tokenizer.pad_token_id or 0

    def _train(self) -> Outcome:
        assert self.rows.train is not None
        prepare_for_training(self.model, self.recipe)
        optimiser = make_optimiser(self.model, self.recipe, self.plan.learning_rate.value)
        step = EagerStep(
            self.model,
            optimiser,
            make_schedule(optimiser, self.recipe, self.plan),
            self.loss,
            self.backend,
            self.plan.precision.value,
            self.recipe.max_grad_norm,
        )
        copies = Copies(self.folder.checkpoints, self.recipe.save_total_limit)
        # Dropout draws from here on: the same stream whatever the loading of the model drew.
        seed_everything(self.recipe.seed, self.backend, self.recipe.full_determinism)
        self.events.emit("started", steps=self.plan.steps.value)
        self.terminal.start_training(self.plan.steps.value)
        outcome = train(
            Training(
                self.recipe,
                self.plan,
                self.backend,
                step,
                self.rows.train,
                self.pad_token,
                self._evaluate_first,
                self.events,
                copies,
            )
        )
        self.terminal.stop_training()
        if self.recipe.save_strategy is None:
            copies.drop_all()  # the best one is now the run's model
        return outcome

    def _evaluate_first(self) -> Evaluation:
        return self._evaluate(next(iter(self.rows.validation.values())))

    def _evaluate(self, encoded: Encoded) -> Evaluation:
        return evaluate(self.inference, encoded, self.data.task, self.data.labels, self.loss)

    def _evaluate_all(self) -> dict[str, Evaluation]:
        return {name: self._evaluate(encoded) for name, encoded in self.rows.validation.items()}

    def _predict(self) -> dict[str, Evaluation]:
        """Write predictions of every test split; returns the scores of those that have labels."""
        scored = {}
        for name, encoded in self.rows.test.items():
            if encoded.labels is not None:
                scored[name] = self._evaluate(encoded)
                logits = scored[name].logits
            else:
                advance, end = self.terminal.rows_bar(len(encoded), f"predicting {name}")
                logits, _ = self.inference.logits(encoded, advance)
                end()
            write_predictions(self.folder, name, self.data, logits)
        return scored

    def _train_results(self, outcome: Outcome) -> dict[str, float]:
        assert self.rows.train is not None
        return {
            "epoch": round(outcome.epochs, 4),
            "total_flos": count_flops(self.model, outcome.tokens_seen),
            "train_loss": outcome.loss,
            "train_runtime": round(outcome.seconds, 4),
            "train_samples": len(self.rows.train),
            "train_samples_per_second": round(outcome.rows_seen / outcome.seconds, 3),
            "train_steps_per_second": round(outcome.steps / outcome.seconds, 3),
        }

    def _eval_results(self, evaluations: dict[str, Evaluation], epoch: float | None) -> dict[str, float]:
        results: dict[str, float] = {} if epoch is None or not evaluations else {"epoch": epoch}
        for name, evaluation in evaluations.items():
            # Hugging Face's keys for MNLI's second validation set end in _mm.
            results |= evaluation.results("eval", "_mm" if name.endswith("_mismatched") else "")
        return results

    def _save_model(self) -> None:
        def save(staging: Any) -> None:
            self.model.save_pretrained(staging)
            self.tokenizer.save_pretrained(staging)

        self.folder.fill(save)

    def _finish(
        self,
        results: dict[str, float],
        outcome: Outcome | None,
        evaluations: dict[str, Evaluation],
        tests: dict[str, Evaluation],
    ) -> Report:
        judged_on, judged = next(iter([*tests.items(), *evaluations.items()]), ("", None))
        by_class = None if self.data.labels.regression else judged
        report = Report(
            folder=str(self.folder.path),
            results=results,
            main_metric=self.data.task.main_metric,
            best_step=outcome.best_step if outcome else None,
            stopped_early=bool(outcome and outcome.stopped_early),
            per_class=per_class(self.data.labels, by_class.predictions, by_class.truth) if by_class else {},
            confusion=confusion(self.data.labels, by_class.predictions, by_class.truth) if by_class else [],
            judged_on=judged_on,
        )
        self.folder.write_json("report.json", to_json(report))
        self.folder.update(status="finished", results=results)
        assert self.folder.run is not None
        if outcome:
            self.folder.write("README.md", model_card(self.folder.run, report))
        self.events.emit("finished", **results)
        return report
