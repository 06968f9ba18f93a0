"""What is frozen, where its states are kept, and the mistakes one can make in asking for it."""

from __future__ import annotations

import numpy as np
import pytest
from transformers import BertConfig, DebertaV2Config

from pippin.errors import Mistakes, PippinError
from pippin.models.facts import facts_of
from pippin.plan.facts import Rows
from pippin.plan.frozen import CORE, IN_MEMORY, NOT_KEPT, NOTHING, ON_DISK, choose_frozen, choose_states, frozen_layers
from pippin.recipe import Recipe
from pippin.recipe.reading import recipe_from

CONFIG = BertConfig(num_hidden_layers=6, hidden_size=384)
FACTS = facts_of(CONFIG)
supported = pytest.mark.skipif(FACTS.family is None, reason="transformers without the registry")


@pytest.mark.parametrize(
    ("asked", "frozen"),
    [
        ({}, NOTHING),
        ({"freeze": "core"}, CORE),
        ({"train_only": "head"}, CORE),
        ({"freeze": "0"}, "0"),
        ({"freeze": "06"}, "6"),
        ({"unfreeze": 6}, "0"),
        ({"unfreeze": 2}, "4"),
        ({"unfreeze": 0}, CORE),
    ],
)
def test_what_is_frozen(asked, frozen):
    choice = choose_frozen(Recipe(**asked), FACTS.layers)
    assert choice.value == frozen
    assert ("without dropout" in choice.reason) == (frozen != NOTHING)


def test_layers_by_number():
    assert frozen_layers(CORE) is None
    assert frozen_layers("3") == 3


@pytest.mark.parametrize("asked", [{"freeze": "7"}, {"unfreeze": 7}])
def test_layers_that_the_model_does_not_have(asked):
    with pytest.raises(PippinError, match="7: the model has 6 layers. Name 0 to 6"):
        choose_frozen(Recipe(**asked), FACTS.layers)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"freeze": "encoder"}, "'encoder' must be core, or a number of layers"),
        ({"freeze": "-1"}, "'-1' must be core, or a number of layers"),
        ({"unfreeze": -1}, "-1 must be at least 0"),
        ({"freeze": 2, "unfreeze": 0}, "freeze and unfreeze exclude each other"),
        ({"freeze": "core", "train_only": "head"}, "freeze and train_only exclude each other"),
        ({"train_only": "pooler"}, "'pooler' is not one of head"),
        ({"freeze": 1, "neftune_noise_alpha": 5}, "neftune_noise_alpha and freeze exclude each other"),
        ({"unfreeze": 0, "gradient_checkpointing_kwargs": {"use_reentrant": True}}, "use_reentrant"),
    ],
)
def test_mistakes(values, words):
    with pytest.raises(Mistakes) as caught:
        recipe_from(values)
    assert words in str(caught.value)


def test_a_switch_without_effect_is_said():
    assert any("cache_frozen has no effect" in note for note in recipe_from({"cache_frozen": False}).notes)
    assert not recipe_from({"cache_frozen": False, "unfreeze": 0}).notes


def states(frozen: str = "3", tokens: int = 10_000, model=FACTS, pads_left=False, cache_bytes=8 << 30, **settings):
    rows = Rows(np.full(900, tokens // 1000), (np.full(100, tokens // 1000),), pads_left=pads_left)
    return choose_states(Recipe(**settings), model, frozen, rows, cache_bytes)


@supported
def test_by_size_in_memory_or_on_the_disk():
    assert states().value == IN_MEMORY
    assert "15 MB" in states().reason
    assert "per row, 1 MB" in states("core").reason
    assert "per row" in states("6").reason
    large = 1_000_000
    assert states(tokens=large).value == ON_DISK
    assert states("core", tokens=large).value == IN_MEMORY
    assert states(tokens=large, cache_bytes=1 << 30).value == NOT_KEPT
    assert "later runs" in states().reason
    assert states(cache_bytes=0).value == IN_MEMORY
    assert "later runs" not in states(cache_bytes=0).reason
    assert states(tokens=large, cache_bytes=0).value == NOT_KEPT
    assert "the cache is off" in states(tokens=large, cache_bytes=0).reason


@supported
def test_where_nothing_is_kept_the_reason_is_said():
    assert states(NOTHING).value == NOT_KEPT
    assert "--cache_frozen" in states(cache_frozen=False).reason
    assert "left" in states(pads_left=True).reason
    other = states("core", model=facts_of(DebertaV2Config()))
    assert other.value == NOT_KEPT
    assert "deberta-v2" in other.reason
