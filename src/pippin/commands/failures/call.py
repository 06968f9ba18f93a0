"""A call of one operator as plain data: shapes and types, never what is in a tensor."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

#: Most characters of an error's first line that are kept.
_LONGEST_TEXT = 300
#: How tensors of a dtype are made and filled; those of others hold zeros.
_FILLED = {
    **dict.fromkeys(("float16", "bfloat16", "float32", "float64", "complex64", "complex128"), ("randn", "normal_()")),
    "bool": ("ones", "fill_(True)"),
}


@dataclass(frozen=True)
class TensorLike:
    """What a tensor looks like from outside."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    device: str

    @property
    def code(self) -> str:
        """Python that makes such a tensor: random numbers, zeros for integers, True for booleans."""
        # An expanded dimension has one element in memory.
        shape = tuple(size if stride else min(size, 1) for size, stride in zip(self.shape, self.strides, strict=True))
        options = f'dtype=torch.{self.dtype}, device="{self.device}"'
        make, fill = _FILLED.get(self.dtype, ("zeros", "zero_()"))
        made = f"torch.{make}({shape}, {options})"
        if not _is_contiguous(shape, self.strides):
            made = f"torch.empty_strided({shape}, {self.strides}, {options}).{fill}"
        return made if shape == self.shape else f"{made}.expand({self.shape})"

    def __str__(self) -> str:
        plain = _is_contiguous(self.shape, self.strides)
        return f"{self.dtype} {list(self.shape)}{'' if plain else f', strides {list(self.strides)}'}, {self.device}"

    def resized(self, sizes: dict[int, int]) -> TensorLike:
        """With other sizes, laid out alike: the same order of dimensions, the same gaps and expansions."""
        shape = tuple(sizes.get(size, size) for size in self.shape)
        if shape == self.shape:
            return self
        strides = [0] * len(shape)
        dense = new_dense = 1
        for place in sorted(range(len(shape)), key=lambda place: (self.strides[place], self.shape[place], -place)):
            if self.strides[place]:
                strides[place] = new_dense * max(1, -(-self.strides[place] // dense))
                dense, new_dense = self.strides[place] * self.shape[place], strides[place] * shape[place]
        return replace(self, shape=shape, strides=tuple(strides))


@dataclass(frozen=True)
class Code:
    """A value that is best said in Python, such as a dtype."""

    code: str

    def __str__(self) -> str:
        return self.code


@dataclass(frozen=True)
class Argument:
    name: str
    value: Any
    """A TensorLike, a Code, a number, None, a short option's name, or a list of these."""
    by_name: bool
    holds_sizes: bool
    """Whether its numbers are sizes, such as a new shape."""


@dataclass(frozen=True)
class FailedCall:
    """An operator, what it was called with, and how that ended."""

    operator: str
    """In torch's spelling, e.g. aten::add.Tensor."""
    arguments: tuple[Argument, ...]
    error_type: str
    error_text: str
    """The error's first line, free of what was in the tensors."""

    @property
    def tensors(self) -> list[TensorLike]:
        return [part for item in self.arguments for part in tree_leaves(item.value) if isinstance(part, TensorLike)]

    @property
    def snippet(self) -> str:
        """A few lines of Python that make this call."""
        space, _, name = self.operator.partition("::")
        path = f"torch.ops.{space}.{name if '.' in name else name + '.default'}"
        lines = [f"    {f'{item.name}=' if item.by_name else ''}{_code(item.value)}," for item in self.arguments]
        # Devices fail late: by then another call may be blamed.
        kinds = sorted({tensor.device.partition(":")[0] for tensor in self.tensors} - {"cpu"})
        waits = [f"torch.{kind}.synchronize()" for kind in kinds]
        return "\n".join(["import torch", "", f"{path}(", *lines, ")", *waits]) + "\n"

    def resized(self, sizes: dict[int, int]) -> FailedCall:
        """The call with every size replaced alike, wherever it stands."""

        def change(holds_sizes: bool, value: Any) -> Any:
            if isinstance(value, TensorLike):
                return value.resized(sizes)
            return sizes.get(value, value) if holds_sizes and type(value) is int else value

        return self._changed(change)

    def on_cpu(self) -> FailedCall:
        def change(_: bool, value: Any) -> Any:
            if isinstance(value, TensorLike):
                return replace(value, device="cpu")
            is_device = isinstance(value, Code) and value.code.startswith("torch.device(")
            return Code('torch.device("cpu")') if is_device else value

        return self._changed(change)

    def with_first_of_lists(self) -> FailedCall:
        """The call with one tensor in each list of tensors."""

        def first(value: Any) -> Any:
            return value[:1] if isinstance(value, list) and value and isinstance(value[0], TensorLike) else value

        return replace(self, arguments=tuple(replace(item, value=first(item.value)) for item in self.arguments))

    def _changed(self, change: Callable[[bool, Any], Any]) -> FailedCall:
        values = (tree_map(partial(change, item.holds_sizes), item.value) for item in self.arguments)
        items = (replace(item, value=value) for item, value in zip(self.arguments, values, strict=True))
        return replace(self, arguments=tuple(items))


def describe(operator: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], error: Exception) -> FailedCall:
    """A failed call of a torch.ops operator as plain data."""
    own = operator.namespace == "aten"
    # Only the schema's text tells a size (SymInt) from another number.
    sizes = set(re.findall(r"SymInt\S* (\w+)", str(operator._schema)))
    names = [argument.name for argument in operator._schema.arguments]
    given = [(name, value, False) for name, value in zip(names, arguments, strict=False)]
    given += [(name, value, True) for name, value in keywords.items()]
    described = tuple(Argument(name, _described(value, own), by_name, name in sizes) for name, value, by_name in given)
    call = FailedCall(operator.name(), described, type(error).__name__, "")
    # What another package's operator says may hold anything.
    return replace(call, error_text=_without_values(first_line(error), call) if own else "")


def first_line(error: BaseException) -> str:
    """The first line of what an error says, cut where it is long."""
    lines = str(error).strip().splitlines()
    line = lines[0].strip() if lines else ""
    return line if len(line) <= _LONGEST_TEXT else line[:_LONGEST_TEXT] + "…"


def likeness(error: BaseException) -> tuple[str, str]:
    """Equal for two errors that say the same about other sizes."""
    return type(error).__name__, re.sub(r"\d+", "#", first_line(error))[:60]


def _described(value: Any, own: bool) -> Any:
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided:
            return Code("...")
        dtype = str(value.dtype).removeprefix("torch.")
        return TensorLike(tuple(value.shape), tuple(value.stride()), dtype, str(value.device))
    if isinstance(value, (list, tuple)):
        return [_described(part, own) for part in value]
    if isinstance(value, torch.device):
        return Code(f'torch.device("{value}")')
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        return Code(str(value))
    if isinstance(value, str):  # torch's own are names of options, such as "tanh"
        return value if own and value.isidentifier() else Code("...")
    if isinstance(value, torch.Generator):
        return None
    return value if value is None or isinstance(value, (bool, int, float, complex)) else Code("...")


def _without_values(text: str, call: FailedCall) -> str:
    """The text without numbers that are no sizes or settings of the call: they may come out of a tensor."""
    known = {str(part) for item in call.arguments for part in tree_leaves(item.value) if type(part) is int}
    known |= {str(size) for tensor in call.tensors for size in tensor.shape}
    return re.sub(r"\d+", lambda found: found[0] if found[0] in known else "#", text)


def _code(value: Any) -> str:
    if isinstance(value, (TensorLike, Code)):
        return value.code
    if isinstance(value, list):
        return f"[{', '.join(_code(part) for part in value)}]"
    return f'float("{value}")' if isinstance(value, float) and repr(value).strip("-").isalpha() else repr(value)


def _is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    dense = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1 and stride != dense:
            return False
        dense *= size
    return True
