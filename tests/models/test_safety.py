"""Models that are refused before transformers reads them: each by a message that names file and key."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pippin.errors import PippinError
from pippin.models.labels import Labels
from pippin.models.loading import load_config, load_model, load_tokenizer, require_trained
from pippin.recipe import Recipe

TWO = Labels(("no", "yes"))


def recipe(model: Path | str, **settings) -> Recipe:
    return Recipe(model_name_or_path=str(model), **settings)


@pytest.fixture
def copy(tiny_model, tmp_path) -> Path:
    folder = tmp_path / "model"
    shutil.copytree(tiny_model, folder)
    return folder


def edit(file: Path, **changes) -> None:
    settings = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps({**settings, **changes}))


REFUSED = [
    {"auto_map": {"AutoConfig": "evil.Evil"}},
    {"_attn_implementation_internal": "someone/kernel"},
    {"_experts_implementation_internal": "sdpa"},
    {"trust_remote_code": True},
    {"_attn_implementation": "someone/kernel"},
    {"attn_implementation": "someone/kernel@v1:run"},
    {"attn_implementation": {"": "sdpa", "text_config": "kernels-community/flash-attn"}},
    {"experts_implementation": "someone/kernel"},
    {"text_config": {"quantization_config": {"quant_method": "mxfp4"}}},
    {"transformers_weights": "pytorch_model.bin"},
    {"text_config": {"auto_map": {"AutoModel": "evil.Evil"}}},
    {"parts": [{"deep": {"trust_remote_code": True}}]},
]


@pytest.mark.parametrize("settings", REFUSED, ids=json.dumps)
def test_settings_that_would_fetch_code(copy, settings):
    edit(copy / "config.json", **settings)
    with pytest.raises(PippinError, match=r"its config\.json holds '\w+', which .* Pippin never runs code"):
        load_config(recipe(copy), TWO)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": True}}, "stored in 4 bits"),
        ({"quantization_config": {"quant_method": "mxfp4"}}, "stored in few bits"),
        ({"quantization": {"group_size": 64, "bits": 4}}, "stored in 4 bits"),
    ],
    ids=["bitsandbytes", "mxfp4", "mlx"],
)
def test_weights_in_few_bits(copy, settings, said):
    edit(copy / "config.json", **settings)
    with pytest.raises(PippinError, match=f"its weights are {said} .*to train that in little memory: --train lora"):
        load_config(recipe(copy), TWO)


def test_settings_of_the_tokenizer(copy):
    edit(copy / "tokenizer_config.json", auto_map={"AutoTokenizer": ["evil.Evil", None]})
    with pytest.raises(PippinError, match=r"its tokenizer_config\.json holds 'auto_map'"):
        load_tokenizer(recipe(copy))


def test_configuration_from_elsewhere(copy, tiny_model):
    edit(copy / "config.json", auto_map={"AutoConfig": "evil.Evil"})
    for name in (copy, copy / "config.json"):
        with pytest.raises(PippinError, match="'auto_map'"):
            load_config(recipe(tiny_model, config_name=str(name)), TWO)
    with pytest.raises(PippinError, match="'auto_map'"):
        load_tokenizer(recipe(tiny_model, tokenizer_name=str(copy)))


def test_what_asks_for_nothing_is_no_fault(copy):
    edit(copy / "config.json", auto_map={}, trust_remote_code=False, attn_implementation="eager", text_config=None)
    assert load_config(recipe(copy), TWO).num_labels == 2


def test_classes_may_be_called_anything(copy):
    labels = Labels(("auto_map", "for_internal"))
    load_model(recipe(copy), load_config(recipe(copy), labels)).save_pretrained(copy)
    assert require_trained(recipe(copy)) == labels


def hub_cache(folder: Path, files: Path) -> Recipe:
    """A model as the Hub's client keeps it: links from snapshots/ to blobs/."""
    store = folder / "models--someone--tiny"
    snapshot = store / "snapshots" / "abc123"
    for path in (store / "refs", store / "blobs", snapshot):
        path.mkdir(parents=True)
    (store / "refs" / "main").write_text("abc123")
    for number, file in enumerate(sorted(files.iterdir())):
        shutil.copy(file, store / "blobs" / str(number))
        (snapshot / file.name).symlink_to(store / "blobs" / str(number))
    return recipe("someone/tiny", cache_dir=str(folder))


def test_links_of_the_hubs_cache(copy, tmp_path):
    by_name = hub_cache(tmp_path / "cache", copy)
    snapshot = next((tmp_path / "cache").glob("*/snapshots/*"))
    for asked in (by_name, recipe(snapshot)):
        assert load_model(asked, load_config(asked, TWO)).config.num_labels == 2
        assert load_tokenizer(asked)("the dog")["input_ids"]


@pytest.mark.parametrize("settings", REFUSED[:3], ids=json.dumps)
def test_settings_from_the_hub(copy, tmp_path, settings):
    edit(copy / "config.json", **settings)
    with pytest.raises(PippinError, match=r"someone/tiny: its config\.json holds"):
        load_config(hub_cache(tmp_path / "cache", copy), TWO)


