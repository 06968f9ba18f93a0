"""Operators that the Apple GPU lacks, run on the CPU and counted.

torch has such a fallback of its own, which names only the first operator of a process and works only when a variable
was set before torch was imported. So while a job runs, the operators that this release sends to the CPU are registered
here, with a kernel that does the same and keeps count. All others run as ever, at no cost.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._pytree import tree_map

from pippin.machine.fallbacks import Fallbacks
from pippin.machine.operators import Coverage, OperatorTable

_DEVICE = torch.device("mps")
_SENT_TO_CPU = (Coverage.FALLBACK, Coverage.ALWAYS_CPU)


@contextmanager
def counted(table: OperatorTable, on_first: Callable[[str], None]) -> Iterator[Fallbacks]:
    """Run what a release lacks on the CPU, and count it; `on_first` hears the name of each operator once."""
    found = Fallbacks()
    library = torch.library.Library("aten", "IMPL")  # noqa: TOR901  (destroyed below)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few are torch's own "always on the CPU", which ours replace
        for name, overload in _lacking(table):
            library.impl(name, _kernel(overload, found, on_first), "MPS")
    try:
        yield found
    finally:
        library._destroy()


def _lacking(table: OperatorTable) -> Iterator[tuple[str, Any]]:
    """The overloads that the release sends to the CPU and the installed torch knows."""
    for name in table.operators:
        if table.coverage(name) not in _SENT_TO_CPU:
            continue
        base, _, overload = name.partition(".")
        found = getattr(getattr(torch.ops.aten, base, None), overload or "default", None)
        if found is not None:
            yield name, found


def _kernel(overload: Any, found: Fallbacks, on_first: Callable[[str], None]) -> Callable[..., Any]:
    name = f"aten::{overload._schema.name.partition('::')[2]}"

    def run(*arguments: Any, **keywords: Any) -> Any:
        if name not in found.operators:
            on_first(name)
        torch.mps.synchronize()  # what the GPU still has to do is not this operator's time
        started = time.perf_counter()
        result = _on_cpu(overload, arguments, keywords)
        found.add(name, time.perf_counter() - started)
        return result

    return run


def _on_cpu(overload: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Copy the arguments to the CPU, run, and bring back results and what was written in place."""
    schema = overload._schema
    names = [argument.name for argument in schema.arguments]
    given = {**dict(zip(names, arguments, strict=False)), **keywords}
    copied = tree_map(_to_cpu, given)
    positional = [copied[name] for name in names[: len(arguments)]]
    result = overload(*positional, **{name: copied[name] for name in keywords})
    written = {}
    for argument in schema.arguments:
        if argument.name in given and argument.alias_info is not None and argument.alias_info.is_write:
            for mine, theirs in zip(_tensors(given[argument.name]), _tensors(copied[argument.name]), strict=True):
                mine.resize_(theirs.shape).copy_(theirs)
                written[id(theirs)] = mine

    def bring_back(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        return written[id(value)] if id(value) in written else value.to(_DEVICE)

    return tree_map(bring_back, result)


def _to_cpu(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.cpu()
    if isinstance(value, torch.device):
        return torch.device("cpu")
    if isinstance(value, torch.Generator):
        return None  # the CPU's own: the device's stream cannot be read there
    return value


def _tensors(value: Any) -> list[torch.Tensor]:
    return [value] if isinstance(value, torch.Tensor) else [each for each in value or [] if each is not None]
