"""How much memory a training step takes: an estimate in parts, from plain figures.

Counted are the tensors that torch keeps for the backward pass of an encoder such as BERT. Other kinds of models are
taken for one of the same width and depth, and may differ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pippin.models.facts import ModelSize

FULL, HALF = 4, 2
#: For each trained parameter: the bytes that an optimiser keeps, and those that it needs while it updates.
_OPTIMISERS = {
    "adamw_torch_fused": (8, 0),
    "adamw_torch": (8, 4),
    "sgd": (0, 0),
    "adafactor": (0, 4),
    "adagrad": (4, 4),
    "rmsprop": (4, 4),
}
#: Gradients that wait for their update where updates are made in the backward pass.
WAITING_GRADIENTS = 64 * 2**20


@dataclass(frozen=True)
class Estimate:
    """Bytes at the moment of a step when most are held."""

    parts: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.parts.values())


@dataclass(frozen=True)
class StepSize:
    """An optimiser step, as far as its memory goes: its largest micro-batch, and what is kept of it."""

    rows: int
    tokens: int
    """With padding."""
    pairs: int
    """Of tokens of which one attends to the other: what one head has scores for."""
    micro_batches: int = 1
    mixed: bool = False
    """Whether matrix products are in half precision."""
    keeps_scores: bool = True
    """Whether attention's scores are kept for the backward pass, as without a kernel for the whole of attention."""
    mask_bytes: int = FULL
    """For each element of a dropout mask."""
    first_tokens: bool = False
    """Whether the last layer is computed for first tokens only."""
    trained_words: int = 0
    """Word vectors that are trained; 0: all."""
    frozen_layers: int | None = None
    """Layers from the bottom that are not trained, nor are the embeddings: nothing is kept of these. None: all are."""
    recomputes: bool = False
    """Whether only what goes into a layer is kept, and the rest computed again."""
    captured: bool = False
    """Whether steps are recorded: a record keeps its memory, also while a step of another shape runs beside it."""
    updates_in_backward: bool = False
    optimiser: str = "adamw_torch_fused"
    half_state: bool = False
    """Whether the optimiser's state is in half precision."""
    copies_state: bool = False
    """Whether a checkpoint is written from a copy in the same memory while the next step runs."""
    held: int = 0
    """Bytes that are held before the model is loaded."""
    spread_over: int = 1
    """Processes over which weights, gradients and the optimiser's state are spread; layers are whole while they run."""
    gradient_sums: int = 0
    """Copies of the whole gradient in which several shards or processes add up theirs, all the time."""


