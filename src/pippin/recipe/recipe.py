"""The Recipe: what was asked for. The first of the five nouns; it knows nothing of devices or data."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pippin.recipe.data_fields import DataFields
from pippin.recipe.model_fields import ModelFields
from pippin.recipe.run_fields import RunFields
from pippin.recipe.training_fields import TrainingFields


@dataclass(frozen=True, kw_only=True)
class Recipe(DataFields, ModelFields, TrainingFields, RunFields):
    """Every setting of a run, as the user gave it; None where the choice is left to the plan."""

    @property
    def is_classic(self) -> bool:
        """Whether this is a command in the manner of run_glue.py, which gets Hugging Face's defaults."""
        return self.do_train or self.do_eval or self.do_predict

    @property
    def wants_training(self) -> bool:
        return self.do_train or not self.is_classic

    @property
    def wants_evaluation(self) -> bool:
        return self.do_eval or not self.is_classic or self.eval_strategy in ("steps", "epoch")

    @property
    def wants_prediction(self) -> bool:
        return self.do_predict or not self.is_classic

    @property
    def wants_resume(self) -> bool:
        named = self.resume_from_checkpoint
        return self.resume or (named is not None and named.lower() != "false")

    @property
    def order_seed(self) -> int:
        """Seed of the split and of the order of rows."""
        return self.seed if self.data_seed is None else self.data_seed

    @property
    def computers(self) -> int:
        """How many the hosts are: by their names, or for a forecast by their number."""
        counted = len(self.hosts) == 1 and self.hosts[0].isdigit()
        return int(self.hosts[0]) if counted else max(len(self.hosts), 1)

    def using_model(self, folder: str) -> Recipe:
        """The same with the model, configuration and tokenizer of one folder."""
        return replace(self, model_name_or_path=folder, config_name=None, tokenizer_name=None)

    def public(self) -> Recipe:
        """The same recipe without secrets, fit to be written down."""
        return replace(self, token=None)
