"""A model in hand: trained, evaluated, used and saved, as one plan says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pippin.data.dataset import Dataset
from pippin.data.encoding import Encoded
from pippin.machine.backends import get_backend
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


@dataclass(frozen=True)
class EncodedSplits:
    """The tokens of every split that the job reads."""

    train: Encoded | None
    validation: dict[str, Encoded]
    test: dict[str, Encoded]

    def all(self) -> list[Encoded]:
        return [*([self.train] if self.train else []), *self.validation.values(), *self.test.values()]


class Session:
    """Holds the model on its device between training, evaluation and prediction."""

    def __init__(
        self,
        recipe: Recipe,
        plan: Plan,
        data: Dataset,
        rows: EncodedSplits,
        config: Any,
        tokenizer: Any,
        folder: RunFolder,
        events: Events,
    ):
        self.recipe, self.plan, self.data, self.rows = recipe, plan, data, rows
        self.tokenizer, self.folder, self.events = tokenizer, folder, events
        self.backend = get_backend(plan.device.value)
        if recipe.tf32 is not None:
            self.backend.set_tf32(recipe.tf32)
        self._seed()  # the new head draws from here
        self.model: Any = self.backend.place(load_model(recipe, config))
        self.loss = Loss(data.labels.regression, recipe.label_smoothing_factor)

    @cached_property
    def inference(self) -> Inference:
        return Inference(
            self.model,
            self.backend,
            self.plan.precision.value,
            self.plan.pad_lengths.value,
            self._pad_token,
            self.recipe.per_device_eval_batch_size,
        )

    def train(self) -> Outcome:
        """Train on the training rows; the model keeps the best (or last) weights."""
        assert self.rows.train is not None
        prepare_for_training(self.model, self.recipe)
        optimiser = make_optimiser(self.model, self.recipe, self.plan)
        schedule = make_schedule(optimiser, self.recipe, self.plan)
        step = EagerStep(
            self.model,
            optimiser,
            schedule,
            self.loss,
            self.backend,
            self.plan.precision.value,
            self.recipe.max_grad_norm,
        )
        copies = Copies(self.folder.checkpoints, self.recipe.save_total_limit)
        self._seed()  # dropout draws from here on, whatever the loading of the model drew
        self.events.emit("started", steps=self.plan.steps.value)
        outcome = train(
            Training(
                self.recipe,
                self.plan,
                self.backend,
                step,
                self.rows.train,
                self._pad_token,
                self._evaluate_first,
                self.events,
                copies,
            )
        )
        self.events.emit("trained", step=outcome.steps, kept=outcome.best_step)
        if self.recipe.save_strategy is None:
            copies.drop_all()  # the best one is now the run's model
        return outcome

    def evaluate_all(self) -> dict[str, Evaluation]:
        """Scores on every validation split."""
        return {name: self._evaluate(encoded) for name, encoded in self.rows.validation.items()}

    def predict(self, split: str, on_rows: Callable[[int], None]) -> Evaluation | None:
        """Write the predictions of a test split; returns its score where it has labels."""
        encoded = self.rows.test[split]
        evaluation = None
        if encoded.labels is not None:
            evaluation = self._evaluate(encoded)
            logits = evaluation.logits
        else:
            logits, _ = self.inference.logits(encoded, on_rows)
        write_predictions(self.folder, split, self.data, logits)
        return evaluation

    def save_model(self) -> None:
        """The model and its tokenizer into the run's folder, as transformers lays them out."""

        def save(staging: Path) -> None:
            self.model.save_pretrained(staging)
            self.tokenizer.save_pretrained(staging)

        self.folder.fill(save)

    def _evaluate_first(self) -> Evaluation:
        return self._evaluate(next(iter(self.rows.validation.values())))

    def _evaluate(self, encoded: Encoded) -> Evaluation:
        return evaluate(self.inference, encoded, self.data.task, self.data.labels, self.loss)

    def _seed(self) -> None:
        seed_everything(self.recipe.seed, self.backend, self.recipe.full_determinism)

    @property
    def _pad_token(self) -> int:
        return self.tokenizer.pad_token_id or 0
