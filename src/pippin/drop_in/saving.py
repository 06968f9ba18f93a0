"""How the Trainer writes checkpoints: as transactions, and beside the steps where nobody would notice."""

from __future__ import annotations

import copy
import os
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from transformers import Trainer as TheirTrainer
from transformers import trainer as their_module

from pippin.drop_in import checkpoints
from pippin.drop_in.later import Background, Copies, Later
from pippin.drop_in.notices import is_first, say
from pippin.drop_in.ranks import all_say, first_says
from pippin.drop_in.safekeeping import Safekeeping
from pippin.drop_in.swapped import swapped
from pippin.drop_in.transaction import Transaction, recover, reseal, signature
from pippin.drop_in.whose import listens, overrides
from pippin.machine.drivers.base import Backend
from pippin.machine.system import available_memory

#: Hooks that are told where a checkpoint stands: a script's own are told the place where it will stand for good.
_HOOKS = (
    "save_model", "_save", "_save_optimizer_and_scheduler", "_save_scaler", "_save_rng_state", "_get_output_dir",
    "_push_from_checkpoint",
)  # fmt: skip
#: Methods after which a script's own code may look for the checkpoint.
_AROUND = ("_save_checkpoint", "_maybe_log_save_evaluate")
#: Settings that are nobody's business but the Hub's.
_SECRETS = ("hub_token", "push_to_hub_token")


