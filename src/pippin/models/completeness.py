"""Whether a model came whole out of its file: every tensor, but for a new head, and all of them finite."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pippin.errors import PippinError

if TYPE_CHECKING:
    import torch

#: What wrappers of training loops put in front of every name.
_WRAPPERS = ("module.", "_orig_mod.", "model.", "base_model.model.")
#: A part of an encoder that only some heads use: models that were trained to fill gaps have none.
_POOLER = "pooler."
_MOST_NAMES = 4


@dataclass(frozen=True)
class Loaded:
    """What became of the tensors of a file, by name."""

    source: str = ""
    """The model's name or folder."""
    core: str = ""
    """How the names of its encoder begin."""
    new: tuple[str, ...] = ()
    """The model's that the file lacks, or has in another shape: drawn at random."""
    left_out: tuple[str, ...] = ()
    """The file's that the model has no place for."""

    def check(self) -> None:
        """Refuse a model whose encoder, as its configuration describes it, is not all in the file."""
        if missing := self._in_core(self.new):
            raise PippinError(
                f"{self.source} cannot be loaded: its file lacks {len(missing)} tensors, such as {missing[0]}."
                f"{_hint(missing, self.left_out)}"
            )

    def require_whole(self) -> None:
        """Refuse a model that is to be used as it is, and would answer at random or with a part of itself."""
        if self.new:
            raise PippinError(
                f"{self.source} cannot be used: {listed(self.new)} {'is' if len(self.new) == 1 else 'are'} not in its "
                "file, so its answers would be random. Train it, or download the model again."
            )
        if unused := self._in_core(self.left_out):
            raise PippinError(
                f"{self.source} cannot be used: its file holds {listed(unused)}, which its config.json does not "
                "describe, so its answers would be those of another model. Download the model again."
            )

    def notes(self) -> Iterator[str]:
        if self.new:
            yield f"new in the model, initialised at random: {listed(self.new)}."
        if self.left_out:
            yield f"in the model's file, but not used: {listed(self.left_out)}."

    def _in_core(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if name.startswith(self.core) and not name.startswith(self.core + _POOLER)]


def check_finite(source: str, named: Iterable[tuple[str, torch.Tensor]]) -> None:
    import torch

    for name, tensor in named:
        # Either of them makes the sum so, and nothing else does where it is taken in double precision.
        if tensor.is_floating_point() and not tensor.detach().sum(dtype=torch.float64).isfinite():
            raise PippinError(
                f"{source} cannot be loaded: {name} holds NaN or infinity. Its file is damaged, or its training "
                "failed. Choose another model."
            )


def listed(names: Collection[str]) -> str:
    """Tensors by the modules that they belong to.

    >>> listed(["classifier.weight", "classifier.bias", "bert.pooler.dense.weight"])
    'classifier, bert.pooler.dense (3 tensors)'
    """
    modules = list(dict.fromkeys(name.rpartition(".")[0] or name for name in names))
    more = f" and {len(modules) - _MOST_NAMES} more" if len(modules) > _MOST_NAMES else ""
    return f"{', '.join(modules[:_MOST_NAMES])}{more} ({len(names)} tensor{'s' * (len(names) != 1)})"


def _hint(missing: Collection[str], left_out: Collection[str]) -> str:
    for wrapper in _WRAPPERS:
        if any(name.startswith(wrapper) and name.removeprefix(wrapper) in missing for name in left_out):
            return f" The names in the file begin with {wrapper!r}: save the model itself, not what it was wrapped in."
    return " Its config.json describes another model, or the file is incomplete. Download the model again."
