"""Automatic hyper-parameters: the shape of the rules found by experiment (docs/defaults.md)."""

from __future__ import annotations

import pytest

from pippin.plan.hyperparameters import (
    JobFacts,
    choose_batch_size,
    choose_epochs,
    choose_head_rate,
    choose_learning_rate,
)
from pippin.recipe import Recipe


def chosen(rows: int = 1000, classes: int = 6, width: int = 384, **settings) -> tuple[float, float, float, int]:
    recipe, facts = Recipe(**settings), JobFacts(rows, classes, width)
    rate = choose_learning_rate(recipe, facts).value
    return (
        rate,
        choose_head_rate(recipe, facts, rate).value,
        choose_epochs(recipe, facts).value,
        choose_batch_size(recipe, facts).value,
    )


def test_on_the_data_of_the_search():
    assert chosen() == (1e-4, pytest.approx(2e-4), 4.0, 16)
    assert chosen(rows=3000, classes=77) == (2e-4, pytest.approx(32e-4), 7.0, 32)


def test_fewer_rows_get_more_epochs_and_smaller_batches():
    epochs = [chosen(rows)[2] for rows in (20, 100, 300, 1000, 5000, 50_000, 200_000, 1_000_000)]
    assert epochs == sorted(epochs, reverse=True)
    assert (epochs[0], epochs[-1]) == (30, 1)
    assert [chosen(rows)[3] for rows in (100, 1000, 10_000)] == [8, 16, 32]


def test_wider_models_get_lower_rates():
    rates = [chosen(width=width)[0] for width in (128, 384, 768, 1024)]
    assert rates == sorted(rates, reverse=True)
    assert 2e-5 <= rates[2] <= 5e-5, "the range that BERT-base was published with"


def test_many_classes_raise_the_heads_rate_most():
    few, many = chosen(classes=2), chosen(classes=150)
    assert few[1] == few[0]
    assert many[0] == pytest.approx(2 * few[0])
    assert many[1] == pytest.approx(16 * many[0])
    assert chosen(classes=1)[1] == pytest.approx(4e-4), "a number to predict"


def test_what_is_asked_for_is_taken():
    assert chosen(learning_rate=1e-3, num_train_epochs=2.0, per_device_train_batch_size=5) == (1e-3, 1e-3, 2.0, 5)
    assert chosen(head_learning_rate=0.5)[1] == 0.5
    assert chosen(per_device_train_batch_size=4, gradient_accumulation_steps=3)[3] == 12


def test_classic_commands_get_hugging_faces():
    assert chosen(do_train=True) == (5e-5, 5e-5, 3.0, 8)


def test_a_head_alone_is_trained_faster_and_longer():
    recipe, facts = Recipe(), JobFacts(1000, 6, 384, head_only=True)
    assert choose_head_rate(recipe, facts, 1e-4).value == 1e-2
    assert choose_epochs(recipe, facts).value == 10
    asked = Recipe(learning_rate=3e-3, num_train_epochs=2.0)
    assert choose_head_rate(asked, facts, 3e-3).value == 3e-3
    assert choose_epochs(asked, facts).value == 2