class SavesCheckpoints(TheirTrainer):
    args: Any
    _backend: Backend | None
    _safekeeping: Safekeeping

    def _begin_with_no_checkpoint(self) -> None:
        self._open_transaction: Transaction | None = None
        self._checkpoint_writer = Background()
        self._checkpoint_copies: Copies = {}
        self._saved_step = -1
        self._is_leaving_training = False
        self._users_files: dict[Path, dict[str, frozenset[str]]] = {}
        """The user's files in each folder of checkpoints, before this training wrote there."""
        self._run_numbers: dict[Path, int] = {}
        self._sealed_checkpoint: tuple[Path, int, Any] | None = None
        """The last checkpoint that was written while a script's code might still change it."""

    def _begin_saving(self) -> None:
        self._users_files, self._run_numbers, self._sealed_checkpoint, self._saved_step = {}, {}, None, -1
        first_says(lambda: self._learn_folder(Path(self._get_output_dir(None))))

    def _learn_folder(self, folder: Path) -> None:
        """Learn what is there before anything is written."""
        if folder not in self._run_numbers:
            for name, reason in recover(folder):
                say(f"{name} is incomplete: {reason}.")
            self._run_numbers[folder] = checkpoints.next_run(folder)
            self._users_files[folder] = checkpoints.strangers(folder)

    def wait_for_checkpoint(self) -> None:
        """Until the checkpoint that is being written is on the disk; raises what went wrong with it."""
        try:
            self._checkpoint_writer.wait()
        except BaseException:
            if not self._checkpoint_writer.is_busy:  # else it was only the waiting that was interrupted
                self._saved_step = -1
            raise

    def _get_output_dir(self, trial: Any) -> str:
        return str(self._open_transaction.root) if self._open_transaction else super()._get_output_dir(trial)

    def _save_checkpoint(self, model: Any, trial: Any, *others: Any, **named: Any) -> None:
        self.wait_for_checkpoint()
        folder, step = Path(self._get_output_dir(trial)), self.state.global_step

        def begin() -> Transaction:
            self._learn_folder(folder)
            return Transaction(folder, step, in_place=self._is_saving_looked_at())

        saving = first_says(begin)
        if not all_say(saving.hidden.is_dir()):  # computers that share no disk
            saving.abandon()
            super()._save_checkpoint(model, trial, *others, **named)
            return
        if not is_first():
            self._open_transaction = saving
            try:
                super()._save_checkpoint(model, trial, *others, **named)
                self._point_to_best_checkpoint(folder, saving.filled)
            finally:
                self._open_transaction = None
            all_say(True)  # its random numbers are in the checkpoint
            return
        copies = self._checkpoint_copies if self._may_write_beside_steps() else None
        later = None if saving.in_place else Later(saving.root, copies)
        try:
            self._open_transaction = saving
            with _keeping_old_ones(), later.catching() if later else nullcontext():
                super()._save_checkpoint(model, trial, *others, **named)
            if saving.filled.is_dir():
                self._point_to_best_checkpoint(folder, saving.filled)
                self.state.save_to_json(str(saving.filled / "trainer_state.json"))
                state = {"run": self._run_numbers[folder], **self._safekeeping.loss(self)}
                checkpoints.write_state(saving.filled, state)
            all_say(True)  # the others' random numbers are in it too
        except BaseException:
            saving.abandon()
            raise
        finally:
            self._open_transaction = None
        limit, best = self.args.save_total_limit, self.state.best_model_checkpoint
        finish = partial(self._finish_checkpoint, saving, later, limit, best)
        if later and later.copies is not None:
            self._checkpoint_writer.begin(finish)
        else:
            finish()
            self._sealed_checkpoint = (saving.final, step, signature(saving.final)) if saving.final.is_dir() else None
        self._saved_step = step

    def _finish_checkpoint(self, saving: Transaction, later: Later | None, limit: int | None, best: str | None) -> None:
        """Bring a checkpoint to its place, and let older ones go; may run beside the steps."""
        try:
            if later:
                later.write()
            saving.commit(self._users_files[saving.folder].get(saving.final.name, ()))
        except BaseException:
            saving.abandon()
            raise
        for name in checkpoints.retire(saving.folder, limit, best):
            say(f"{name} exceeds save_total_limit={limit}, but stays: Pippin deletes only what it wrote itself.")

    def _is_saving_looked_at(self) -> bool:
        """Whether code of the script's own, or an upload, is told the place of a checkpoint while it is filled."""
        hooks = any(overrides(self, hook) for hook in _HOOKS)
        return self.args.push_to_hub or hooks or overrides(self.model, "save_pretrained")

    def _may_write_beside_steps(self) -> bool:
        """Whether steps follow, beside which a copy can be written that nobody looks for meanwhile."""
        if not self.is_in_train or self._is_leaving_training or self.control.should_training_stop:
            return False
        if self.state.global_step >= self.state.max_steps or any(overrides(self, method) for method in _AROUND):
            return False
        if any(listens(callback, "on_save") for callback in self.callback_handler.callbacks):
            return False
        free = None if self._checkpoint_copies else available_memory()
        return free is None or free > 2 * self._checkpoint_bytes()

    def _checkpoint_bytes(self) -> int:
        """About what a copy of the weights and of the optimiser's state takes."""
        states = getattr(self.optimizer, "state", {}).values()
        tensors = [item for state in states for item in getattr(state, "values", tuple)()]
        return sum(item.nbytes for item in [*self.model.parameters(), *tensors] if isinstance(item, torch.Tensor))

    def _reseal_checkpoint(self) -> None:
        """A script's own callbacks may change a checkpoint, or put something into it: what they leave counts."""
        if self._sealed_checkpoint is not None:
            (path, step, before), self._sealed_checkpoint = self._sealed_checkpoint, None
            reseal(path, step, self._users_files[path.parent].get(path.name, ()), before)

    def _point_to_best_checkpoint(self, folder: Path, written: Path) -> None:
        """Name the best checkpoint by the place where it will stand."""
        step = getattr(self.state, "best_global_step", None)  # transformers before 4.50 has none
        if step:
            best = folder / f"checkpoint-{step}"
            if best.exists() or best.name == written.name:
                self.state.best_model_checkpoint = str(best)

    def _save(self, *arguments: Any, **named: Any) -> None:
        args: Any = self.args
        if any(getattr(args, name, None) for name in _SECRETS):  # training_args.bin is no place for them
            self.args = copy.copy(args)
            for name in _SECRETS:
                if vars(args).get(name) is not None:
                    setattr(self.args, name, None)
        try:
            super()._save(*arguments, **named)
        finally:
            self.args = args

    def _save_rng_state(self, output_dir: str) -> None:
        super()._save_rng_state(output_dir)
        if self._backend is not None:
            save_file(self._backend.random_state(), os.path.join(output_dir, self._random_state_file))

    def _load_rng_state(self, checkpoint: str | None) -> None:
        super()._load_rng_state(checkpoint)
        path = os.path.join(checkpoint or "", self._random_state_file)
        if checkpoint and self._backend is not None and os.path.isfile(path):
            self._backend.set_random_state(load_file(path))

    @property
    def _random_state_file(self) -> str:
        rank = f"_{self.args.process_index}" if self.args.world_size > 1 else ""
        return f"pippin_rng_state{rank}.safetensors"

    def _load_best_model(self) -> None:
        self.wait_for_checkpoint()
        all_say(True)  # it is the first process that writes
        super()._load_best_model()

    def _finalize_training(self, trial: Any, *arguments: Any, **named: Any) -> Any:
        self.wait_for_checkpoint()
        self._checkpoint_copies = {}
        with _keeping_old_ones(partial(self._retire_last_checkpoint, Path(self._get_output_dir(trial)))):
            return super()._finalize_training(trial, *arguments, **named)

    def _retire_last_checkpoint(self, folder: Path) -> None:
        """With a limit of one, only the best checkpoint is left at the end."""
        if self.args.should_save and self.args.save_total_limit == 1 and self.state.best_model_checkpoint:
            checkpoints.retire(folder, 1, self.state.best_model_checkpoint, newest_too=True)


def _keeping_old_ones(instead: Any = lambda: None) -> AbstractContextManager[None]:
    """Within, transformers deletes no folders of checkpoints, which it does without a look at what is in them."""

    def none(*arguments: Any, **named: Any) -> list[str]:
        instead()
        return []

    return swapped((their_module, "rotate_checkpoints", none), (their_module, "sort_checkpoints", none))
