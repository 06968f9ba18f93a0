"""Looking for the operator that failed, by doing the work again and watching every call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from pippin.commands.failures.call import FailedCall, describe, first_line, likeness
from pippin.engine.repeatable import work_of
from pippin.machine.drivers.base import Backend


@dataclass(frozen=True)
class Findings:
    call: FailedCall | None = None
    """The failing call: the smallest one where it fails with random numbers, else as it was seen."""
    seen: FailedCall | None = None
    """The failing call as it was seen in the work."""
    reproduced: bool = False
    """Whether it fails with random numbers."""
    works_on_cpu: bool = False
    """Whether it works on the CPU with random numbers."""
    no_call: str = ""
    """Why there is no call."""

    @property
    def is_torchs(self) -> bool:
        """Whether a kernel of torch's for this device is to blame, and not the way in which it was called."""
        if self.call is None or not self.works_on_cpu:
            return False
        devices = {tensor.device for tensor in self.call.tensors if tensor.shape}
        # A TypeError: the device has no such type, float64 say. Tensors on two devices: put there by mistake.
        return self.call.operator.startswith("aten::") and self.call.error_type != "TypeError" and len(devices) < 2


def investigate(error: Exception, backend: Backend) -> Findings:
    """Find the operator behind an error. Never raises: a search that fails finds nothing."""
    try:
        return _investigate(error, backend)
    except Exception as own:
        return Findings(no_call=f"the search for the operator failed itself ({type(own).__name__})")


def _investigate(error: Exception, backend: Backend) -> Findings:
    work = work_of(error)
    if work is None:
        return Findings(no_call="the error did not happen in the model's work on the device")
    if not _answers(backend):
        return Findings(no_call="the device no longer answers after the error")
    watch = _Watch(backend.synchronize)
    try:
        # One thread: the backward pass then runs where it is watched.
        with torch.autograd.set_multithreading_enabled(False), watch:
            work()
    except Exception as again:
        if likeness(again) != likeness(error):
            return Findings(no_call=f"the same work, repeated, ended in another error ({type(again).__name__})")
        if watch.failed is None or watch.error is not again:
            return Findings(no_call="the error was not raised by an operator")
        smallest = smallest_call(watch.failed, again)
        if smallest is None:
            return Findings(watch.failed, seen=watch.failed)
        on_cpu = error_of(smallest.on_cpu())
        return Findings(smallest, seen=watch.failed, reproduced=True, works_on_cpu=on_cpu is None)
    return Findings(no_call="the same work passed when it was repeated")


def _answers(backend: Backend) -> bool:
    """Whether the device still computes: after some errors it is lost to this process."""
    try:
        return float((torch.ones(2, device=backend.device) + 1).sum().cpu()) == 4.0
    except Exception:
        return False


class _Watch(TorchDispatchMode):
    """Sees every call of an operator and keeps the last that failed."""

    def __init__(self, synchronize: Callable[[], None]):
        super().__init__()
        self.synchronize = synchronize
        self.failed: FailedCall | None = None
        self.error: Exception | None = None

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        try:
            result = func(*args, **(kwargs or {}))
            self.synchronize()  # a device fails late: by then another call would be blamed
            return result
        except Exception as error:
            self.failed, self.error = describe(func, args, kwargs or {}, error), error
            raise


_MOST_TRIES = 60


def error_of(call: FailedCall) -> Exception | None:
    """What the call raises with random numbers. Its snippet is what runs, so that the snippet is known to work."""
    try:
        with torch.no_grad():
            exec(call.snippet, {})
    except Exception as error:
        return error
    return None


def smallest_call(call: FailedCall, failure: Exception) -> FailedCall | None:
    """The call with its sizes made as small as it still fails alike; None where random numbers do not fail."""
    tries = 0

    def tried(candidate: FailedCall) -> FailedCall | None:
        """The candidate with its own error, if that is like the failure."""
        nonlocal tries
        tries += 1
        error = error_of(candidate)
        if error is None or likeness(error) != likeness(failure):
            return None
        return replace(candidate, error_text=first_line(error))

    best = tried(call)
    if best is None:
        return None
    shorter = call.with_first_of_lists()
    if shorter != call and (found := tried(shorter)):
        call, best = shorter, found
    sizes: dict[int, int] = {}
    for size in sorted({size for tensor in call.tensors for size in tensor.shape if size > 1}, reverse=True):
        # Most sizes do not matter: 1 comes first. Others are halved until they pass, then searched in between.
        passing, failing, middle = 0, size, 1
        while failing - passing > 1 and tries < _MOST_TRIES:
            found = tried(call.resized({**sizes, size: middle}))
            if found:
                failing, best = middle, found
            else:
                passing = middle
            middle = (passing + failing) // 2
        sizes[size] = failing
    return best