def test_tokenizer_and_shards_from_the_hub(copy, tmp_path):
    edit(copy / "tokenizer_config.json", auto_map={"AutoTokenizer": ["evil.Evil", None]})
    edit(copy / "model.safetensors.index.json", weight_map={"a": "../../x.safetensors"})
    asked = hub_cache(tmp_path / "cache", copy)
    with pytest.raises(PippinError, match=r"someone/tiny: its tokenizer_config\.json holds 'auto_map'"):
        load_tokenizer(asked)
    config = load_config(asked, TWO)
    with pytest.raises(PippinError, match="not a plain name"):
        load_model(asked, config)


def test_a_file_that_may_be_there_must_be_seen(copy, tmp_path, monkeypatch):
    """Online, a tokenizer's settings that did not arrive are not taken for none."""
    import huggingface_hub
    from huggingface_hub.utils import LocalEntryNotFoundError

    def lost(*arguments, **keywords):
        raise LocalEntryNotFoundError("the connection broke")

    asked = hub_cache(tmp_path / "cache", copy)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", lost)
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setattr("pippin.models.loading.is_cut_off", lambda: False)
    monkeypatch.setattr("pippin.machine.hub_access.is_cut_off", lambda: False)
    with pytest.raises(PippinError, match="someone/tiny cannot be loaded"):
        load_tokenizer(asked)


@pytest.mark.parametrize("file", ["adapter_config.json"])
def test_adapters_lead_to_other_models(copy, file):
    edit(copy / file, base_model_name_or_path="someone/else")
    with pytest.raises(PippinError, match="a model and an adapter at once"):
        load_config(recipe(copy), TWO)


def sharded(copy: Path, name: object) -> None:
    index = {"metadata": {}, "weight_map": {"bert.embeddings.word_embeddings.weight": name}}
    (copy / "model.safetensors.index.json").write_text(json.dumps(index))


@pytest.mark.parametrize(
    "name",
    ["../outside.safetensors", "/etc/x.safetensors", "a/b.safetensors", "a\\b.safetensors", "C:x.safetensors", "..",
     "", ".", "a\0.safetensors", 7, None],
)  # fmt: skip
def test_shard_names_must_be_plain(copy, name):
    (copy / "model.safetensors").rename(copy.parent / "outside.safetensors")
    sharded(copy, name)
    with pytest.raises(PippinError, match=r"model\.safetensors\.index\.json names the file .* not a plain name"):
        load_config(recipe(copy), TWO)


def test_index_of_pickles(copy):
    (copy / "model.safetensors").rename(copy / "x.bin")
    sharded(copy, "x.bin")
    with pytest.raises(PippinError, match=r"'x\.bin', which is not safetensors"):
        load_config(recipe(copy), TWO)


def test_good_shards_load(copy):
    (copy / "model.safetensors").rename(copy / "model-00001-of-00001.safetensors")
    sharded(copy, "model-00001-of-00001.safetensors")
    assert load_model(recipe(copy), load_config(recipe(copy), TWO)).config.num_labels == 2


@pytest.mark.parametrize("text", ["[]", "{", '{"weight_map": []}', "{}"])
def test_damaged_index(copy, text):
    (copy / "model.safetensors").rename(copy / "model-1.safetensors")
    (copy / "model.safetensors.index.json").write_text(text)
    with pytest.raises(PippinError, match=r"index\.json is damaged"):
        load_config(recipe(copy), TWO)


@pytest.mark.parametrize("others", [["pytorch_model.bin"], ["pytorch_model.bin.index.json"],
                                    ["pytorch_model.bin", "optimizer.safetensors"], ["weights.pth"]])  # fmt: skip
def test_only_pickles(copy, others):
    (copy / "model.safetensors").unlink()
    for name in others:
        (copy / name).write_bytes(b"{}")
    with pytest.raises(PippinError, match="only as pickle"):
        load_config(recipe(copy), TWO)


def test_a_file_is_no_model(copy, tiny_model):
    (copy / "model.safetensors").rename(copy / "pytorch_model.bin")
    asked = recipe(copy / "pytorch_model.bin", config_name=str(tiny_model))
    with pytest.raises(PippinError, match="is a file; name the folder"):
        load_config(asked, TWO)


def test_links_out_of_the_folder(copy):
    outside = copy.parent / "outside.safetensors"
    (copy / "model.safetensors").rename(outside)
    (copy / "model.safetensors").symlink_to(outside)
    with pytest.raises(PippinError, match="is a link to .*outside the model's folder"):
        load_config(recipe(copy), TWO)
    (copy / "model.safetensors").unlink()
    shutil.copy(outside, copy / "kept.safetensors")
    (copy / "model.safetensors").symlink_to("kept.safetensors")
    assert load_config(recipe(copy), TWO).num_labels == 2


def test_a_folder_may_be_a_link_itself(copy):
    (copy.parent / "link").symlink_to(copy)
    assert load_config(recipe(copy.parent / "link"), TWO).num_labels == 2


@pytest.mark.usefixtures("garbage_waits")
@pytest.mark.parametrize("text", [b"", b"x", b"\xff" * 20, b"[" * 100_000, b"\x80\x04."])
def test_settings_that_are_no_settings(copy, text):
    (copy / "config.json").write_bytes(text)
    with pytest.raises(PippinError, match=r"config\.json is not JSON"):
        load_config(recipe(copy), TWO)
