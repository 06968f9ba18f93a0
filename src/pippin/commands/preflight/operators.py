"""Which operators a job calls, and what becomes of each on an Apple GPU with a given torch release.

A small model of the same class is trained for one step and evaluated once on the CPU, under torch's profiler, which
sees the operators that are called inside others. An operator that runs on the GPU as a whole is not looked into; one
that is made of others is judged by these.
"""

from __future__ import annotations

import copy
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

from pippin.commands.preflight.fake import FakeDriver
from pippin.data.encoding import Encoded
from pippin.engine.network import make_network
from pippin.machine.drivers import get_backend
from pippin.machine.operators import Coverage, OperatorTable, UnknownOperator, first_native
from pippin.machine.traits import CPU, DeviceTraits
from pippin.models.families import family_of
from pippin.models.network import Network
from pippin.models.plain_bert.config import PlainBertConfig
from pippin.models.skeleton import make_random
from pippin.plan.layout import FIRST_TOKENS
from pippin.tasks.sequence.task import SequenceTask

#: What a configuration calls its sizes, and small ones that go together.
_SMALL = {
    **dict.fromkeys(("num_hidden_layers", "num_layers", "num_decoder_layers", "num_key_value_heads"), 2),
    **dict.fromkeys(("num_attention_heads", "num_heads"), 4),
    **dict.fromkeys(("head_dim", "d_kv"), 16),
    **dict.fromkeys(("hidden_size", "embedding_size", "d_model", "pooler_hidden_size"), 64),
    **dict.fromkeys(("intermediate_size", "hidden_dim", "d_ff", "vocab_size"), 128),
}
#: What releases without an operator called in its place.
_INSTEAD = {"aten::_safe_softmax": "aten::_softmax"}
_ROWS, _TOKENS = 2, 8
_FUSED = "aten::_fused_adamw_"


@dataclass(frozen=True)
class Call:
    """An operator, with those that it called."""

    name: str
    inner: tuple[Call, ...] = ()


@dataclass(frozen=True)
class OperatorFinding:
    """An operator that does not simply run on the GPU."""

    name: str
    coverage: Coverage
    calls: int
    """In a step of the small model."""
    native_since: str | None
    """The first torch release, not older than the target's, in which it runs there."""


@dataclass(frozen=True)
class OperatorAnswer:
    native: int
    """Different operators that run on the GPU."""
    findings: tuple[OperatorFinding, ...]


def calls_of(config: Any, traits: DeviceTraits, attention: str | None, fused: bool) -> list[Call]:
    """The operators of one training step and one evaluation of a small model of this class."""
    backend = FakeDriver(traits)
    with _one_thread(), _quiet(), backend.attending():
        model, config = _small_model(config, attention)
        # Padded rows: packed ones are for devices with kernels for them.
        known = isinstance(config, PlainBertConfig) or family_of(config)[0] is not None
        network = make_network(model, backend, "fp32", "", FIRST_TOKENS if known else "", ())
        with profile(activities=[ProfilerActivity.CPU], **_overloads()) as recorded:
            _one_step(network, _some_rows(config), fused)
    return [_call(event) for event in recorded.events() if event.cpu_parent is None]


def judge(calls: Iterable[Call], table: OperatorTable) -> OperatorAnswer:
    """What becomes of the operators, by a release's table."""
    native: set[str] = set()
    lacking: Counter[tuple[str, Coverage]] = Counter()
    for name, coverage in _judged(calls, table):
        if coverage is Coverage.NATIVE:
            native.add(name)
        else:
            lacking[name, coverage] += 1
    findings = (
        OperatorFinding(name, coverage, count, first_native(name, since=table.release))
        for (name, coverage), count in sorted(lacking.items())
    )
    return OperatorAnswer(len(native), tuple(findings))


def has_fused_optimiser(table: OperatorTable) -> bool:
    """Whether a release has AdamW in one kernel on the GPU."""
    try:
        return table.coverage(_FUSED) is Coverage.NATIVE
    except UnknownOperator:
        return False


def _judged(calls: Iterable[Call], table: OperatorTable) -> Iterator[tuple[str, Coverage]]:
    for call in calls:
        try:
            coverage = table.coverage(call.name) if call.name.startswith("aten::") else Coverage.COMPOSITE
        except UnknownOperator:  # that release did without it: what it is made of, or an older one, was called
            if call.name in _INSTEAD:
                yield from _judged([Call(_INSTEAD[call.name])], table)
                continue
            coverage = Coverage.COMPOSITE
        if coverage is Coverage.COMPOSITE:
            yield from _judged(call.inner, table)
        else:
            yield call.name, coverage


def _one_step(network: Network, encoded: Encoded, fused: bool) -> None:
    model, batch = network.model, network.collate(encoded, np.arange(_ROWS))
    assert batch.labels is not None
    optimiser = torch.optim.AdamW(model.parameters(), fused=fused, foreach=None if fused else False)
    model.train()
    SequenceTask().loss(network.logits(batch), batch.labels).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=False)
    optimiser.step()
    model.eval()
    with torch.no_grad():
        network.logits(batch)


def _small_model(config: Any, attention: str | None) -> tuple[Any, Any]:
    """With small sizes; where these do not go together in this class, with fewer layers only."""
    few_layers = {name: value for name, value in _SMALL.items() if name.endswith("_layers")}
    for sizes in (_SMALL, few_layers):
        small = copy.deepcopy(config)
        for name, value in sizes.items():
            if isinstance(getattr(small, name, None), int):
                setattr(small, name, value)
        if getattr(small, "layer_types", None):
            small.layer_types = small.layer_types[: small.num_hidden_layers]
        if getattr(small, "pad_token_id", None) is not None and small.pad_token_id >= small.vocab_size:
            small.pad_token_id = 0
        try:
            model = make_random(small, attention)
            _one_step(Network(model, get_backend(CPU)), _some_rows(small), fused=False)
            break
        except Exception:  # each class has its own words for sizes that do not fit
            if sizes is few_layers:
                raise
    return model, small


def _some_rows(config: Any) -> Encoded:
    """Two rows of different lengths, so that one is padded."""
    lengths = np.array([_TOKENS, _TOKENS - 3])
    tokens = np.full(lengths.sum(), 7, dtype=np.int32)
    if (end := getattr(config, "eos_token_id", None)) is not None and 0 <= end < config.vocab_size:
        tokens[np.cumsum(lengths) - 1] = end  # some heads read the last token of this kind
    return Encoded(tokens, None, np.concatenate([[0], np.cumsum(lengths)]), np.zeros(_ROWS, np.int64), pad_token=0)


def _overloads() -> dict[str, Any]:
    """Names with their overloads, where this torch can tell."""
    try:
        return {"experimental_config": torch._C._profiler._ExperimentalConfig(capture_overload_names=True)}
    except (AttributeError, TypeError):
        return {}


@contextmanager
def _one_thread() -> Iterator[None]:
    """Several would only wait for each other on a model this small."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the lines that the profiler's library writes straight to standard error."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _call(event: Any) -> Call:
    overload = getattr(event, "overload_name", "")
    name = f"{event.name}.{overload}" if overload else event.name
    return Call(name, tuple(_call(inner) for inner in event.cpu_children))
