"""A model in hand: trained, evaluated, used and saved, as one plan says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pippin.data.dataset import Dataset
from pippin.data.encoding import Encoded, EncodedSplits
from pippin.machine.awake import kept_awake
from pippin.machine.backends import get_backend
from pippin.models.attention import work_of
from pippin.models.loading import load_model
from pippin.models.training_mode import prepare_for_training
from pippin.plan.plan import Plan
from pippin.recipe import Recipe
from pippin.training.copies import Copies
from pippin.training.events import Events
from pippin.training.inference import Evaluation, Inference, evaluate
from pippin.training.loop import Outcome, Training, train
from pippin.training.losses import Loss
from pippin.training.optimiser import make_optimiser, make_schedule
from pippin.training.predictions import write_predictions
from pippin.training.run import RunFolder
from pippin.training.seeding import seed_everything
from pippin.training.step import EagerStep


class Session:
    """Holds the model on its device between training, evaluation and prediction.

    All that can fail for the user's settings (weights, optimiser, schedule) is made at once, before a run's folder is
    touched.
    """

    def __init__(self, recipe: Recipe, plan: Plan, data: Dataset, rows: EncodedSplits, config: Any, tokenizer: Any):
        self.recipe, self.plan, self.data, self.rows, self.tokenizer = recipe, plan, data, rows, tokenizer
        self.backend = get_backend(plan.device.value)
        if recipe.tf32 is not None:
            self.backend.set_tf32(recipe.tf32)
        seed_everything(recipe.seed, self.backend)  # the new head draws from here
        attention = self.backend.attention(work_of(config, plan.precision.value))
        self.model: Any = self.backend.place(load_model(recipe, config, attention))
        self.loss = Loss(data.labels.regression, recipe.label_smoothing_factor)
        self.inference = Inference(
            self.model,
            self.backend,
            plan.precision.value,
            plan.pad_lengths.value,
            recipe.per_device_eval_batch_size,
        )
        self.step = self._make_step() if rows.train else None

    def train(self, folder: RunFolder, events: Events) -> Outcome:
        """Train on the training rows; the model keeps the best (or last) weights."""
        assert self.rows.train is not None
        assert self.step is not None
        copies = Copies(folder.checkpoints, self.tokenizer, self.recipe.save_total_limit)
        seed_everything(self.recipe.seed, self.backend)  # dropout draws from here on, whatever loading drew
        events.emit("started", steps=self.plan.steps.value)
        job = Training(
            self.recipe,
            self.plan,
            self.backend,
            self.step,
            self.rows.train,
            self._evaluate_first,
            events,
            copies,
        )
        with kept_awake(self.recipe.keep_awake, lambda: events.emit("kept_awake")), self.backend.watching_memory():
            outcome = train(job)
        events.emit("trained", step=outcome.steps, kept=outcome.best_step)
        if self.plan.save_steps.value == 0 and self.recipe.save_strategy != "best":
            copies.drop_all()  # the best one is now the run's model
        return outcome

    def evaluate_all(self) -> dict[str, Evaluation]:
        """Scores on every validation split."""
        return {name: self._evaluate(encoded) for name, encoded in self.rows.validation.items()}

    def predict(self, split: str, folder: RunFolder, on_rows: Callable[[int], None]) -> Evaluation | None:
        """Write the predictions of a test split; returns its score where it has labels."""
        encoded = self.rows.test[split]
        evaluation = None
        if encoded.labels is not None:
            evaluation = self._evaluate(encoded, on_rows)
            logits = evaluation.logits
        else:
            logits, _ = self.inference.logits(encoded, on_rows)
        write_predictions(folder, split, self.data, logits)
        return evaluation

    def save_model(self, folder: RunFolder) -> None:
        """The model and its tokenizer into the run's folder, as transformers lays them out."""

        def save(staging: Path) -> None:
            self.model.save_pretrained(staging)
            self.tokenizer.save_pretrained(staging)

        folder.fill(save)

    def _make_step(self) -> EagerStep:
        prepare_for_training(self.model, self.recipe, self.backend)
        optimiser = make_optimiser(self.model, self.recipe, self.plan)
        schedule = make_schedule(optimiser, self.recipe, self.plan)
        precision, max_grad_norm = self.plan.precision.value, self.recipe.max_grad_norm
        return EagerStep(self.model, optimiser, schedule, self.loss, self.backend, precision, max_grad_norm)

    def _evaluate_first(self) -> Evaluation:
        return self._evaluate(next(iter(self.rows.validation.values())))

    def _evaluate(self, encoded: Encoded, on_rows: Callable[[int], None] | None = None) -> Evaluation:
        return evaluate(self.inference, encoded, self.data.task, self.data.labels, self.loss, on_rows)
