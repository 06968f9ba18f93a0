"""The smallest call that fails like one that was seen, made of random numbers."""

from __future__ import annotations

from dataclasses import replace

import torch

from pippin.commands.failures.call import FailedCall, first_line, likeness

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
