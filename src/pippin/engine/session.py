"""A model in hand: trained, evaluated, used and saved, as one plan says."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from pippin.data.collate import Shapes
from pippin.data.encoding import Encoded, EncodedSplits
from pippin.disk import free_bytes
from pippin.engine.features import freeze
from pippin.engine.finite import NotFinite
from pippin.engine.fitting import FittingStep
from pippin.engine.inference import Evaluation, Inference, evaluate
from pippin.engine.interrupts import Interrupts
from pippin.engine.loop import Outcome, Training, train
from pippin.engine.network import network_for
from pippin.engine.optimiser import make_optimiser, make_schedule
from pippin.engine.seeding import seed_everything
from pippin.engine.steps.captured import CapturedStep
from pippin.engine.steps.compiled import Compiling
from pippin.engine.steps.eager import EagerStep
from pippin.engine.steps.in_backward import InBackwardStep
from pippin.errors import PippinError
from pippin.machine.awake import kept_awake
from pippin.machine.drivers import get_backend
from pippin.models.attention import work_of
from pippin.models.completeness import Loaded
from pippin.models.loading import load_model
from pippin.models.training_mode import prepare_for_training, recompute_activations
from pippin.models.used_rows import train_used_rows
from pippin.plan.fits import BESIDE, IN_BACKWARD, RECOMPUTED
from pippin.plan.frozen import NOTHING
from pippin.plan.plan import Plan
from pippin.plan.steps import NEVER
from pippin.recipe import Recipe
from pippin.records import to_json
from pippin.runs.checkpoints.store import Store
from pippin.runs.events import Events
from pippin.runs.folder import RunFolder
from pippin.runs.resume import Start
from pippin.runs.saving import Saver, room_needed
from pippin.tasks.sequence.dataset import Dataset
from pippin.tasks.sequence.loss import Loss
from pippin.tasks.sequence.predictions import write_predictions
from pippin.text import memory


class Session:
    """Holds the model on its device between training, evaluation and prediction.

    All that can fail for the user's settings (weights, optimiser, schedule) is made at once, before a run's folder is
    touched.
    """

    def __init__(
        self,
        recipe: Recipe,
        plan: Plan,
        data: Dataset,
        rows: EncodedSplits,
        config: Any,
        tokenizer: Any,
        load: Callable[[Recipe, Any, str | None], Any] | None = None,
        start: Start | None = None,
    ):
        """``start``: where an unfinished run goes on. ``load`` gives another model than the recipe's."""
        self.recipe, self.plan, self.data, self.rows, self.tokenizer = recipe, plan, data, rows, tokenizer
        self.start = start
        self.backend = get_backend(plan.device.value)
        if recipe.tf32 is not None:
            self.backend.set_tf32(recipe.tf32)
        seed_everything(recipe.seed, self.backend)  # the new head draws from here
        attention = self.backend.attention(work_of(config, plan.precision.value))
        source = recipe if start is None else recipe.using_model(str(start.path))
        self.loaded = Loaded()
        """What became of the tensors in the model's file."""
        model = load(source, config, attention) if load else load_model(source, config, attention, self._take_note)
        self.model: Any = self.backend.place(model)
        self.loss = Loss(data.labels.regression, recipe.label_smoothing_factor)
        self.network = network_for(plan, self.model, self.backend, plan.precision.value)
        if rows.train and plan.frozen.value != NOTHING:
            freeze(self.network, plan, f"tf32 {recipe.tf32}", rows.train.pad_left, recipe.overwrite_cache)
        self.inference = Inference(self.network, recipe.per_device_eval_batch_size)
        self._recomputes = plan.activations.value == RECOMPUTED
        self.step = self._make_step() if rows.train and not (start and start.is_trained) else None

    def train(self, folder: RunFolder, events: Events, new_rates: bool = False) -> Outcome:
        """Train on the training rows; the model keeps the best (or last) weights."""
        assert self.rows.train is not None
        assert self.data.train is not None
        assert self.step is not None
        seed_everything(self.recipe.seed, self.backend)  # dropout draws from here on, whatever loading drew
        events.emit("started", steps=self.plan.steps.value)
        saver = Saver(
            self.store(folder),
            self.model,
            self.tokenizer,
            folder.record_text,
            self._save_minutes,
            lambda step, path: events.emit("saved", step=step, path=path.name),
            copies=self.plan.saving.value == BESIDE,
        )
        if isinstance(self.step, CapturedStep) and self.plan.compiled.value != NEVER:
            steps = self.plan.steps.value - (self.start.step if self.start else 0)
            self.step.compiling = Compiling(self.step, steps, events.emit)
        with (
            kept_awake(self.recipe.keep_awake, lambda: events.emit("kept_awake")),
            self.backend.watching_memory(),
            self.backend.own_stream(),
            Interrupts() as interrupts,
            closing(saver),
        ):
            outcome = train(
                Training(
                    recipe=self.recipe,
                    plan=self.plan,
                    backend=self.backend,
                    step=self.step,
                    fitting=self.fitting(events.emit),
                    encoded=self.rows.train,
                    evaluate=self._evaluate_first,
                    events=events,
                    saver=saver,
                    interrupts=interrupts,
                    not_finite=NotFinite(self.data.train, self.data.labels.regression, self.plan.precision.value),
                    state=self.start.state if self.start else None,
                    new_rates=new_rates,
                )
            )
        events.emit("trained", step=outcome.steps, kept=outcome.best_step)
        return outcome

    def _take_note(self, loaded: Loaded) -> None:
        self.loaded = loaded
        if self.rows.train is None or self.start is not None:
            loaded.require_whole()

    def store(self, folder: RunFolder) -> Store:
        """Where this session's checkpoints are."""
        return folder.store(folder.run.id if folder.run else "", self.recipe.save_total_limit or 1)

    def check_room(self, folder: RunFolder, store: Store) -> None:
        """Refuse to start what the disk cannot hold: the checkpoints that are kept, and one that is being written.

        Those that are there already have their room.
        """
        needed = room_needed(self.model, store.keep) - store.bytes()
        free = free_bytes(folder.path)
        if self.rows.train and free < needed:
            raise PippinError(
                f"{folder.path}: this run needs {memory(needed)} for its checkpoints, and the disk has "
                f"{memory(free)} free. Free some room, or name an --output_dir on another disk."
            )

    def finish(self, folder: RunFolder) -> None:
        """Remove the checkpoints that only served to go on; those that were asked for stay."""
        if not keeps_checkpoints(self.recipe, self.plan):
            self.store(folder).drop_all()

    @property
    def _save_minutes(self) -> float:
        return self.recipe.save_minutes if self.recipe.save_strategy is None else 0.0

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

    def save_model(self, folder: RunFolder, outcome: Outcome, events: Events) -> None:
        """The model and its tokenizer into the run's folder, as transformers lays them out."""

        def save(staging: Path) -> None:
            self.model.save_pretrained(staging)
            self.tokenizer.save_pretrained(staging)

        folder.install(save, to_json(outcome), events.position)

    def _make_step(self) -> EagerStep:
        assert self.rows.train is not None
        if self.plan.word_vectors.value:
            train_used_rows(self.model, np.append(self.rows.train.tokens, self.rows.train.pad_token))
        prepare_for_training(self.model, self.recipe, self.backend, self._recomputes)
        optimiser = make_optimiser(self.model, self.recipe, self.plan)
        schedule = make_schedule(optimiser, self.recipe, self.plan)
        parts = (self.network, optimiser, schedule, self.loss, self.recipe.max_grad_norm)
        if self.plan.updates.value == IN_BACKWARD:
            return InBackwardStep(*parts)
        if not self.plan.capacities.value:
            return EagerStep(*parts)
        longest = int(self.rows.train.lengths.max())
        return CapturedStep(*parts, shapes=Shapes(self.plan.micro_batch.value, self.plan.capacities.value, longest))

    def fitting(self, notice: Callable[..., None]) -> FittingStep:
        """Optimiser steps on the training rows; ``notice`` hears where less memory had to do."""
        assert self.rows.train is not None
        assert self.step is not None
        size, tokens = self.plan.micro_batch.value, self.plan.micro_tokens.value
        return FittingStep(self.step, self.rows.train, size, notice, tokens, self._recompute_activations)

    def _recompute_activations(self) -> bool:
        """The last resort of a step that does not fit; False where there is none."""
        if self._recomputes or not recompute_activations(self.model, self.recipe, self.backend):
            return False
        self._recomputes = True
        if isinstance(self.step, CapturedStep):
            self.step.stop_recording()
        return True

    def _evaluate_first(self) -> Evaluation:
        return self._evaluate(next(iter(self.rows.validation.values())))

    def _evaluate(self, encoded: Encoded, on_rows: Callable[[int], None] | None = None) -> Evaluation:
        return evaluate(self.inference, encoded, self.data.task, self.data.labels, self.loss, on_rows)


def keeps_checkpoints(recipe: Recipe, plan: Plan) -> bool:
    """Whether checkpoints were asked for, and so stay when the run is finished."""
    return plan.save_steps.value > 0 or recipe.save_strategy == "best"
