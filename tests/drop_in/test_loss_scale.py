"""Whether a loss is of its own rows or a share of the whole batch's."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from small_trainer import Rows, small_model

from pippin.drop_in.loss_scale import ignores_number_of_items, never_looks_at_number_of_items


def batch():
    rows = [Rows(4)[index] for index in range(4)]
    stacked = {name: torch.stack([row[name] for row in rows]) for name in ("input_ids", "attention_mask")}
    return {**stacked, "labels": torch.tensor([row["labels"] for row in rows])}


def test_a_classification_head_ignores_the_number_and_is_left_as_it_was():
    model = small_model(dropout=0.5).train()
    model.bert.eval()  # somebody's own choice
    state = torch.get_rng_state()
    assert ignores_number_of_items(model, batch(), torch.tensor(8))
    assert model.training
    assert not model.bert.training
    assert torch.equal(torch.get_rng_state(), state)


def test_a_tagging_head_may_not():
    transformers = pytest.importorskip("transformers")
    model = transformers.AutoModelForMaskedLM.from_config(small_model().config)
    tags = {**batch(), "labels": batch()["input_ids"]}

    class Divides(torch.nn.Module):
        def forward(self, num_items_in_batch, **inputs):
            return {"loss": model(**inputs).loss / num_items_in_batch}

    assert ignores_number_of_items(Divides(), tags, torch.tensor(8)) is False


@pytest.mark.parametrize("loss", [0.0, float("nan"), float("inf")])
def test_a_loss_that_tells_nothing_decides_nothing(loss):
    class Degenerate(torch.nn.Module):
        def forward(self, num_items_in_batch, **inputs):
            return {"loss": torch.tensor(loss) / num_items_in_batch}

    assert ignores_number_of_items(Degenerate(), batch(), torch.tensor(8)) is None


class Script:
    def by_name(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        return model(**inputs).loss / num_items_in_batch

    def named_unread(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        return model(**inputs).loss

    def handed_on(self, model, inputs, **kwargs):
        return super().compute_loss(model, inputs, **kwargs)

    def others_unread(self, model, inputs, return_outputs=False, *more, **kwargs):
        outputs = model(**inputs)
        return (outputs.loss, outputs) if return_outputs else outputs.loss

    def divided_by_hand(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        return model(**inputs).loss / self.args.gradient_accumulation_steps

    def in_inner_function(self, model, inputs, num_items_in_batch=None, **_):
        def loss():
            return model(**inputs).loss / num_items_in_batch

        return loss()


@pytest.mark.parametrize(
    ("method", "never"),
    [
        ("by_name", False),
        ("named_unread", True),
        ("handed_on", False),
        ("others_unread", True),
        ("divided_by_hand", False),
        ("in_inner_function", False),
    ],
)
def test_what_a_script_reads(method, never):
    assert never_looks_at_number_of_items(getattr(Script, method)) is never


def test_what_cannot_be_looked_into_is_taken_as_transformers_does():
    assert not never_looks_at_number_of_items(partial(Script.named_unread))
