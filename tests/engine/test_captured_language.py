"""Captured steps of language models: shapes have room for learnt tokens too, and what fills it is never learnt."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from small_chat import small_language_model
from test_captured import RecordingBackend, batches_of, train
from test_language_network import encoded_chats
from torch.nn import functional

from pippin.data.batches import few_capacities
from pippin.data.collate import Shapes
from pippin.engine.steps.captured import CapturedStep
from pippin.engine.steps.eager import EagerStep
from pippin.models import network as networks
from pippin.models.adapters import AdapterSettings, add_adapters
from pippin.models.families import FAMILIES, family_of
from pippin.models.language_network import LanguageNetwork
from pippin.plan.facts import Rows, TaskFacts
from pippin.plan.make import make_plan
from pippin.recipe.reading import recipe_from
from pippin.tasks.language.task import LanguageTask

BATCH = 8


def causally(query, key, value, packing, scaling, dropout, window=None, causal=False, softcap=None):
    """Attention within each sequence, up to each token, as the kernel has it."""
    assert causal
    starts = packing.starts.tolist()
    parts = []
    for start, stop in zip(starts, starts[1:], strict=False):
        if start == stop:
            continue
        heads = [part[start:stop].transpose(0, 1) for part in (query, key, value)]
        heads = [part.repeat_interleave(query.shape[1] // len(part), 0) for part in heads]
        parts.append(functional.scaled_dot_product_attention(*heads, scale=scaling, is_causal=True).transpose(0, 1))
    return torch.cat(parts)


@pytest.fixture(autouse=True)
def kernel(monkeypatch):
    monkeypatch.setitem(networks.ATTEND, "kernel", causally)


@pytest.fixture(scope="module")
def rows():
    return encoded_chats(60)


@pytest.fixture(params=["adapters", "all weights"])
def model(request):
    made = small_language_model()
    if request.param == "adapters":
        add_adapters(made, AdapterSettings(4, 8.0))
    return made


def make_step(model, rows, captured: bool, share: float = 1.5) -> EagerStep:
    model = copy.deepcopy(model)
    family = family_of(model.config)[0]
    network = LanguageNetwork(model, RecordingBackend(), family=family, packs=True, reads_one=False)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimiser = torch.optim.AdamW(trained, lr=1e-2, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1 / (1 + step))
    parts = (network, optimiser, schedule, LanguageTask(), 1.0)
    if not captured:
        return EagerStep(*parts)
    totals = np.array([rows.lengths[part].sum() for part in batches_of(rows) if len(part) == BATCH])
    capacities = few_capacities(totals)
    counts = [len(network.collate(rows, part).targets) for part in batches_of(rows)[:-1]]
    room = tuple(int(share * np.median(counts)) for _ in capacities)
    return CapturedStep(*parts, shapes=Shapes(BATCH, capacities, int(rows.lengths.max()), room))


def test_losses_norms_and_rates_are_those_of_plain_steps(model, rows):
    wanted = train(make_step(model, rows, captured=False), rows)
    step = make_step(model, rows, captured=True)
    found = train(step, rows)
    np.testing.assert_allclose(found, wanted, rtol=2e-5)
    assert 1 <= len(step.backend.recorded) <= 9
    assert wanted[-1, 0] < wanted[0, 0]


def test_batches_that_have_more_to_learn_are_plain(model, rows):
    step = make_step(model, rows, captured=True, share=1.0)
    replayed = []
    for batch in [*batches_of(rows), *batches_of(rows)]:
        made = step.collate(rows, batch)
        step([made])
        replayed.append(step.is_replay)
        assert not (step.is_replay and len(made.targets) not in step.replays.shapes.targets)
    assert any(replayed)
    assert not all(replayed[len(batches_of(rows)) : -1])


def test_the_plan_leaves_room_for_what_is_learnt(rows):
    from test_make import MODEL, NVIDIA, machine

    lengths = np.random.default_rng(0).integers(50, 400, 1000)
    task = TaskFacts(("perplexity", "loss"), "perplexity", 0, frozenset({"loss", "perplexity"}), "targets")
    facts = Rows(lengths, has_validation=True, learnt=lengths // 3)
    model = replace(MODEL, family=FAMILIES["llama"])
    recipe = recipe_from({"train": "lora", "batch_size": 8}).recipe
    plan = make_plan(recipe, machine(NVIDIA), task, model, facts).execution
    assert plan.step.value == "captured"
    assert len(plan.target_capacities.value) == len(plan.capacities.value) > 0
    for capacity, room in zip(plan.capacities.value, plan.target_capacities.value, strict=True):
        assert 0.3 * capacity < room < 0.5 * capacity
        assert room % 64 == 0
