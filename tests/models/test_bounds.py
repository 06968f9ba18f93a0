"""Settings that claim more than a model can have are refused at once, before anything is built by them."""

from __future__ import annotations

import json
import os
import shutil
from functools import partial
from pathlib import Path

import pytest

from pippin.errors import PippinError
from pippin.models import safety
from pippin.models.loading import load_config, load_tokenizer
from pippin.plain_files import LARGEST
from pippin.recipe import Recipe


@pytest.fixture
def claiming(tiny_model):
    """A copy of the tiny model whose config.json says something else."""

    def make(**settings: object) -> Path:
        shutil.copytree(tiny_model, "model", dirs_exist_ok=True)
        file = Path("model/config.json")
        file.write_text(json.dumps({**json.loads(file.read_text()), **settings}))
        return Path("model")

    return make


CLAIMS = [
    ({"num_hidden_layers": 1_000_000}, "num_hidden_layers = 1,000,000"),
    ({"num_labels": 10**9}, "num_labels = 1,000,000,000"),
    ({"num_labels": 10**4000}, "num_labels = a number of many digits"),
    ({"hidden_size": 10**12}, "hidden_size = 1,000,000,000,000"),
    ({"vocab_size": 10**10}, "vocab_size"),
    ({"max_position_embeddings": 10**11}, "max_position_embeddings"),
    ({"text_config": {"n_layer": 10**8}}, "n_layer"),
    ({"depths": [2, 10**7]}, "depths"),
    ({"num_layers": 900, "num_local_experts": 10_000}, "900 layers of 10000 experts"),
]


@pytest.mark.parametrize("model_type", ["bert", "roberta"], ids=["read by Pippin", "read by transformers"])
@pytest.mark.parametrize(("claim", "words"), CLAIMS)
def test_nothing_is_built_by_a_claim(claiming, monkeypatch, claim, words, model_type):
    import transformers

    def build(*_: object, **__: object) -> None:
        raise AssertionError("transformers was asked to read it")

    for auto in ("AutoConfig", "AutoTokenizer"):
        monkeypatch.setattr(getattr(transformers, auto), "from_pretrained", build)
    chosen = Recipe(model_name_or_path=str(claiming(model_type=model_type, **claim)))
    for load in (load_config, partial(load_config, needs_weights=False), load_tokenizer):
        with pytest.raises(PippinError, match=f"its config.json says .*{words}"):
            load(chosen)


@pytest.mark.parametrize("command", ["train", "preflight", "predict"])
def test_every_command_refuses_it(run_cli, claiming, word_file, command):
    model = claiming(num_labels=10**9)
    words = [model, "--text", "dog"] if command == "predict" else [word_file, "--model_name_or_path", model]
    code, _, err = run_cli(command, *words)
    assert code == 2
    assert "num_labels = 1,000,000,000, and no model has more" in err


@pytest.mark.parametrize("claim", [{"num_hidden_layers": 900}, {"hidden_size": 50_000, "num_attention_heads": 10}])
def test_a_model_that_is_larger_than_its_weights(claiming, claim):
    with pytest.raises(PippinError, match="(900 layers of width 32|2 layers of width 50,000), .* do not belong"):
        load_config(Recipe(model_name_or_path=str(claiming(**claim))))


def test_settings_without_weights_are_judged_by_themselves(claiming):
    """`pippin preflight` asks about models of any size, as long as somebody could have made them."""
    for sizes in ({"num_hidden_layers": 126, "hidden_size": 16_384}, {"num_hidden_layers": 61, "num_experts": 384}):
        safety.check_settings("model", claiming(**sizes) / "config.json")


def test_classes_may_be_called_anything(claiming):
    names = {"num_layers": 5000, "vocab_size": 10**9}
    model = claiming(label2id=names, id2label={"5000": "num_layers"})
    safety.check_settings("model", model / "config.json")
    safety.check_weights(model, model / "config.json")


def test_layers_that_share_their_weights(tmp_path):
    """ALBERT has a few tensors, and as many layers as it likes."""
    import numpy as np
    from safetensors.numpy import save_file

    save_file({f"t{n}": np.zeros((64, 64), np.float32) for n in range(6)}, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps({"num_hidden_layers": 24, "hidden_size": 64}))
    safety.check_weights(tmp_path, tmp_path / "config.json")


def test_settings_of_gigabytes(claiming):
    file = claiming() / "config.json"
    os.truncate(file, LARGEST + 1)
    with pytest.raises(PippinError, match="config.json: it is larger than"):
        safety.check_settings("model", file)
