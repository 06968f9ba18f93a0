"""Switches on a model that matter only while training: gradient checkpointing and NEFTune noise."""

from __future__ import annotations

from typing import Any

import torch

from pippin.errors import PippinError
from pippin.recipe import Recipe

_CHECKPOINTING_SETTINGS = {"use_reentrant", "preserve_rng_state", "determinism_check", "debug"}


def prepare_for_training(model: Any, recipe: Recipe) -> None:
    """Set the model up as the recipe asks."""
    if recipe.gradient_checkpointing:
        if not model.supports_gradient_checkpointing:
            raise PippinError(f"--gradient_checkpointing: {type(model).__name__} does not offer it.")
        unknown = set(recipe.gradient_checkpointing_kwargs or {}) - _CHECKPOINTING_SETTINGS
        if unknown:
            raise PippinError(
                f"--gradient_checkpointing_kwargs: {', '.join(sorted(unknown))} is not known; "
                f"there are {', '.join(sorted(_CHECKPOINTING_SETTINGS))}."
            )
        model.gradient_checkpointing_enable(recipe.gradient_checkpointing_kwargs or {"use_reentrant": False})
    if recipe.neftune_noise_alpha:
        add_noise_to_embeddings(model, recipe.neftune_noise_alpha)


def add_noise_to_embeddings(model: Any, alpha: float) -> None:
    """NEFTune: uniform noise of size alpha / sqrt(length × width) on the word embeddings, in training mode only."""

    def add_noise(module: torch.nn.Module, inputs: Any, output: torch.Tensor) -> torch.Tensor:
        if not module.training:
            return output
        size = alpha / (output.size(1) * output.size(2)) ** 0.5
        return output + torch.zeros_like(output).uniform_(-size, size)

    model.get_input_embeddings().register_forward_hook(add_noise)