def optimiser_bytes(optimiser: str, half_state: bool) -> tuple[int, int]:
    """For each trained parameter: the bytes that an optimiser keeps, and those that it needs while it updates."""
    kept, updating = _OPTIMISERS[optimiser]
    return (kept // 2 if half_state else kept), updating


def estimate(model: ModelSize, step: StepSize) -> Estimate:
    """The memory of a step, by what it is for."""
    trained = _trained(model, step) // step.spread_over
    bytes_kept, update_bytes = optimiser_bytes(step.optimiser, step.half_state)
    kept = _kept(model, step)
    working = _working(model, step)
    gradients = FULL * trained * max(step.gradient_sums, 1)
    largest = FULL * max(_trained_words(model, step) * model.width, model.width * model.inner)
    if step.updates_in_backward:
        gradients = min(gradients, WAITING_GRADIENTS + largest)
    activations = sum(kept.values()) + working
    if step.micro_batches == 1 and not step.gradient_sums:
        # Gradients come as activations go: the larger of the two decides.
        gradients_beside = max(0, gradients - activations)
    else:
        gradients_beside = gradients + max(0, largest - activations)
    # Activations are gone when the weights are updated.
    whole_update = 4 * largest if step.half_state else update_bytes * gradients // FULL
    updating = max(0, gradients + whole_update - gradients_beside - activations)
    return Estimate(
        {
            "already in use": step.held,
            "weights": FULL * model.weights // step.spread_over
            + (2 * FULL * model.layer if step.spread_over > 1 else 0),
            "weights in half precision": HALF * _used_layers(model, step) * model.layer if step.mixed else 0,
            "optimiser state": bytes_kept * trained,
            "gradients": gradients_beside,
            **kept,
            "workspace": working + updating,
            "checkpoint": FULL * model.weights + bytes_kept * model.weights if step.copies_state else 0,
            "recorded steps": gradients + activations if step.captured else 0,
        }
    )


def _trained_words(model: ModelSize, step: StepSize) -> int:
    if step.frozen_layers is not None:
        return 0
    return min(step.trained_words or model.vocabulary, model.vocabulary)


def _trained(model: ModelSize, step: StepSize) -> int:
    """Parameters that are trained."""
    frozen = step.frozen_layers is not None
    embeddings = 0 if frozen else _trained_words(model, step) * model.width + model.other_embeddings
    return embeddings + _used_layers(model, step) * model.layer + model.head


def _used_layers(model: ModelSize, step: StepSize) -> int:
    """Layers that take part in the backward pass."""
    return model.layers - min(step.frozen_layers or 0, model.layers)


def _kept(model: ModelSize, step: StepSize) -> dict[str, int]:
    """What is kept for the backward pass."""
    layers = _used_layers(model, step)
    states = FULL * step.tokens * model.width
    last = int(step.first_tokens and layers > 0)
    embeddings = 0 if step.frozen_layers is not None else states + _mask(model, step, step.tokens * model.width)
    head = FULL * step.rows * (3 * model.width + 3 * model.outputs)
    if step.recomputes:
        # Each layer's input, and at one moment the rest of one layer. The last is done with first.
        others = _of_layer(model, step) - _element(step) * step.tokens * model.width
        return {
            "embeddings": embeddings,
            "layers": (layers - last) * states + (others if layers else 0),
            "attention scores": _scores(model, step) if layers else 0,
            "head": head,
        }
    return {
        "embeddings": embeddings,
        "layers": (layers - last) * _of_layer(model, step) + last * _of_last_layer(model, step),
        "attention scores": (layers - last) * _scores(model, step) + last * _scores(model, _first_only(step)),
        "head": head,
    }


def _of_layer(model: ModelSize, step: StepSize) -> int:
    """All that a layer keeps but attention's scores."""
    one, elements = _element(step), step.tokens * model.width
    norms = 2 * FULL * elements
    inputs = 3 * one * elements  # of the layer, of what follows attention, and of the feed-forward part
    masks = 2 * _mask(model, step, elements)
    inner = (3 if model.gated else 2) * one * step.tokens * model.inner
    return norms + inputs + _queries_keys_values(model, step, 3) + masks + inner


def _of_last_layer(model: ModelSize, step: StepSize) -> int:
    """The same where it goes on with first tokens only: its input, keys and values of all tokens."""
    everything = _element(step) * step.tokens * model.width + _queries_keys_values(model, step, 2)
    return everything + _of_layer(model, replace(step, tokens=step.rows))


def _queries_keys_values(model: ModelSize, step: StepSize, count: int) -> int:
    # Scores are computed in full precision, from copies in it.
    both = HALF + FULL if step.mixed and step.keeps_scores else _element(step)
    return count * both * step.tokens * model.width


def _scores(model: ModelSize, step: StepSize) -> int:
    """Softmax's result, and with dropout the mask and their product."""
    if not step.keeps_scores:
        return 0
    return (3 if model.attention_dropout else 1) * FULL * step.pairs * model.heads


def _first_only(step: StepSize) -> StepSize:
    """Each row's first token attends to the row."""
    return replace(step, pairs=step.tokens)


def _working(model: ModelSize, step: StepSize) -> int:
    """What the backward pass of one layer has in hand beside what was kept."""
    if not _used_layers(model, step):
        return 0
    one = _element(step)
    feed_forward = one * step.tokens * (2 * model.inner + 2 * model.width)
    attention = one * 4 * step.tokens * model.width
    if step.keeps_scores:
        attention += 2 * FULL * step.pairs * model.heads
    return max(feed_forward, attention)


def _mask(model: ModelSize, step: StepSize, elements: int) -> int:
    return min(step.mask_bytes, _element(step)) * elements if model.dropout else 0


def _element(step: StepSize) -> int:
    return HALF if step.mixed else FULL
