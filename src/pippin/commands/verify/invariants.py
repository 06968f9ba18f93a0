"""What must hold on a device by itself, whatever the CPU says: no row sees another, and no token a later one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from pippin.commands.verify.measurement import Experiment, by_row, to_cpu
from pippin.commands.verify.tolerance import allowed_error, distance, epsilon
from pippin.commands.verify.verdict import LATER, PADDED, Finding
from pippin.data.collate import Collator
from pippin.data.encoding import Encoded
from pippin.machine.drivers.base import Backend
from pippin.models.attention import is_causal
from pippin.models.network import Network


def beside_a_longer_row(experiment: Experiment, network: Network, cpu: Backend, allowed: float) -> Finding | None:
    """The logits of the shortest row alone, and beside the longest: padded, or packed.

    None where all rows are as long, or where padding has a say on the CPU too.
    """
    rows = np.concatenate(list(experiment.batches))
    lengths = experiment.encoded.lengths[rows]
    short, long = int(rows[lengths.argmin()]), int(rows[lengths.argmax()])
    if lengths.min() == lengths.max():
        return None
    if _padding_tells(experiment.make_plain(experiment.placed(cpu), cpu), experiment.encoded, short, long) > allowed:
        return None
    return Finding(PADDED, _padding_tells(network, experiment.encoded, short, long), allowed)


def before_a_changed_token(experiment: Experiment, network: Network, cpu: Backend) -> Finding | None:
    """What the core gives for the first half of a row, before and after its second half is changed.

    None where tokens see later ones on the CPU too: such a model is not causal. The device does the same sums twice,
    so that no more than a last rounding may differ, whatever the depth.
    """
    if not is_causal(experiment.model.config):
        return None
    twice = row_and_changed(experiment)
    allowed = allowed_error(experiment.model) + (epsilon(network.precision) if network.precision != "fp32" else 0.0)
    on_cpu = Network(experiment.placed(cpu), cpu)
    if _moved(on_cpu, twice) > allowed_error(experiment.model):
        return None
    return Finding(LATER, _moved(network, twice), allowed)


def row_and_changed(experiment: Experiment) -> Encoded:
    """The longest row, and the same with other tokens in its second half."""
    encoded = experiment.encoded
    rows = np.concatenate(list(experiment.batches))
    row = int(rows[encoded.lengths[rows].argmax()])
    start, stop = encoded.offsets[row], encoded.offsets[row + 1]
    length = int(stop - start)
    tokens = encoded.tokens[start:stop]
    changed = tokens.copy()
    model: Any = experiment.model
    changed[first_half(length) :] = (changed[first_half(length) :] + 1) % model.get_input_embeddings().num_embeddings
    return replace(
        encoded,
        tokens=np.concatenate([tokens, changed]),
        token_type_ids=None if encoded.token_type_ids is None else np.tile(encoded.token_type_ids[start:stop], 2),
        offsets=np.array([0, length, 2 * length]),
        labels=None,
    )


def first_half(length: int) -> int:
    """Tokens that stay as they are: at least one, and never all."""
    return max(length // 2, 1)


def _padding_tells(network: Network, encoded: Encoded, short: int, long: int) -> float:
    """How far the logits of a row are from those that it has beside a longer one."""
    network.model.eval()
    found = []
    with torch.inference_mode():
        for rows in ([short], sorted([short, long])):
            batch = network.collate(encoded, np.array(rows))
            found.append(by_row(network.logits(batch), batch)[rows.index(short)])
    return distance(found[1], found[0])


def _moved(network: Network, twice: Encoded) -> float:
    """How far the states of the first half are apart, in the worse of evaluation and training."""
    worse = 0.0
    for training in (False, True):
        network.model.train(training)
        with torch.set_grad_enabled(training), torch.inference_mode(not training):
            before, after = (_states(network, twice, row) for row in (0, 1))
        worse = max(worse, distance(after, before))
    return worse


def _states(network: Network, twice: Encoded, row: int) -> torch.Tensor:
    """What comes out of the core for the first half of a row."""
    model: Any = network.model
    found: list[Any] = []
    hook = getattr(model, model.base_model_prefix).register_forward_hook(lambda _, __, answer: found.append(answer))
    try:
        # Not as planned: a packed batch has its tokens elsewhere, and no model that looks back is packed.
        batch = Collator()(twice, np.array([row]))
        network.logits(batch)
    finally:
        hook.remove()
    answer = found[0] if isinstance(found[0], torch.Tensor) else found[0][0]
    return to_cpu(answer[0, : first_half(int(twice.lengths[row]))])
