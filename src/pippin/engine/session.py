"""A model in hand: trained, evaluated and used, as one plan says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from pippin.data.collate import Shapes
from pippin.data.encoding import Encoded, EncodedSplits
from pippin.data.examples import Examples
from pippin.engine.best import BestSoFar
from pippin.engine.features import WithStates, freeze
from pippin.engine.finite import NotFinite
from pippin.engine.fitting import FittingStep
from pippin.engine.group import SOLO, Group
from pippin.engine.inference import Evaluation, Inference, evaluate, score
from pippin.engine.interrupts import Interrupts
from pippin.engine.loop import CheckpointSaver, Emit, Outcome, Training, train
from pippin.engine.network import network_for, prepare_weights
from pippin.engine.optimiser import make_optimiser, make_schedule
from pippin.engine.seeding import seed_everything
from pippin.engine.sharded import ShardedStep, is_sharded, shard, whole
from pippin.engine.shards import SharedStep
from pippin.engine.steps.captured import CapturedStep
from pippin.engine.steps.compiled import Compiling
from pippin.engine.steps.eager import EagerStep
from pippin.engine.steps.in_backward import InBackwardStep
from pippin.machine.awake import kept_awake
from pippin.machine.drivers import get_backend
from pippin.machine.drivers.base import Backend
from pippin.machine.fallbacks import Fallbacks
from pippin.models.labels import keep_thresholds
from pippin.models.training_mode import prepare_for_training, recompute_activations
from pippin.models.used_rows import train_used_rows
from pippin.plan.fits import IN_BACKWARD, RECOMPUTED
from pippin.plan.frozen import NOTHING
from pippin.plan.plan import Plan
from pippin.plan.sharing import SPREAD
from pippin.plan.steps import NEVER
from pippin.tasks.base import Scorer, Task


def lacking_operators(plan: Plan, backend: Backend, tell: Callable[[str], None]) -> AbstractContextManager[Fallbacks]:
    """Operators that the device lacks run on the CPU and are counted, unless none of that is wanted."""
    return nullcontext(Fallbacks()) if plan.execution.mps_fallback == "off" else backend.counting_fallbacks(tell)


class Session:
    """Holds the model on its device between training, evaluation and prediction.

    All that can fail for the user's settings (weights, optimiser, schedule) is made at once.
    """

    def __init__(
        self,
        plan: Plan,
        task: Task,
        rows: EncodedSplits,
        load: Callable[[str | None], Any],
        is_trained: bool = False,
        group: Group = SOLO,
    ):
        """``load`` gives the model, with the attention of that name."""
        self.plan, self.task, self.rows, self.group = plan, task, rows, group
        self.backend = get_backend(plan.execution.device.value)
        if plan.execution.tf32 is not None:
            self.backend.set_tf32(plan.execution.tf32)
        seed_everything(plan.execution.seed, self.backend)  # the new head draws from here
        model = load(plan.execution.attention)
        prepare_weights(plan, model, trains=rows.train is not None)
        group.share_weights(model)
        if plan.execution.weights.value == SPREAD:
            shard(model, self.backend.device, group.size)
        self.model: Any = self.backend.place(model)
        self.network = network_for(plan, self.model, self.backend, plan.execution.precision.value, task.reads)
        if rows.train and plan.execution.frozen.value != NOTHING:
            freeze(
                self.network,
                plan,
                f"tf32 {plan.execution.tf32}",
                rows.train.pad_left,
                plan.execution.overwrite_cache,
                task.reads,
                group,
            )
        self.inference = Inference(self.network, plan.batches.per_device_eval_batch_size, group=group)
        self.finished_weights: dict[str, Any] | None = None
        """Of the whole model, where this process holds only a part of it."""
        self._recomputes = plan.memory.activations.value == RECOMPUTED
        self.step = self._make_step() if rows.train and not is_trained else None

    def train(
        self,
        examples: Examples,
        emit: Emit,
        saver: CheckpointSaver,
        state: dict[str, Any] | None = None,
        new_rates: bool = False,
        samples: Callable[[], Iterable[dict[str, Any]]] = tuple,
    ) -> Outcome:
        """Train on the training rows, which were made of ``examples``; the model keeps the best (or last) weights.

        ``state`` is that of the checkpoint that the run goes on from, ``new_rates`` whether its schedule has changed.
        ``samples`` gives what the model answers after an evaluation.
        """
        assert self.rows.train is not None
        assert self.step is not None
        self._make_ready(self.rows.train)
        seed_everything(self.plan.execution.seed, self.backend)  # dropout draws from here on, whatever loading drew
        emit("started", steps=self.plan.schedule.steps.value)
        if isinstance(self.step, CapturedStep) and self.plan.execution.compiled.value != NEVER:
            self.step.compiling = Compiling(
                self.step, self.plan.schedule.steps.value - (state["step"] if state else 0), emit
            )
        with (
            kept_awake(self.plan.execution.keep_awake, lambda: emit("kept_awake")),
            self.backend.watching_memory(),
            self.backend.own_stream(),
            Interrupts(tells=self.group.is_first, echoed=self.group.size > 1) as interrupts,
        ):
            outcome = train(
                Training(
                    plan=self.plan,
                    backend=self.backend,
                    step=self.step,
                    fitting=self.fitting(emit),
                    encoded=self.rows.train,
                    evaluate=lambda: self.evaluate(next(iter(self.rows.validation.values()))),
                    best=self._best(),
                    emit=emit,
                    saver=saver,
                    interrupts=interrupts,
                    group=self.group,
                    not_finite=NotFinite(examples, self.task.suspects, self.plan.execution.precision.value),
                    state=state,
                    new_rates=new_rates,
                    samples=samples,
                )
            )
        if is_sharded(self.model):
            self.finished_weights = whole(self.model.state_dict())
        emit("trained", step=outcome.steps, kept=outcome.best_step)
        return outcome

    def evaluate(self, encoded: Encoded, on_rows: Callable[[int], None] | None = None) -> Evaluation:
        self._make_ready(encoded)
        return evaluate(self.inference, encoded, self.task, on_rows)

    def predict(self, encoded: Encoded, on_rows: Callable[[int], None] | None = None) -> Scorer:
        """The answers to rows without labels."""
        self._make_ready(encoded)
        return score(self.inference, encoded, self.task, on_rows)[0]

    def settle(self) -> None:
        """Let the task choose on the validation rows what is left to choose. It is kept with the model."""
        rows = next(iter(self.rows.validation.values()), None)
        labels = self.task.settled(None if rows is None else lambda: self.evaluate(rows).scorer)
        self.task = self.task.with_labels(labels)
        keep_thresholds(self.model.config, labels)

    def evaluate_all(self) -> dict[str, Evaluation]:
        return {name: self.evaluate(encoded) for name, encoded in self.rows.validation.items()}

    def fitting(self, notice: Emit) -> FittingStep:
        """Optimiser steps on the training rows; ``notice`` hears where less memory had to do."""
        assert self.rows.train is not None
        assert self.step is not None
        size, tokens = self.plan.batches.micro_batch.value, self.plan.batches.micro_tokens.value
        parts = (self.step, self.rows.train, size, notice, tokens, self._recompute_activations)
        if self.plan.execution.weights.value == SPREAD:
            return ShardedStep(*parts, group=self.group)
        shards = self.plan.execution.shards.value
        if self.group.size == 1 and not shards:
            return FittingStep(*parts)
        return SharedStep(*parts, group=self.group, shards=shards, seed=self.plan.execution.seed)

    def _make_ready(self, encoded: Encoded) -> None:
        """What a frozen part gives for these rows is computed by all processes, before any of them needs it."""
        if isinstance(self.network.collate, WithStates) and self.network.collate.features:
            self.network.collate.features.make_ready(encoded)

    def _best(self) -> BestSoFar | None:
        plan = self.plan
        if not plan.schedule.best_metric.value:
            return None
        return BestSoFar(
            plan.schedule.best_metric.value,
            plan.schedule.greater_is_better,
            plan.schedule.patience.value,
            plan.schedule.early_stopping_threshold,
        )

    def _make_step(self) -> EagerStep:
        assert self.rows.train is not None
        if self.plan.execution.word_vectors.value:
            train_used_rows(self.model, np.append(self.rows.train.tokens, self.rows.train.pad_token))
        settings, noise = self.plan.memory.gradient_checkpointing_kwargs, self.plan.execution.neftune_noise_alpha
        prepare_for_training(self.model, self.backend, self._recomputes, settings, noise)
        optimiser = make_optimiser(self.model, self.plan)
        schedule = make_schedule(optimiser, self.plan)
        parts = (self.network, optimiser, schedule, self.task, self.plan.rates.max_grad_norm)
        if self.plan.memory.updates.value == IN_BACKWARD:
            return InBackwardStep(*parts)
        if not self.plan.execution.capacities.value:
            return EagerStep(*parts)
        longest, execution = int(self.rows.train.lengths.max()), self.plan.execution
        room = (execution.capacities.value, longest, execution.target_capacities.value)
        return CapturedStep(*parts, shapes=Shapes(self.plan.batches.micro_batch.value, *room))

    def _recompute_activations(self) -> bool:
        """The last resort of a step that does not fit; False where there is none."""
        settings = self.plan.memory.gradient_checkpointing_kwargs
        if self._recomputes or not recompute_activations(self.model, settings, self.backend):
            return False
        self._recomputes = True
        if isinstance(self.step, CapturedStep):
            self.step.stop_recording()
        return True
