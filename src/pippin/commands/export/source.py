"""What is exported: a finished run of a language model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from pippin.commands.named_model import run_of
from pippin.errors import PippinError, not_a_run
from pippin.models.adapters import CONFIG as ADAPTER
from pippin.models.adapters import WEIGHTS as ADAPTER_WEIGHTS
from pippin.models.adapters import base_of
from pippin.models.completeness import Loaded
from pippin.models.facts import Precision
from pippin.models.loading import below_adapters, load_config, load_model, load_tokenizer, weight_files
from pippin.models.stored import stored_precision
from pippin.models.widened import widen_where_used
from pippin.recipe import Recipe
from pippin.runs.record import Run
from pippin.tasks.language.stops import stop_tokens
from pippin.tasks.language.task import LanguageTask

TORCH_TYPES: dict[Precision, torch.dtype] = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
#: Bytes of a model's folder beside its weights, mostly the tokenizer.
_SMALL_FILES = 32 * 2**20


@dataclass(frozen=True)
class Source:
    folder: Path
    run: Run
    asked: Precision | None = None
    """The precision in which it is to be written; None: as it is stored."""

    @property
    def recipe(self) -> Recipe:
        return Recipe(model_name_or_path=str(self.folder))

    @property
    def has_adapters(self) -> bool:
        return (self.folder / ADAPTER).is_file()

    @cached_property
    def below(self) -> Recipe:
        """Names the model that the adapters are for; without adapters the run's own."""
        return below_adapters(self.recipe)

    @property
    def base(self) -> str:
        """What others find the model by that the adapters are for."""
        return str(base_of(self.folder))

    @cached_property
    def files(self) -> list[Path]:
        """Of the weights that are not adapters."""
        return weight_files(self.recipe)

    @cached_property
    def stored(self) -> Precision:
        return stored_precision(self.files)

    @property
    def written(self) -> Precision:
        return self.asked or self.stored

    @cached_property
    def config(self) -> Any:
        return load_config(self.recipe, auto_model=LanguageTask.auto_model)

    @cached_property
    def tokenizer(self) -> Any:
        return load_tokenizer(self.recipe)

    @property
    def bytes_of_all(self) -> int:
        stored = sum(path.stat().st_size for path in self.files)
        return stored * TORCH_TYPES[self.written].itemsize // TORCH_TYPES[self.stored].itemsize + _SMALL_FILES

    @property
    def bytes_of_adapters(self) -> int:
        return (self.folder / ADAPTER_WEIGHTS).stat().st_size + _SMALL_FILES

    def load(self, recipe: Recipe | None = None) -> Any:
        """The run's own model, or the one below its adapters: kept as it is stored, computed in full precision.

        Kept in full where it is to be rounded otherwise.
        """
        whole, head = Loaded.require_whole, LanguageTask.auto_model
        kept = self.stored if self.written == self.stored else "fp32"
        model: Any = load_model(recipe or self.recipe, self.config, None, whole, head, kept)
        return in_full(model)

    @cached_property
    def stops(self) -> list[int]:
        """Tokens that end an answer."""
        from transformers import GenerationConfig

        folders = (self.folder, self.files[0].parent)
        found = next((each for each in folders if (each / "generation_config.json").is_file()), None)
        return stop_tokens(self.tokenizer, GenerationConfig.from_pretrained(found) if found else None)


def open_source(folder: str, precision: Precision | None = None) -> Source:
    """A run that can be exported, or why it cannot."""
    run = run_of(folder)
    if run is None:
        raise not_a_run(folder)
    if run.data.pipeline != LanguageTask.pipeline:
        raise PippinError(
            f"{folder} learnt {run.data.kind}, and export is for language models. It loads in transformers as it is: "
            f"pipeline({run.data.pipeline!r}, model={folder!r})"
        )
    return Source(Path(folder), run, precision)


def in_full(model: Any) -> Any:
    """A model that only answers, in full precision whatever its weights are kept in."""
    model.requires_grad_(False).eval()
    widen_where_used(model)
    return model
