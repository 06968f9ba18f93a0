"""Every tensor of a model comes out of its file, but for a new head, which is said; and every number is a number."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

FAMILIES = ("plain bert", "bert by transformers", "distilbert", "roberta")


@pytest.fixture(scope="module", params=FAMILIES)
def classifier(request, tiny_model, tmp_path_factory) -> Path:
    """A trained classifier as transformers saves it, by our own code and by theirs."""
    from transformers import AutoModelForSequenceClassification, BertConfig, DistilBertConfig, RobertaConfig

    folder = tmp_path_factory.mktemp("classifier") / "model"
    shutil.copytree(tiny_model, folder)
    words = len(json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"])
    sizes = {"vocab_size": words, "num_labels": 3, "max_position_embeddings": 66}
    if request.param == "distilbert":
        config = DistilBertConfig(dim=32, n_layers=2, n_heads=2, hidden_dim=64, **sizes)
    else:
        kind = RobertaConfig if request.param == "roberta" else BertConfig
        config = kind(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, **sizes)
        if request.param == "bert by transformers":
            config.hidden_act = "relu"
    config.id2label = dict(enumerate(("animal", "food", "tool")))
    torch.manual_seed(0)
    AutoModelForSequenceClassification.from_config(config).save_pretrained(folder)
    return folder


@pytest.fixture
def model(classifier, tmp_path) -> Path:
    shutil.copytree(classifier, tmp_path / "model")
    return Path("model")


@pytest.fixture
def edit(model) -> Callable[..., None]:
    """Change the weights by name, or the configuration."""

    def change(keep=lambda name: True, rename=lambda name: name, value=lambda tensor: tensor, **config) -> None:
        tensors = load_file(model / "model.safetensors")
        kept = {rename(name): value(tensor).clone() for name, tensor in tensors.items() if keep(name)}
        save_file(kept, model / "model.safetensors", metadata={"format": "pt"})
        settings = json.loads((model / "config.json").read_text())
        (model / "config.json").write_text(json.dumps({**settings, **config}))

    return change


@pytest.fixture
def outcomes(run_cli, word_file) -> Callable[[], list[tuple[int, str, str]]]:
    """What predict, train and evaluate say of the model."""
    return lambda: [
        run_cli("predict", "model", "--text", "a cat"),
        run_cli("train", word_file, "--model_name_or_path", "model", "--max_steps", 1, "--output_dir", "run"),
        run_cli("train", "--validation_file", word_file, "--model_name_or_path", "model", "--do_eval",
                "--output_dir", "eval"),
    ]  # fmt: skip


def test_a_whole_model_is_used_without_a_word(outcomes, model):
    for code, out, error in outcomes():
        assert code == 0, error
        assert "initialised at random" not in out


def test_a_missing_head_is_never_used_and_said_in_training(edit, outcomes):
    edit(keep=lambda name: not name.startswith("classifier."))
    predicted, trained, evaluated = outcomes()
    for code, _, error in (predicted, evaluated):
        assert code == 2
        assert "not in its file, so its answers would be random" in error
    code, out, error = trained
    assert code == 0, error
    assert "new in the model, initialised at random: classifier" in out
    assert "head starts from those" not in out


def test_other_classes_are_said_only_of_a_head_that_is_there(edit, run_cli, word_file, model):
    words = ["train", word_file, "--model_name_or_path", "model", "--max_steps", 1, "--output_dir"]
    edit(id2label={"0": "a", "1": "b", "2": "c"}, label2id={"a": 0, "b": 1, "c": 2})
    assert "its head starts from them" in run_cli(*words, "first")[1]
    edit(keep=lambda name: not name.startswith("classifier."))
    assert "its head starts from them" not in run_cli(*words, "second")[1]


def test_half_a_head_is_never_used(edit, outcomes):
    edit(keep=lambda name: name != "classifier.bias" and name != "classifier.out_proj.bias")
    predicted, trained, evaluated = outcomes()
    assert (predicted[0], evaluated[0]) == (2, 2)
    assert "(1 tensor) is not in its file" in predicted[2]
    assert "initialised at random: classifier" in trained[1]


def test_more_layers_than_the_file_has(edit, model, outcomes):
    name = "n_layers" if '"n_layers"' in (model / "config.json").read_text() else "num_hidden_layers"
    edit(**{name: 3})
    for code, _, error in outcomes():
        assert code == 2
        assert "its file lacks" in error


def test_fewer_layers_than_the_file_has(edit, model, outcomes):
    name = "n_layers" if '"n_layers"' in (model / "config.json").read_text() else "num_hidden_layers"
    edit(**{name: 1})
    predicted, trained, evaluated = outcomes()
    for code, _, error in (predicted, evaluated):
        assert code == 2
        assert "which its config.json does not describe" in error
    assert trained[0] == 0, "layers may be left out on purpose"
    assert "in the model's file, but not used" in trained[1]


@pytest.mark.parametrize("wrapper", ["module.", "_orig_mod."])
def test_names_of_a_wrapper(edit, outcomes, wrapper):
    edit(rename=lambda name: wrapper + name)
    for code, _, error in outcomes():
        assert code == 2
        assert f"The names in the file begin with '{wrapper}'" in error


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_numbers_that_are_none(edit, outcomes, number):
    def spoil(tensor: torch.Tensor) -> torch.Tensor:
        tensor = tensor.clone()
        if tensor.ndim == 2:
            tensor[0, 0] = number
        return tensor

    edit(value=spoil)
    for code, _, error in outcomes():
        assert code == 2
        assert "holds NaN or infinity" in error


def test_tensors_beside_the_model_are_said(edit, model, run_cli, word_file):
    tensors = load_file(model / "model.safetensors")
    save_file({**tensors, "cls.predictions.bias": torch.zeros(3)}, model / "model.safetensors", {"format": "pt"})
    code, out, error = run_cli("train", word_file, "--model_name_or_path", "model", "--max_steps", 1)
    assert code == 0, error
    assert "in the model's file, but not used: cls.predictions (1 tensor)" in out
