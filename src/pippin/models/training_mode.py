"""Switches on a model that matter only while training: guards, gradient checkpointing and NEFTune noise."""

from __future__ import annotations

from typing import Any

import torch

from pippin.errors import PippinError
from pippin.machine.drivers.base import Backend
from pippin.models.dropout import quicken_dropout

#: Arguments of torch's checkpoint().
CHECKPOINTING_SETTINGS = {"use_reentrant", "preserve_rng_state", "determinism_check", "debug"}


def prepare_for_training(
    model: Any,
    backend: Backend,
    recomputes: bool = False,
    settings: dict[str, Any] | None = None,
    noise: float | None = None,
) -> None:
    """Set the model up as the device needs; ``recomputes`` saves the memory of activations, by these ``settings``."""
    backend.guard(model)
    if backend.slow_dropout:
        quicken_dropout(model)
    if recomputes and not recompute_activations(model, settings, backend):
        raise PippinError(f"--gradient_checkpointing: {type(model).__name__} does not support it. Leave it out.")
    if noise:
        add_noise_to_embeddings(model, noise)


def recompute_activations(model: Any, settings: dict[str, Any] | None, backend: Backend) -> bool:
    """Keep only what goes into a layer, and compute the rest again for the gradient; False where a model cannot."""
    if not getattr(model, "supports_gradient_checkpointing", False):
        return False
    model.gradient_checkpointing_enable(checkpointing_settings(settings or {}, backend))
    return True


def checkpointing_settings(asked: dict[str, Any], backend: Backend) -> dict[str, Any]:
    """The arguments of torch's checkpoint(), with what the device needs to draw the same dropout twice."""
    unknown = set(asked) - CHECKPOINTING_SETTINGS
    if unknown:
        raise PippinError(
            f"--gradient_checkpointing_kwargs: unknown {', '.join(sorted(unknown))}; "
            f"choose from {', '.join(sorted(CHECKPOINTING_SETTINGS))}."
        )
    settings = {"use_reentrant": False, **asked}
    contexts = backend.checkpoint_contexts()
    if contexts is None or not settings.get("preserve_rng_state", True):
        return settings
    for name in ("use_reentrant", "debug"):  # torch takes no contexts with these
        if settings.get(name):
            raise PippinError(
                f"--gradient_checkpointing_kwargs: with {name} true, the device {backend.kind} draws different dropout "
                "when it recomputes, and gradients are wrong. Leave it out."
            )
    return {**settings, "context_fn": contexts}


def add_noise_to_embeddings(model: Any, alpha: float) -> None:
    """NEFTune: uniform noise of size alpha / sqrt(length × width) on the word embeddings, in training mode only."""

    def add_noise(module: torch.nn.Module, inputs: Any, output: torch.Tensor) -> torch.Tensor:
        if not module.training:
            return output
        size = alpha / (output.size(1) * output.size(2)) ** 0.5
        # Contiguous, since some devices draw nothing into a tensor that is not.
        noise = torch.zeros_like(output, memory_format=torch.contiguous_format)
        return output + noise.uniform_(-size, size)

    model.get_input_embeddings().register_forward_hook(add_noise)
