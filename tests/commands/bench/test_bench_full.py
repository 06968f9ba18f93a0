"""BERT-base without its weights, and Hugging Face's Trainer on the same work."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from pippin.commands.bench import subject as subjects
from pippin.commands.bench.results import TRAINING, TRANSFORMERS, Setting
from pippin.commands.bench.subject import found
from pippin.commands.bench.training import Pass
from pippin.commands.bench.with_transformers import require_trainer, train
from pippin.errors import PippinError
from pippin.machine.probe import probe


def test_a_model_that_was_never_fetched_has_random_weights(tiny_model, word_file, monkeypatch):
    small = {"vocab_size": 200, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    monkeypatch.setattr(subjects, "_BERT_BASE_CONFIG", {**subjects._BERT_BASE_CONFIG, **small, "intermediate_size": 64})
    monkeypatch.setattr(subjects, "resolve_model", lambda name: name or str(tiny_model))
    with found(None, str(word_file), True, probe()) as subject:
        assert subject.random_weights
        assert "random weights" in subject.model
        model = subject.load(subject.job.recipe, subject.job.config, None)
    assert model.config.num_labels == 3


@pytest.mark.skipif(find_spec("accelerate") is None, reason="needs accelerate")
def test_the_trainer_does_the_same_work(tiny_model, word_file, capsys):
    with found(str(tiny_model), str(word_file), False, probe()) as subject:
        setting = Setting(TRAINING, "cpu", "fp32", 16, None, TRANSFORMERS)
        passed = train(subject, setting, Pass(40, head_only=True, judged=True))
    assert passed.start < passed.half < passed.end
    assert (passed.rows, passed.rows_after_half) == (40, 8)
    assert 0 <= passed.score <= 1
    assert capsys.readouterr().out == "", "its own words stay out of ours"


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr("pippin.commands.bench.with_transformers.find_spec", lambda name: None)
    with pytest.raises(PippinError, match="pip install accelerate"):
        require_trainer()
