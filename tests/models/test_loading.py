"""Models from a folder, from the Hub's cache, and those that are refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file, save_file

from pippin.errors import PippinError
from pippin.machine.machine import offline_by
from pippin.models.labels import Labels
from pippin.models.loading import (
    BUILTIN_HUB_NAME,
    display_name,
    load_config,
    load_model,
    load_tokenizer,
    longest_input,
    match_classes,
    require_trained,
    resolve_model,
)
from pippin.models.plain_bert.config import PlainBertConfig
from pippin.recipe import Recipe

THREE = Labels(("animal", "food", "tool"))


def recipe(model: Path | str, **settings) -> Recipe:
    return Recipe(model_name_or_path=str(model), **settings)


def edit_config(folder: Path, **changes) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **changes}))


@pytest.fixture
def copy(tiny_model, tmp_path) -> Path:
    return Path(shutil.copytree(tiny_model, tmp_path / "model"))


@pytest.fixture(scope="module")
def classifier(tiny_model, tmp_path_factory) -> Path:
    """The tiny model with a head for three classes, in an order of its own."""
    folder = tmp_path_factory.mktemp("models") / "classifier"
    shutil.copytree(tiny_model, folder)
    load_model(recipe(tiny_model), load_config(recipe(tiny_model), Labels(("tool", "animal", "food")))).save_pretrained(
        folder
    )
    return folder


def test_new_head_for_the_classes(tiny_model):
    config = load_config(recipe(tiny_model), THREE)
    model = load_model(recipe(tiny_model), config)
    assert model.config.id2label == {0: "animal", 1: "food", 2: "tool"}
    assert model.config.problem_type == "single_label_classification"
    assert model.classifier.out_features == 3


def test_from_the_hubs_cache(tiny_model, tmp_path):
    store = tmp_path / "cache" / "models--someone--tiny"
    (store / "refs").mkdir(parents=True)
    (store / "refs" / "main").write_text("abc123")
    shutil.copytree(tiny_model, store / "snapshots" / "abc123")
    asked = recipe("someone/tiny", cache_dir=str(tmp_path / "cache"))
    model = load_model(asked, load_config(asked, THREE))
    assert load_tokenizer(asked)("the dog")["input_ids"]
    assert model.config.num_labels == 3


def test_half_precision_weights_are_trained_in_full(copy):
    import torch
    from transformers import AutoModel

    AutoModel.from_pretrained(copy).half().save_pretrained(copy)
    model = load_model(recipe(copy), load_config(recipe(copy), THREE))
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


def test_pickled_weights_are_refused_without_reading_them(copy):
    (copy / "model.safetensors").rename(copy / "pytorch_model.bin")
    with pytest.raises(PippinError, match="only as pickle"):
        load_config(recipe(copy), THREE)


def test_remote_code_is_never_run(copy, tmp_path):
    marker = tmp_path / "ran"
    (copy / "evil.py").write_text(f"open({str(marker)!r}, 'w').close()\nclass Evil: pass\n")
    edit_config(copy, model_type="evil", auto_map={"AutoConfig": "evil.Evil"})
    with pytest.raises(PippinError, match="never runs"):
        load_config(recipe(copy), THREE)
    assert not marker.exists()


def test_folder_that_is_no_model(tmp_path):
    with pytest.raises(PippinError, match=r"holds no config\.json"):
        load_config(recipe(tmp_path), THREE)


def test_name_that_cannot_be_had_offline():
    with pytest.raises(PippinError, match="someone/nothing cannot be loaded: .*HF_HUB_OFFLINE"):
        load_config(recipe("someone/nothing"), THREE)


@pytest.mark.parametrize(
    ("variables", "name"),
    [
        ({}, ""),
        ({"HF_HUB_OFFLINE": "1"}, "HF_HUB_OFFLINE"),
        ({"TRANSFORMERS_OFFLINE": "yes"}, "TRANSFORMERS_OFFLINE"),
        ({"HF_HUB_OFFLINE": "false"}, ""),
        ({"HF_HUB_OFFLINE": "0", "TRANSFORMERS_OFFLINE": "1"}, ""),
    ],
)
def test_offline_is_what_the_hubs_client_takes_for_it(variables, name):
    assert offline_by(variables) == name


def test_built_in_model_that_is_not_installed(monkeypatch):
    monkeypatch.setattr("pippin.models.loading.find_spec", lambda name: None)
    with pytest.raises(PippinError, match=r"pip install 'pippin\[demo\]'"):
        load_config(Recipe(), THREE)


def test_known_classes_keep_the_models_order(classifier):
    labels, warning = match_classes(THREE, recipe(classifier))
    assert labels.names == ("tool", "animal", "food")
    assert warning is None
    labels, warning = match_classes(Labels(("x", "y", "z")), recipe(classifier))
    assert labels.names == ("x", "y", "z")
    assert "was trained for other classes (tool, animal, food)" in warning


def test_other_number_of_classes_needs_a_new_head(classifier):
    two = Labels(("no", "yes"))
    with pytest.raises(PippinError, match="3 classes and the data has 2.*--ignore_mismatched_sizes"):
        match_classes(two, recipe(classifier))
    replaced = recipe(classifier, ignore_mismatched_sizes=True)
    assert match_classes(two, replaced) == (two, None)
    assert load_model(replaced, load_config(replaced, two)).classifier.out_features == 2


def test_longest_input(tiny_model):
    tokenizer, config = load_tokenizer(recipe(tiny_model)), load_config(recipe(tiny_model))
    assert longest_input(tokenizer, config) == 64
    tokenizer.model_max_length = int(1e30)
    assert longest_input(tokenizer, SimpleNamespace(max_position_embeddings=514, model_type="roberta")) == 512
    assert longest_input(tokenizer, SimpleNamespace(max_position_embeddings=-1, model_type="xlnet")) is None
    assert longest_input(tokenizer, SimpleNamespace(max_position_embeddings=None, model_type="t5")) is None


def test_default_model(monkeypatch):
    from importlib import util

    monkeypatch.setattr("pippin.models.loading.find_spec", lambda name: None)
    assert resolve_model(None) == BUILTIN_HUB_NAME
    assert resolve_model("other") == "other"
    monkeypatch.setattr("pippin.models.loading.find_spec", util.find_spec)
    assert Path(resolve_model(None), "model.safetensors").is_file(), "the demo extra is installed for the tests"
    assert display_name(resolve_model(None)) == f"{BUILTIN_HUB_NAME} (built in)"


def test_folder_without_a_tokenizer_is_refused(copy):
    for path in copy.glob("tokenizer*"):
        path.unlink()
    with pytest.raises(PippinError, match="holds no tokenizer.*--tokenizer_name"):
        load_tokenizer(recipe(copy))


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_damaged_files_give_one_plain_message(copy, name):
    (copy / name).write_text('{"vocab_size": []')

    def load_all() -> None:
        load_model(recipe(copy), load_config(recipe(copy), THREE))
        load_tokenizer(recipe(copy))

    with pytest.raises(PippinError, match="cannot be loaded"):
        load_all()


def test_a_model_without_a_head_cannot_be_used_as_it_is(tiny_model, classifier):
    with pytest.raises(PippinError, match="its answers would be random"):
        require_trained(recipe(tiny_model))
    assert require_trained(recipe(classifier)).names == ("tool", "animal", "food")


def test_a_plain_bert_is_ours(tiny_model):
    chosen = recipe(tiny_model)
    config = load_config(chosen, THREE)
    assert type(config) is PlainBertConfig
    assert type(load_model(chosen, config)).__name__ == "PlainBert"


@pytest.mark.parametrize("why", ["settings", "shards", "head", "--config_name"])
def test_other_models_are_left_to_transformers(tiny_model, copy, why):
    chosen = recipe(copy, config_name=str(tiny_model) if why == "--config_name" else None, ignore_mismatched_sizes=True)
    weights = load_file(copy / "model.safetensors")
    if why == "settings":
        edit_config(copy, hidden_act="relu")
    elif why == "shards":
        index = {"metadata": {}, "weight_map": dict.fromkeys(weights, "model.safetensors")}
        (copy / "model.safetensors.index.json").write_text(json.dumps(index))
    elif why == "head":
        weights["classifier.weight"] = torch.zeros(5, 32)
        save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    config = load_config(chosen, THREE)
    assert type(config).__name__ == "BertConfig"
    model = load_model(chosen, config)
    assert type(model).__name__ == "BertForSequenceClassification"
    assert model.classifier.weight.shape == (3, 32)
