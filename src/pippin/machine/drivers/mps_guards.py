"""Guards on a model against faults of the Apple GPU that no plan can see to: hooks, contexts and refusals."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import torch
from torch.nn import functional

from pippin.errors import PippinError
from pippin.machine.faults import LSTM_DROPOUT


def refuse_lstm_dropout(model: torch.nn.Module) -> None:
    """Stop where an LSTM of several layers drops out between them."""
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.LSTM) and module.num_layers > 1 and module.dropout > 0:
            raise PippinError(
                f"{type(model).__name__} holds an LSTM with dropout between its layers ({name or 'itself'}), and "
                f"{LSTM_DROPOUT.wrong} on the Apple GPU in torch {torch.__version__} "
                f"(PyTorch {LSTM_DROPOUT.source}). pip install 'torch>=2.14', or train on the CPU with --use_cpu."
            )


def ask_for_norm_input_gradients(model: torch.nn.Module) -> None:
    """Give the input of every trained LayerNorm a gradient while training, also above frozen layers."""
    for module in model.modules():
        if isinstance(module, torch.nn.LayerNorm) and any(weight.requires_grad for weight in module.parameters()):
            module.register_forward_pre_hook(_with_gradient)


def _with_gradient(module: torch.nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
    if not inputs or not torch.is_grad_enabled() or inputs[0].requires_grad:
        return None
    return (inputs[0].detach().requires_grad_(), *inputs[1:])


class FlatLinear(torch.nn.Linear):
    """What a linear layer becomes: all tokens are the rows of one matrix, which newer releases see to themselves."""

    stands_for = torch.nn.Linear
    loses_bias = False
    """Whether the device would leave out the bias of a single row."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        tokens = input.reshape(-1, input.shape[-1])
        if self.loses_bias and self.bias is not None and len(tokens) == 1:
            found = functional.linear(tokens, self.weight)
            found = found + self.bias.to(found.dtype)
        else:
            found = functional.linear(tokens, self.weight, self.bias)
        return found.view(*input.shape[:-1], self.out_features)


def flatten_linears(model: torch.nn.Module, loses_bias: bool) -> None:
    """Keep linear layers from batches of matrices, which are slow too in half precision (#189847)."""
    for module in model.modules():
        if type(module) is torch.nn.Linear:
            module.__class__ = FlatLinear  # not a new module: hooks and names stay
            module.loses_bias = loses_bias


class _FirstRun(AbstractContextManager[None]):
    """Remembers the device's random state from which a part of the model starts."""

    def __enter__(self) -> None:
        self.start = torch.mps.get_rng_state()

    def __exit__(self, *error: object) -> None:
        return None


class _SecondRun(AbstractContextManager[None]):
    """Runs the part again from there, and goes on afterwards as if it had not run."""

    def __init__(self, first: _FirstRun):
        self.first = first

    def __enter__(self) -> None:
        self.later = torch.mps.get_rng_state()
        torch.mps.set_rng_state(self.first.start)

    def __exit__(self, *error: object) -> None:
        torch.mps.set_rng_state(self.later)


def same_randomness() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """Contexts of one checkpointed part. torch keeps a device's random state only where it finds `_initialized`."""
    first = _FirstRun()
    return first, _SecondRun(first)
