"""Scripts that train a language model under transformers' Trainer get its losses, from learnt tokens alone."""

from __future__ import annotations

import pytest
import torch
from small_trainer import Rows, arguments, small_model
from test_trainer_results import assert_same, transformers

pytest.importorskip("accelerate")

from pippin.drop_in import language_forward, notices  # noqa: E402
from pippin.drop_in.rows import AS_GIVEN  # noqa: E402
from pippin.drop_in.trainer import Trainer  # noqa: E402

LOGGED = ("loss", "grad_norm", "eval_loss")


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch):
    monkeypatch.setattr(notices, "_said", set())


@pytest.fixture
def learnt(monkeypatch):
    """How many tokens had their logits made."""
    seen = []
    summed_loss = language_forward.summed_loss

    def count(head, states, *others):
        seen.append(len(states))
        return summed_loss(head, states, *others)

    monkeypatch.setattr(language_forward, "summed_loss", count)
    return seen


class Spoken(Rows):
    """Each row's own tokens are its labels, but for a prompt of some."""

    def __getitem__(self, index):
        row = super().__getitem__(index)
        labels = torch.where(row["attention_mask"].bool(), row["input_ids"], -100)
        labels[: len(self.rows[index]) // 3] = -100
        return {**row, "labels": labels}


def speaker(kind="llama", **settings):
    return small_model(kind, auto=transformers.AutoModelForCausalLM, **settings)


def both(folder, make_model=speaker, kinds=(transformers.Trainer, Trainer), **settings):
    found = []
    for name, kind in zip(("theirs", "ours"), kinds, strict=True):
        made = kind(
            model=make_model(),
            args=arguments(folder / name, **settings),
            train_dataset=Spoken(43),
            eval_dataset=Spoken(21, seed=1),
        )
        made.train()
        found.append(made)
    return found


@pytest.mark.parametrize("kind", ["llama", "gpt2", "mistral", "qwen3", "gemma2"])
def test_losses_are_the_same(tmp_path, kind, learnt):
    theirs, ours = both(tmp_path, lambda: speaker(kind))
    assert_same(theirs, ours, LOGGED)
    rows = Spoken(43)
    wanted = sum(int((rows[place]["labels"][1:] != -100).sum()) for place in range(43))
    assert sum(learnt[:6]) == wanted, "no padding, and no prompt"
    assert "logits are made of learnt tokens alone" in ours.rows_plan().reason


@pytest.mark.parametrize(
    "settings",
    [{"gradient_accumulation_steps": 2}, {"gradient_checkpointing": True}],
    ids=lambda settings: next(iter(settings)),
)
def test_settings_mean_the_same(tmp_path, settings, learnt):
    theirs, ours = both(tmp_path, **settings)
    assert_same(theirs, ours, LOGGED)
    assert learnt


def test_adapters_of_peft(tmp_path, learnt):
    peft = pytest.importorskip("peft")

    def adapted():
        config = peft.LoraConfig(task_type="CAUSAL_LM", r=4, lora_dropout=0.0, target_modules="all-linear")
        model = speaker()
        torch.manual_seed(1)
        return peft.get_peft_model(model, config)

    assert_same(*both(tmp_path, adapted), LOGGED)
    assert learnt


class OwnLoss:
    def compute_loss(self, model, inputs, return_outputs=False, **_):
        outputs = model(**inputs)
        assert outputs.logits is not None
        return (outputs.loss, outputs) if return_outputs else outputs.loss


def test_scripts_that_look_at_logits_get_them(tmp_path, learnt):
    kinds = [type(kind.__name__, (OwnLoss, kind), {}) for kind in (transformers.Trainer, Trainer)]
    theirs, ours = both(tmp_path / "loss", kinds=kinds)
    assert_same(theirs, ours, LOGGED)
    assert ours.rows_plan().value == AS_GIVEN
    assert "computes its own loss from the logits" in ours.rows_plan().reason
    theirs, ours = both(tmp_path / "smoothing", label_smoothing_factor=0.1)
    assert_same(theirs, ours, LOGGED)
    assert ours.rows_plan().value == AS_GIVEN
    assert not learnt
    wanted, found = (trainer.predict(Spoken(5, seed=2)) for trainer in (theirs, ours))
    assert found.predictions == pytest.approx(wanted.predictions, abs=1e-5)
