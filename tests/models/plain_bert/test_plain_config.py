"""Which settings are those of a plain BERT, and that none is lost."""

from __future__ import annotations

import json
import shutil

import pytest
from transformers import BertConfig

from pippin.models.labels import Labels
from pippin.models.plain_bert.config import PlainBertConfig, read_config

CLASSES = Labels(("a", "b", "c"))


@pytest.fixture
def folder(tmp_path):
    BertConfig(vocab_size=50, hidden_size=24, num_attention_heads=4).save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def change(folder, **settings):
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | settings))


def test_defaults_are_theirs(folder):
    (folder / "config.json").write_text('{"model_type": "bert"}')
    config, theirs = read_config(folder / "config.json"), BertConfig()
    assert config is not None
    for name, value in vars(config).items():
        if name != "file":
            assert getattr(theirs, name) == value, name
    assert config.num_labels == theirs.num_labels


def test_every_field_is_kept(folder):
    change(folder, transformers_version="4.8.2", use_cache=False, their_own={"x": [1]}, layer_norm_eps=1e-5,
           _name_or_path="/home/someone")  # fmt: skip
    before = json.loads((folder / "config.json").read_text())
    config = read_config(folder / "config.json", CLASSES)
    assert config is not None
    after = config.to_dict()
    assert after["id2label"] == {"0": "a", "1": "b", "2": "c"}
    assert after["label2id"] == {"a": 0, "b": 1, "c": 2}
    assert after["architectures"] == ["BertForSequenceClassification"]
    changed = {"_name_or_path", "id2label", "label2id", "architectures", "problem_type", "dtype", "torch_dtype"}
    assert {name: value for name, value in before.items() if name not in changed} == {
        name: after[name] for name in before if name not in changed
    }
    assert "_name_or_path" not in after
    (folder / "config.json").write_text(json.dumps(after))
    theirs = BertConfig.from_pretrained(folder)
    assert theirs.layer_norm_eps == 1e-5
    assert theirs.id2label == config.id2label
    assert theirs.problem_type == "single_label_classification"


def test_a_setting_may_have_any_name(folder):
    change(folder, to_dict=1, num_labels=2, file="x")
    config = read_config(folder / "config.json", CLASSES)
    assert config is not None
    assert config.num_labels == 3
    assert config.to_dict()["to_dict"] == 1


def test_classes_of_the_file(folder):
    change(folder, id2label={"1": "b", "0": "a"})
    config = read_config(folder / "config.json")
    assert config is not None
    assert config.id2label == {0: "a", 1: "b"}
    assert config.num_labels == 2


@pytest.mark.parametrize(
    "setting",
    [
        {"model_type": "roberta"},
        {"hidden_act": "relu"},
        {"is_decoder": True},
        {"position_embedding_type": "relative_key"},
        {"add_cross_attention": True},
        {"chunk_size_feed_forward": 4},
        {"hidden_size": "24"},
        {"num_attention_heads": 5},
        {"num_hidden_layers": 0},
        {"hidden_dropout_prob": None},
        {"classifier_dropout": 2},
        {"pad_token_id": 50},
        {"pruned_heads": {"0": [1]}},
        {"gradient_checkpointing": True},
        {"hidden_size": 2**40},
        {"layer_norm_eps": 0},
        {"architectures": 5},
        {"id2label": {"0": "a", "2": "b"}},
        {"id2label": {"0": []}},
        {"id2label": []},
    ],
    ids=str,
)
def test_what_is_no_plain_bert_is_left_to_transformers(folder, setting):
    file = folder / "config.json"
    assert isinstance(read_config(file), PlainBertConfig)
    change(folder, **setting)
    assert read_config(file) is None


def test_damaged_settings_are_left_to_transformers(folder):
    file = folder / "config.json"
    for text in ("", "[]", "[" * 100_000, "{"):
        file.write_text(text)
        assert read_config(file) is None
    shutil.rmtree(folder)
    assert read_config(file) is None
