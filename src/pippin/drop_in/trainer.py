"""transformers' Trainer with Pippin inside: the same hooks, rows, random numbers and results, faster and safer."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import torch
from transformers import Seq2SeqTrainer as TheirSeq2SeqTrainer
from transformers import Trainer as TheirTrainer

from pippin.drop_in import checkpoints
from pippin.drop_in.device_faults import attending, guarded, refuse_nan, refuse_too_many_rows, safe_attention
from pippin.drop_in.errors import Refusal
from pippin.drop_in.labels import with_numbers
from pippin.drop_in.loss_scale import ignores_number_of_items, never_looks_at_number_of_items
from pippin.drop_in.notices import say
from pippin.drop_in.packed_forward import PackedForward
from pippin.drop_in.ranks import first_says, wait_for_threads_at_exit
from pippin.drop_in.rows import AS_GIVEN, choose_rows, forward_for
from pippin.drop_in.safekeeping import Safekeeping, Terminated, die_by_termination
from pippin.drop_in.saving import SavesCheckpoints
from pippin.drop_in.swapped import swapped
from pippin.drop_in.transaction import is_unfinished
from pippin.drop_in.translation import given_value
from pippin.drop_in.whose import overrides
from pippin.machine.awake import kept_awake
from pippin.machine.drivers import get_backend
from pippin.machine.drivers.base import Backend
from pippin.models.training_mode import CHECKPOINTING_SETTINGS, checkpointing_settings
from pippin.plan.plan import Choice

#: transformers' collators that can do nothing with text labels.
_COLLATORS = {"default_data_collator", "DefaultDataCollator", "DataCollatorWithPadding"}
_OUT_OF_MEMORY = (
    "the device ran out of memory. Lower per_device_train_batch_size and raise gradient_accumulation_steps to match "
    "(the gradient stays the same), or set gradient_checkpointing=True."
)


class _Tokenizer:
    """What transformers 5 calls processing_class, for scripts that read its former name and have set none."""

    def __get__(self, trainer: Any, owner: type) -> Any:
        return self if trainer is None else trainer.processing_class


class Trainer(SavesCheckpoints):
    """transformers.Trainer, on Pippin's engine."""

    tokenizer = _Tokenizer()

    def __init__(self, *arguments: Any, tokenizer: Any = None, **named: Any):
        if tokenizer is not None:  # the name that transformers 4 had
            named.setdefault("processing_class", tokenizer)
        self._backend: Backend | None = None
        self._packed_forward: PackedForward | None = None
        self._forward_made_for: Any = None  # the model that ``_packed_forward`` was made for
        self._safe_attention: str | None = None
        self._guarded_model: tuple[Any, frozenset[int]] = (None, frozenset())
        self._ignores_items: bool | None = None
        self._largest_batch = (0, 0)
        self._resumed_from: str | None = None
        self._safekeeping = Safekeeping()
        self._begin_with_no_checkpoint()
        super().__init__(*arguments, **named)
        self._backend = self._safekeeping.backend = _backend_of(self.args.device)
        if self.args.world_size > 1:
            wait_for_threads_at_exit()

    # What callbacks see

    @property
    def callback_handler(self) -> Any:
        return self._callback_handler

    @callback_handler.setter
    def callback_handler(self, handler: Any) -> None:
        handler.call_event = partial(self._call_event_heard, handler.call_event)
        self._callback_handler = handler

    def _call_event_heard(self, usual: Any, event: str, *arguments: Any, **named: Any) -> Any:
        """Pippin hears of an event before the script does, and a checkpoint is there for whoever may look for it."""
        if self._checkpoint_writer.is_busy and any(overrides(each, event) for each in self.callback_handler.callbacks):
            self.wait_for_checkpoint()
        self._safekeeping.hear(event, self)
        if event == "on_train_begin":
            if self._resumed_from is not None:
                self._safekeeping.take_up_loss(self, checkpoints.read_state(Path(self._resumed_from)))
            self._recompute_with_same_dropout()
        found = usual(event, *arguments, **named)
        if event == "on_save":
            self._reseal_checkpoint()
        return found

    def add_callback(self, callback: Any) -> None:
        super().add_callback(callback)
        given = given_value(self.args, "logging_dir")
        for each in self.callback_handler.callbacks if given else ():
            if type(each).__name__ == "TensorBoardCallback" and each.logging_dir is None:
                each.logging_dir = os.path.expanduser(str(given))

    def hyperparameter_search(self, *arguments: Any, **named: Any) -> Any:
        scope = given_value(self.args, "ray_scope")
        with ExitStack() as undone:
            if scope is not None and "RAY_SCOPE" not in os.environ:  # where transformers reads it today
                os.environ["RAY_SCOPE"] = scope
                undone.callback(os.environ.pop, "RAY_SCOPE")
            return super().hyperparameter_search(*arguments, **named)

    # How rows go through the model

    def rows_plan(self) -> Choice[str]:
        """How the rows of this script go through its model, and why."""
        asks_for_logits = self.compute_loss_func is not None or self.label_smoother is not None
        takes_loss = not (overrides(self, "compute_loss") or asks_for_logits)
        return choose_rows(self.model, self.args, self._backend, takes_loss)

    def training_step(self, model: Any, inputs: Any, num_items_in_batch: Any = None, *others: Any) -> torch.Tensor:
        if num_items_in_batch is not None and self._averages_own_loss():
            num_items_in_batch = None
        self._refuse_too_many_rows(inputs)
        calls_once = not overrides(self, "compute_loss") and self.compute_loss_func is None
        with self._without_padding(until_backward=calls_once):
            return super().training_step(model, inputs, num_items_in_batch, *others)

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        counted = num_items_in_batch is not None and self._must_scale(model, inputs, num_items_in_batch)
        own_items = self._own_items(inputs) if counted else None
        with self._without_padding():
            found = super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        if own_items is None:
            return found
        share = own_items / num_items_in_batch
        return (found[0] * share, found[1]) if return_outputs else found * share

    def prediction_step(self, *arguments: Any, **named: Any) -> Any:
        with self._without_padding():
            return super().prediction_step(*arguments, **named)

    def evaluation_loop(self, *arguments: Any, **named: Any) -> Any:
        found = super().evaluation_loop(*arguments, **named)
        refuse_nan(found.predictions, self._backend)
        for name, value in (found.metrics or {}).items():
            if isinstance(value, float) and math.isnan(value):  # of labels that are all left out, it may be meant
                say(f"{name} is NaN.", again=True)
        return found

    @contextmanager
    def _without_padding(self, until_backward: bool = False) -> Iterator[None]:
        """While it lasts, calls of the model are safe on the device, and leave the padding out where they can."""
        if self._backend is None:
            yield
            return
        if self._forward_made_for is not self.model:  # model_init makes new ones
            self._backend.lay_out(self.model)
            self._forward_made_for, self._packed_forward = self.model, self._make_forward(self._backend)
            self._safe_attention = safe_attention(self.model, self.args, self._backend)
        with (
            attending(self.model, self._safe_attention) if self._safe_attention else nullcontext(),
            self._packed_forward.standing_in(until_backward) if self._packed_forward else nullcontext(),
        ):
            yield

    def _make_forward(self, backend: Backend) -> PackedForward | None:
        if self.rows_plan().value == AS_GIVEN:
            return None
        hooks = self._guarded_model[1] if self._guarded_model[0] is self.model else frozenset()

        def refused(why: str) -> None:
            say(f"some batches stay padded: {why}.")

        return forward_for(self.model, backend, refused, self.args.bf16 or self.args.fp16, hooks)

    def _refuse_too_many_rows(self, inputs: Any) -> None:
        ids = inputs.get("input_ids") if isinstance(inputs, Mapping) else None
        if self._backend is None or not isinstance(ids, torch.Tensor) or ids.dim() != 2:
            return
        rows, length = ids.shape
        most_rows, longest = self._largest_batch
        if rows > most_rows or length > longest:  # else it was looked at before
            self._largest_batch = max(rows, most_rows), max(length, longest)
            refuse_too_many_rows(self.model, self.args, self._backend, *self._largest_batch)

    # The scale of losses that are accumulated, or shared by several processes

    def _own_items(self, inputs: Any) -> Any:
        """How many items this process's rows have: counted as transformers does, but not over all processes."""
        alone = (self.args, "average_tokens_across_devices", False)
        with swapped(alone) if self.args.world_size > 1 else nullcontext():
            return self._get_num_items_in_batch([inputs], self.args.device)

    def _must_scale(self, model: Any, inputs: Any, number: Any) -> bool:
        """Whether the model gives the mean of its own rows where a share of the whole batch is expected."""
        if self.compute_loss_func is not None or self.label_smoother is not None or not self.model_accepts_loss_kwargs:
            return False
        in_parts = self.args.gradient_accumulation_steps > 1 or self.args.world_size > 1
        if not in_parts or "labels" not in inputs or self._script_says_scale():
            return False
        if self._ignores_items is None:
            self._ignores_items = ignores_number_of_items(model, inputs, number)
        return self._ignores_items is True

    def _averages_own_loss(self) -> bool:
        """Whether the script's own compute_loss gives the mean of its rows, for transformers to average."""
        if self.args.gradient_accumulation_steps == 1 or self._script_says_scale():
            return False
        return overrides(self, "compute_loss") and never_looks_at_number_of_items(type(self).compute_loss)

    def _script_says_scale(self) -> bool:
        return getattr(self, "loss_is_scaled_for_ga", None) is not None

    # Training that leaves a checkpoint whatever happens

    def train(self, resume_from_checkpoint: Any = None, *arguments: Any, **named: Any) -> Any:
        self.wait_for_checkpoint()
        resume = self._checkpoint_to_resume(resume_from_checkpoint)
        self._begin_saving()
        self._resumed_from = os.fspath(resume) if isinstance(resume, (str, os.PathLike)) else None
        is_trial = named.get("trial", arguments[0] if arguments else None) is not None
        self._safekeeping.first_step = math.inf
        # Other processes would be waited for, and may be gone; a trial of a search is given up on purpose.
        asked = str(getattr(self.args.save_strategy, "value", self.args.save_strategy)) != "no"
        self._safekeeping.is_wanted = asked and not is_trial and self.args.world_size == 1
        self._announce_rows()
        minds_termination = not getattr(self.args, "enable_jit_checkpoint", False)
        with (
            kept_awake(True, lambda: None),
            self._safekeeping.minding_signals(minds_termination),
            self._backend.counting_fallbacks(self._tell_fallback) if self._backend else nullcontext(),
        ):
            try:
                found = super().train(resume, *arguments, **named)
                self.wait_for_checkpoint()
                return found
            except BaseException as error:
                self._save_before_leaving(error)
                if isinstance(error, Terminated):
                    die_by_termination()
                raise

    def _announce_rows(self) -> None:
        """Say once how rows go through the model, and guard the model against the device's faults."""
        self._forward_made_for = None  # the script may have changed the model
        if self.model_init is None and self._backend is not None and self._guarded_model[0] is not self.model:
            self._guarded_model = (self.model, guarded(self.model, self._backend))
        rows = self.rows_plan()
        say(f"rows go through {type(self.model).__name__} {rows.value}: {rows.reason}.")

    def call_model_init(self, trial: Any = None) -> Any:
        model = super().call_model_init(trial)
        backend = _backend_of(self.args.device)
        if backend is not None:
            self._guarded_model = (model, guarded(model, backend))
        return model

    def _recompute_with_same_dropout(self) -> None:
        """Where the device draws new dropout for layers that are computed twice, give it what it lacks."""
        if not self.args.gradient_checkpointing or self._backend is None or not self._backend.checkpoint_contexts():
            return
        asked = dict(self.args.gradient_checkpointing_kwargs or {})
        if not set(asked) - CHECKPOINTING_SETTINGS:
            self.model.gradient_checkpointing_enable(checkpointing_settings(asked, self._backend))

    def _tell_fallback(self, name: str) -> None:
        say(f"{name} is not implemented on the device {self.args.device.type}: it runs on the CPU.")

    def get_batch_samples(self, *arguments: Any, **named: Any) -> Any:
        if self.state.global_step >= self.state.max_steps > 0:  # a finished run that is resumed
            self.control.should_training_stop = True
            return [], None
        return super().get_batch_samples(*arguments, **named)

    def _remove_unused_columns(self, dataset: Any, description: str | None = None) -> Any:
        kept = super()._remove_unused_columns(dataset, description)
        name = getattr(self.data_collator, "__name__", type(self.data_collator).__name__)
        if name not in _COLLATORS or not hasattr(kept, "features"):  # a collator of the script's own may want the text
            return kept
        return with_numbers(kept, getattr(self.model, "config", None))

    # Checkpoints

    def _checkpoint_to_resume(self, asked: Any) -> Any:
        """The checkpoint to go on from: of our own choice where the script only says that it wants one."""
        if isinstance(asked, str) and not os.path.isdir(asked) and asked.lower() in ("true", "false"):
            asked = asked.lower() == "true"  # a flag is text
        is_path = isinstance(asked, (str, os.PathLike))
        if not (asked is True or (is_path and is_unfinished(Path(asked)))):
            return asked
        folder = Path(asked).parent if is_path else Path(self.args.output_dir)
        found = first_says(lambda: checkpoints.newest(folder))
        for name, reason in found.passed_over:
            say(f"skipped {name}: {reason}.")
        if (found.passed_over or is_path) and not found.path:
            raise Refusal(
                f"{folder}: all of its checkpoints are damaged. Start over without resume_from_checkpoint, or name "
                "one by its path to use it anyway."
            )
        return str(found.path) if found.path else True  # transformers says that there is none

    def _load_best_model(self) -> None:
        self._safekeeping.first_step = math.inf  # from here on the weights are not the last step's
        super()._load_best_model()

    def _save_before_leaving(self, error: BaseException) -> None:
        """Save the last whole step when a script dies, where it asked for checkpoints at all."""
        step = self.state.global_step
        if self._backend is not None and self._backend.is_out_of_memory(error):
            say(_OUT_OF_MEMORY)
        elif self._backend is not None and (explained := self._backend.explain(error)):
            say(explained)
        try:
            self.wait_for_checkpoint()
            self._checkpoint_copies = {}
        except Exception as trouble:
            say(f"the last checkpoint could not be written ({type(trouble).__name__}: {trouble}).")
        if not self._safekeeping.is_wanted or not self._safekeeping.can_save_step(step):
            return
        path = Path(self._get_output_dir(None)) / f"checkpoint-{step}"
        try:
            if self._saved_step != step:
                self._safekeeping.go_back_to_step()
                self._is_leaving_training = True
                self._save_checkpoint(self.model_wrapped, None)
        except Exception as trouble:  # the script's own error matters more
            say(f"no checkpoint could be written ({type(trouble).__name__}: {trouble}).")
            return
        finally:
            self._is_leaving_training = False
        say(f"step {step} is saved in {path}. To continue: train(resume_from_checkpoint=True)", again=True)


# Libraries look for names in it.
Trainer.__init__.__wrapped__ = TheirTrainer.__init__  # type: ignore[attr-defined]


class Seq2SeqTrainer(Trainer, TheirSeq2SeqTrainer):
    """transformers.Seq2SeqTrainer, on Pippin's engine."""


def _backend_of(device: torch.device) -> Backend | None:
    try:
        return get_backend(str(device))
    except KeyError:  # one of the many that transformers knows and Pippin does not
        return None
