"""A script's Trainer on the Apple GPU: its known faults are worked round or refused there too."""

from __future__ import annotations

import pytest
import torch
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


@pytest.mark.parametrize("kind", ["modernbert", "bert"])
def test_an_evaluation_is_right_whatever_the_release(tmp_path, mps, kind):
    """ModernBERT's padding sees nothing beyond its window, and BERT's last layer works for first tokens alone."""
    # The third layer sees what became of padding in the second.
    layers = ["full_attention", "sliding_attention", "full_attention"]
    found = []
    for use_cpu in (True, False):
        model = small_model(kind, num_hidden_layers=3, **({"layer_types": layers} if kind == "modernbert" else {}))
        with mps.pretend(release="2.8.0"):
            trainer = Trainer(model=model, args=arguments(tmp_path, use_cpu=use_cpu), eval_dataset=Rows(9))
            found.append(trainer.predict(Rows(9)).predictions)
        assert model.config._attn_implementation == "sdpa", "between steps it is as it was"
    assert found[1] == pytest.approx(found[0], abs=1e-5)


def test_guarded_linear_layers_do_not_keep_rows_from_being_cut(tmp_path, mps, capsys):
    with mps.pretend(release="2.13.0", chip="Apple M1", macos="26.4"):
        trainer = Trainer(
            model=small_model(), args=arguments(tmp_path, max_steps=1), train_dataset=Rows(8), eval_dataset=Rows(1)
        )
        trainer.train()
        found = trainer.predict(Rows(1)).predictions
        again = Trainer(model=trainer.model, args=arguments(tmp_path), eval_dataset=Rows(1))
        assert again.rows_plan().value == "cut to the longest"
    assert "padded:" not in capsys.readouterr().err
    right = Trainer(model=trainer.model, args=arguments(tmp_path, use_cpu=True), eval_dataset=Rows(1)).predict(Rows(1))
    assert found == pytest.approx(right.predictions, abs=1e-5), "one row, whose bias the device loses"


def test_a_script_that_only_predicts(tmp_path, mps):
    """A single row, whose bias the device loses, in a model whose rows are not Pippin's to change."""
    found = []
    for use_cpu in (True, False):
        model = small_model("deberta-v2")
        for module in model.modules():
            if isinstance(module, torch.nn.Linear):
                torch.nn.init.constant_(module.bias, 0.1)
        with mps.pretend(release="2.13.0", chip="Apple M1", macos="26.4"):
            trainer = Trainer(model=model, args=arguments(tmp_path, use_cpu=use_cpu), eval_dataset=Rows(1))
            found.append(trainer.predict(Rows(1)).predictions)
    assert found[1] == pytest.approx(found[0], abs=1e-5)


def test_predictions_that_are_no_numbers_are_refused(tmp_path, capsys):
    model = small_model()
    with torch.no_grad():
        model.get_input_embeddings().weight[Rows(9).rows[4][0]] = float("nan")
    trainer = Trainer(model=model, args=arguments(tmp_path), eval_dataset=Rows(9))
    with pytest.raises(PippinError, match=r"of 9 predictions are NaN.*fault of the device: set use_cpu=True"):
        trainer.predict(Rows(9))
    assert trainer.evaluate()["eval_loss"] != trainer.evaluate()["eval_loss"]
    assert "pippin: eval_loss is NaN." in capsys.readouterr().err


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
