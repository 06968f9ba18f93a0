"""Our BERT beside transformers': the same numbers, the same random draws, the same files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification, BertConfig, BertForSequenceClassification

from pippin.data.encoding import Encoded
from pippin.machine.drivers.cpu import CpuBackend
from pippin.models.families import family_of
from pippin.models.labels import Labels
from pippin.models.loading import BUILTIN_HUB_NAME, resolve_model
from pippin.models.network import Network
from pippin.models.padded_attention import fused, plain
from pippin.models.plain_bert.config import read_config
from pippin.models.plain_bert.model import fits, load

CLASSES = Labels(("a", "b", "c"))
SETTINGS = {
    "vocab_size": 50,
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 40,
    "max_position_embeddings": 20,
}


@pytest.fixture
def folder(tmp_path):
    """A classifier as transformers saves it, with weights large enough to tell."""
    torch.manual_seed(0)
    model = BertForSequenceClassification(BertConfig(**SETTINGS, num_labels=3, initializer_range=0.3))
    model.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def own(folder: Path, attention: str = "sdpa", labels: Labels | None = CLASSES):
    config = read_config(folder / "config.json", labels)
    assert config is not None
    assert fits(config, folder / "model.safetensors")
    return load(config, folder / "model.safetensors", plain if attention == "eager" else fused)


def theirs(folder: Path, attention: str = "sdpa", labels: int = 3):
    return AutoModelForSequenceClassification.from_pretrained(
        folder, num_labels=labels, attn_implementation=attention
    ).float()


def batch() -> dict[str, torch.Tensor]:
    """Rows of different lengths and two token types."""
    torch.manual_seed(5)
    mask = (torch.arange(11)[None] < torch.tensor([11, 4, 7, 1])[:, None]).long()
    tokens = torch.randint(1, 50, (4, 11)) * mask
    return {"input_ids": tokens, "attention_mask": mask, "token_type_ids": (torch.arange(11)[None] > 2).long() * mask}


@pytest.mark.parametrize("training", [False, True], ids=["without dropout", "with the same dropout"])
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_logits_and_gradients_are_theirs(folder, attention, training):
    models = own(folder, attention), theirs(folder, attention)
    found = []
    for model in models:
        model.train(training)
        torch.manual_seed(1)
        logits = model(**batch()).logits
        torch.nn.functional.cross_entropy(logits, torch.tensor([0, 1, 2, 1])).backward()
        found.append((logits.detach(), {name: weight.grad for name, weight in model.named_parameters()}))
    (ours, our_gradients), (their_logits, their_gradients) = found
    torch.testing.assert_close(ours, their_logits, rtol=1e-5, atol=1e-6)
    assert set(our_gradients) == set(their_gradients)
    for name, gradient in their_gradients.items():
        torch.testing.assert_close(our_gradients[name], gradient, rtol=1e-4, atol=1e-6, msg=name)


def test_what_is_left_out_is_as_they_have_it(folder):
    tokens = batch()["input_ids"]
    with torch.no_grad():
        torch.testing.assert_close(own(folder)(tokens).logits, theirs(folder)(tokens).logits)
        positions = torch.tensor([[3, 0, 1, 2, 9, 4, 5, 6, 7, 8, 10]]).expand(4, -1)
        moved = own(folder)(tokens, position_ids=positions).logits
        torch.testing.assert_close(moved, theirs(folder)(tokens, position_ids=positions).logits)


def builtin_model() -> Path:
    name = resolve_model(None)
    if name == BUILTIN_HUB_NAME:
        pytest.skip("the built-in model is not installed")
    return Path(name)


def test_built_in_model_is_theirs(tmp_path):
    """Logits, gradients and the drawn head, and the same again after saving."""
    models = []
    for load_one in (lambda: own(builtin_model()), lambda: theirs(builtin_model())):
        torch.manual_seed(3)
        models.append(load_one())
    ours, transformers_own = models
    inputs = batch()
    inputs["input_ids"] = inputs["input_ids"] * 500
    for model in models:
        torch.nn.functional.cross_entropy(model(**inputs).logits, torch.tensor([0, 1, 2, 1])).backward()
    gradients = {name: weight.grad for name, weight in ours.named_parameters()}
    for name, weight in transformers_own.named_parameters():
        torch.testing.assert_close(gradients[name], weight.grad, rtol=1e-3, atol=1e-6, msg=name)
    ours.save_pretrained(tmp_path)
    with torch.no_grad():
        logits = ours(**inputs).logits
        torch.testing.assert_close(logits, transformers_own(**inputs).logits)
        torch.testing.assert_close(
            logits, AutoModelForSequenceClassification.from_pretrained(tmp_path)(**inputs).logits
        )


@pytest.mark.parametrize("attention", [fused, plain])
@pytest.mark.parametrize("packs", [True, False], ids=["packed", "padded"])
@pytest.mark.parametrize("recomputes", [False, True], ids=["kept", "recomputed"])
def test_every_layout_gives_theirs(folder, attention, packs, recomputes):
    """Also with the last layer for first tokens only, and computed again for the gradient."""
    config = read_config(folder / "config.json", CLASSES)
    assert config is not None
    models = load(config, folder / "model.safetensors", attention), theirs(folder)
    if recomputes:
        models[0].train().gradient_checkpointing_enable({"use_reentrant": False})
        for module in models[0].modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
    lengths = np.array([5, 19, 2, 12, 12, 3, 1, 7])
    draw = np.random.default_rng(0)
    tokens, token_type_ids = (draw.integers(*limits, lengths.sum()).astype(np.int32) for limits in ((1, 50), (0, 2)))
    rows = Encoded(tokens, token_type_ids, np.concatenate([[0], np.cumsum(lengths)]), draw.integers(0, 3, len(lengths)))
    found = []
    for model, family in zip(models, (family_of(config)[0], None), strict=True):
        network = Network(model, CpuBackend(), family=family, packs=packs and family is not None)
        batch = network.collate(rows, np.arange(len(rows)))
        logits = network.logits(batch)
        torch.nn.functional.cross_entropy(logits, batch.labels).backward()
        gradients = {name: weight.grad for name, weight in model.named_parameters()}
        found.append((logits.detach()[np.argsort(batch.rows)], gradients))
    (ours, our_gradients), (their_logits, their_gradients) = found
    torch.testing.assert_close(ours, their_logits, rtol=1e-5, atol=2e-6)
    for name, gradient in their_gradients.items():
        torch.testing.assert_close(our_gradients[name], gradient, rtol=1e-4, atol=1e-6, msg=name)


def test_recomputed_activations_give_the_same_gradient(folder):
    found = []
    for recomputes in (False, True):
        model = own(folder).train()
        if recomputes:
            model.gradient_checkpointing_enable({"use_reentrant": False})
        layer, calls = model.bert.encoder.layer[0], []
        layer.register_forward_pre_hook(lambda *_, calls=calls: calls.append(1))
        torch.manual_seed(2)
        model(**batch()).logits.square().sum().backward()
        found.append(({name: weight.grad for name, weight in model.named_parameters()}, len(calls)))
    (kept, once), (recomputed, twice) = found
    assert (once, twice) == (1, 2)
    assert all(torch.equal(recomputed[name], gradient) for name, gradient in kept.items())


@pytest.mark.parametrize("missing", ["classifier", "pooler"])
def test_a_new_head_is_drawn_as_they_draw_it(folder, missing):
    file = folder / "model.safetensors"
    parts = ("classifier", "pooler") if missing == "pooler" else ("classifier",)
    weights = {name: value for name, value in load_file(file).items() if not any(part in name for part in parts)}
    save_file(weights, file, metadata={"format": "pt"})
    five = Labels(("a", "b", "c", "d", "e"))
    torch.manual_seed(7)
    ours = own(folder, labels=five).state_dict()
    torch.manual_seed(7)
    for name, weight in theirs(folder, labels=5).state_dict().items():
        assert torch.equal(ours[name], weight), name


def test_files_of_the_bare_encoder_and_old_names_are_read(folder):
    file = folder / "model.safetensors"
    before = own(folder).state_dict()
    old = {
        name.removeprefix("bert.")
        .replace("LayerNorm.weight", "LayerNorm.gamma")
        .replace("Norm.bias", "Norm.beta"): value
        for name, value in load_file(file).items()
    }
    old["embeddings.position_ids"] = torch.arange(20)[None]
    save_file(old, file)
    after = own(folder).state_dict()
    assert all(torch.equal(after[name], weight) for name, weight in before.items())


def test_half_precision_is_read_as_fp32(folder):
    file = folder / "model.safetensors"
    save_file({name: value.bfloat16() for name, value in load_file(file).items()}, file)
    assert {weight.dtype for weight in own(folder).parameters()} == {torch.float32}


def test_weights_do_not_hang_on_the_file(folder):
    model = own(folder)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    file = folder / "model.safetensors"
    with file.open("r+b") as opened:
        opened.seek(-4000, 2)
        opened.write(b"\0" * 4000)
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())


@pytest.mark.parametrize("labels", [CLASSES, Labels((), regression=True)], ids=["classes", "numbers"])
def test_transformers_reads_what_it_saves(folder, tmp_path, labels):
    if labels.regression:
        file = folder / "model.safetensors"
        save_file({name: value for name, value in load_file(file).items() if "classifier" not in name}, file)
    model = own(folder, labels=labels)
    saved = tmp_path / "saved"
    saved.mkdir()
    model.save_pretrained(saved)
    read = AutoModelForSequenceClassification.from_pretrained(saved)
    assert type(read) is BertForSequenceClassification
    assert read.config.num_labels == labels.outputs
    assert read.config.id2label == model.config.id2label
    assert read.config.problem_type == model.config.problem_type
    assert read.dtype == torch.float32
    ours = model.state_dict()
    assert {name: tuple(value.shape) for name, value in read.state_dict().items()} == {
        name: tuple(value.shape) for name, value in ours.items()
    }
    assert all(torch.equal(weight, ours[name]) for name, weight in read.state_dict().items())


def test_attention_can_be_replaced(folder):
    model = own(folder)
    calls = []

    def nothing(module, query, key, value, mask, scaling, dropout):
        calls.append((query.shape, scaling, dropout, mask.dtype))
        return torch.zeros_like(query).transpose(1, 2), None

    model.use_attention(nothing)
    model(**batch())
    assert calls == [((4, 4, 11, 6), 6**-0.5, 0.0, torch.bool)] * 3


@pytest.mark.parametrize("damage", ["shape", "gone", "kind", "cut"])
def test_other_weights_do_not_fit(folder, damage):
    file = folder / "model.safetensors"
    config = read_config(folder / "config.json", CLASSES)
    assert config is not None
    weights = load_file(file)
    name = "bert.encoder.layer.1.output.dense.weight"
    if damage == "shape":
        weights["classifier.weight"] = torch.zeros(4, 24)
    elif damage == "gone":
        del weights[name]
    elif damage == "kind":
        weights[name] = weights[name].to(torch.int8)
    save_file(weights, file)
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:-100])
    assert not fits(config, file)


def test_made_up_sizes_are_not_built(folder):
    """Only the names in the file are looked at: a model of so many layers would take hours to set up."""
    config = read_config(folder / "config.json", CLASSES)
    assert config is not None
    config.num_hidden_layers = 2**24
    assert not fits(config, folder / "model.safetensors")
