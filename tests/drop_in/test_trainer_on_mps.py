"""A script's Trainer on the Apple GPU: its known faults are worked round or refused there too."""

from __future__ import annotations

import pytest
from small_trainer import Rows, arguments, small_model

pytest.importorskip("accelerate")

from pippin.drop_in.trainer import Trainer  # noqa: E402
from pippin.errors import PippinError  # noqa: E402

pytestmark = pytest.mark.emulated_mps


def test_the_device_is_taken_by_itself(tmp_path):
    trainer = Trainer(
        model=small_model(), args=arguments(tmp_path, max_steps=1), train_dataset=Rows(8), eval_dataset=Rows(3)
    )
    trainer.train()
    assert trainer.args.device.type == next(trainer.model.parameters()).device.type == "mps"


def test_a_model_that_looks_back_attends_plainly_in_steps_alone(tmp_path):
    model, seen = small_model("gpt2", n_embd=32, n_head=2, n_layer=2), []

    class Watch(Trainer):
        def compute_loss(self, model, inputs, *arguments, **named):
            seen.append(model.config._attn_implementation)
            return super().compute_loss(model, inputs, *arguments, **named)

    trainer = Watch(model=model, args=arguments(tmp_path, max_steps=2), train_dataset=Rows(16), eval_dataset=Rows(3))
    trainer.train()
    assert set(seen) == {"eager"}
    assert model.config._attn_implementation == "sdpa"


def test_batches_whose_gradients_would_be_wrong_are_refused(tmp_path, monkeypatch):
    trainer = Trainer(model=small_model(), args=arguments(tmp_path, eval_strategy="no"), train_dataset=Rows(16))
    monkeypatch.setattr(type(trainer._backend), "most_rows", lambda self, work: (4, "its gradients are wrong (#1)"))
    with pytest.raises(PippinError, match="per_device_train_batch_size to 4 or less.*gradient_accumulation_steps"):
        trainer.train()


def test_operators_that_run_on_the_cpu_are_named(tmp_path, capsys, mps):
    # There, attention with a mask asks for an operator that the device lacks.
    with mps.pretend(release="2.5.1", fallback=False):
        Trainer(
            model=small_model(attn_implementation="sdpa"),
            args=arguments(tmp_path, max_steps=1, eval_strategy="no"),
            train_dataset=Rows(8),
        ).train()
    assert "aten::isneginf is not implemented on the device" in capsys.readouterr().err
