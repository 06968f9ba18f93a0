"""Linear layers in 8 bits, for faster and inexact predictions on the CPU.

torch.ao.quantization announces its removal, so its two operators are called directly: they are in every torch that
Pippin runs on. Weights become whole numbers with a scale for each output; inputs get theirs anew in every call.
"""

from __future__ import annotations

import warnings

import torch

from pippin.errors import PippinError

#: What to say wherever such a model answers.
INEXACT = "int8: labels may differ from the exact model's"


class Int8Linear(torch.nn.Module):
    """A linear layer whose weights are 8-bit numbers. It cannot be trained or saved."""

    #: transformers' T5 asks for its type.
    weight = None

    def __init__(self, layer: torch.nn.Linear):
        super().__init__()
        weight = layer.weight.detach().float()
        # A row of zeros has no scale of its own, and the ARM kernels refuse one that is next to nothing.
        scales = weight.abs().amax(dim=1).clamp(min=1e-6) / 127
        with warnings.catch_warnings():
            # torch 2.13 warns that tensors of this type will go; no other way into the operator is in all releases.
            warnings.simplefilter("ignore")
            zeros = torch.zeros(len(scales), dtype=torch.long)
            whole = torch.quantize_per_channel(weight, scales.double(), zeros, 0, torch.qint8)
        bias = None if layer.bias is None else layer.bias.detach().float()
        self.packed = torch.ops.quantized.linear_prepack(whole, bias)
        # Sums of full 8-bit products overflow in the older kernels of x86; the ARM ones know no smaller range.
        self.smaller_range = torch.backends.quantized.engine != "qnnpack"

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return torch.ops.quantized.linear_dynamic(inputs, self.packed, self.smaller_range)


def to_int8(model: torch.nn.Module, outputs: int) -> None:
    """Replace a model's linear layers, but for those that give the ``outputs`` logits: they cost next to nothing."""
    _choose_kernels()
    found = [
        (parent, name, child)
        for parent in model.modules()
        for name, child in parent.named_children()
        if type(child) is torch.nn.Linear and child.out_features != outputs
    ]
    if not found:
        raise PippinError("int8: this model has no linear layers that could be quantised. Leave int8 out.")
    for parent, name, child in found:
        setattr(parent, name, Int8Linear(child))


def _choose_kernels() -> None:
    """torch for ARM comes with kernels that nobody switched on."""
    engines = [name for name in torch.backends.quantized.supported_engines if name != "none"]
    if not engines:
        raise PippinError("int8: the installed torch has no 8-bit kernels for this processor. Leave int8 out.")
    if torch.backends.quantized.engine not in engines:
        torch.backends.quantized.engine = engines[0]
