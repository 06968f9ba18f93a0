"""Silent wrong results of real releases, which the emulated device gives too: with Pippin's guards they do no harm."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
import torch

from helpers import events, make_rows
from pippin.machine.drivers import get_backend
from pippin.models.families import family_of
from pippin.models.network import Network

pytestmark = pytest.mark.emulated_mps


def _gradients(model: torch.nn.Module, device: str, guarded: bool) -> list[torch.Tensor]:
    model = copy.deepcopy(model).to(device)
    if guarded:
        get_backend(device).guard(model)
    model(torch.arange(12.0).reshape(3, 4).sin().to(device)).square().sum().backward()
    return [parameter.grad.cpu() for parameter in model.parameters() if parameter.grad is not None]


def test_norms_above_frozen_layers(mps):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 2))
    model[0].requires_grad_(False)
    with mps.pretend(release="2.12.0"):
        right = _gradients(model, "cpu", guarded=False)
        wrong = _gradients(model, "mps", guarded=False)
        guarded = _gradients(model, "mps", guarded=True)
    assert (wrong[0] - right[0]).abs().max() > 1, "else the device does not show the fault"
    torch.testing.assert_close(guarded, right)


M1_ON_26 = {"chip": "Apple M1", "macos": "26.4"}


def test_the_bias_of_a_single_row(mps, train, word_file):
    """One text: all that its head sees is one row. Several: first tokens go through the last layer alone."""
    import pippin

    train(word_file, "--learning_rate", "5e-3", steps=6)
    texts = ["the old dog", "my saw and a big red ladder", "a pear"]
    right = pippin.load("run", device="cpu")
    with mps.pretend(release="2.13.0", **M1_ON_26):
        model = pippin.load("run")
        assert model.inference.backend.kind == "mps"
        for given in ([texts[0]], texts):
            wanted, found = ([each.score for each in loaded.predict(given)] for loaded in (right, model))
            assert found == pytest.approx(wanted, abs=1e-5)
        layer = torch.nn.Linear(4, 3).to("mps")
        assert layer(torch.zeros(1, 4, device="mps")).abs().max() == 0, "else the device does not show the fault"


def test_the_bias_in_training_and_in_scripts(mps):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    tokens = torch.randn(5, 1, 4)
    right = model(tokens)
    with mps.pretend(release="2.13.0", **M1_ON_26):
        wrong = copy.deepcopy(model).to("mps")(tokens.to("mps")).cpu()
        guarded = copy.deepcopy(model).to("mps")
        get_backend("mps").lay_out(guarded)
        found = guarded(tokens.to("mps")).cpu()
    assert (wrong - right).abs().max() > 0.01, "else the device does not show the fault"
    torch.testing.assert_close(found, right)


@pytest.mark.parametrize("release", ["2.13.0", "2.14.0"])
def test_32768_tokens_are_too_many(mps, release, run_cli, write_rows, tiny_model):
    """512 rows of 64 tokens: what the fix in 2.14 leaves."""
    file = write_rows("long.csv", [{"text": " ".join(["the"] * 62), "label": "ab"[n % 2]} for n in range(512)])
    words = ["train", file, "--model_name_or_path", tiny_model, "--do_train", "--max_steps", 1, "--logging_steps", 1]
    norms = []
    for chip in ("Apple M1", "Apple M3"):
        with mps.pretend(release=release, chip=chip):
            code, _, error = run_cli(*words, "--per_device_train_batch_size", 512, "--output_dir", chip)
        assert code == 0, error
        norms += [event["grad_norm"] for event in events(chip, "log")]
    assert norms[0] == pytest.approx(norms[1], rel=0.5), "dropout differs, a thousandfold gradient would show"


def test_long_products_on_the_first_chips(run_cli, write_rows, tiny_model, mps):
    """640 rows of 62 tokens are more than 32767: they go through in two parts, and the losses are the CPU's."""
    words = " ".join(make_rows(1)[0]["text"].split() * 20)
    file = write_rows("long.csv", [{"text": words, "label": "ab"[n % 2]} for n in range(700)])
    common = ["train", file, "--model_name_or_path", tiny_model, "--do_train", "--max_steps", 2, "--logging_steps", 1]
    common += ["--per_device_train_batch_size", 640]
    with mps.pretend(release="2.12.0", chip="Apple M1 Pro"):
        code, out, error = run_cli(*common, "--output_dir", "run")
    assert code == 0, error
    plan = {
        name: each
        for group in json.loads(Path("run/run.json").read_text())["plan"].values()
        for name, each in group.items()
    }
    assert plan["micro_batch"]["value"] == 320
    assert plan["guards"]["value"] == ["linear gradients"]
    assert plan["micro_batch"]["value"] * 62 < 32767
    assert "linear gradients" in out
    with mps.pretend(release="2.12.0", chip="Apple M3"):
        assert run_cli(*common, "--output_dir", "newer")[0] == 0
    assert {
        name: each
        for group in json.loads(Path("newer/run.json").read_text())["plan"].values()
        for name, each in group.items()
    }["micro_batch"]["value"] == 640
    norms = [[event["grad_norm"] for event in events(folder, "log")] for folder in ("run", "newer")]
    assert norms[0] == pytest.approx(norms[1], rel=0.5), "dropout differs, a thousandfold gradient would show"


def test_recomputed_dropout(train, word_file, mps):
    """Gradient checkpointing must draw the same dropout twice: then it changes nothing."""
    flags = ["--logging_steps", 1, "--learning_rate", "5e-3"]
    plain, recomputed = (
        train(word_file, *flags, *extra, folder=folder, steps=6) and [e["loss"] for e in events(folder, "log")]
        for folder, extra in (("plain", []), ("recomputed", ["--gradient_checkpointing"]))
    )
    assert recomputed == pytest.approx(plain, abs=1e-5)


@pytest.mark.parametrize("release", ["2.8.0", "2.10.0"])
def test_short_texts_and_first_tokens(mps, release):
    """A few queries take a way of their own through attention, in heads as wide as BERT's."""
    from transformers import BertConfig, BertForSequenceClassification

    from pippin.machine.drivers.mps import MpsBackend
    from pippin.models.attention import work_of

    torch.manual_seed(0)
    config = BertConfig(
        hidden_size=128, num_attention_heads=2, num_hidden_layers=2, intermediate_size=64, vocab_size=50,
        max_position_embeddings=1024, initializer_range=0.2,
    )  # fmt: skip
    model = BertForSequenceClassification(config).eval()
    short, long = torch.randint(1, 50, (3, 6)), torch.randint(1, 50, (2, 1024))
    given = short if release == "2.8.0" else long

    def logits(device: str) -> torch.Tensor:
        backend = get_backend(device)
        family = family_of(config)[0] if given is long else None
        network = Network(backend.place(copy.deepcopy(model)), backend, family=family)
        with torch.inference_mode():
            return network.run({"input_ids": given.to(device)}, None).cpu()

    right = logits("cpu")
    with mps.pretend(release=release):
        wrong = logits("mps")
        model.set_attn_implementation(MpsBackend().attention(work_of(config)))
        found = logits("mps")
    assert (wrong - right).abs().max() > 0.01, "else the device does not show the fault"
    torch.testing.assert_close(found, right, rtol=1e-3, atol=1e-4)


def test_models_that_look_back_in_half_precision(mps, tmp_path):
    """Evaluation must not see what comes later: here by plain attention."""
    from transformers import GPT2Config, GPT2ForSequenceClassification

    from pippin.machine.drivers.mps import MpsBackend
    from pippin.models.attention import work_of

    torch.manual_seed(0)
    config = GPT2Config(n_embd=32, n_layer=2, n_head=2, vocab_size=50, n_positions=16, pad_token_id=0)
    model = GPT2ForSequenceClassification(config).eval()
    attention = MpsBackend().attention(work_of(config, "bf16"))
    assert attention == "eager"
    tokens = torch.randint(1, 50, (2, 12))
    changed = tokens.clone()
    changed[:, -1] = 7

    def states(ids: torch.Tensor) -> torch.Tensor:
        with torch.inference_mode(), torch.autocast("mps", torch.bfloat16):
            return model.transformer(ids.to("mps")).last_hidden_state[:, :-1].float().cpu()

    model.to("mps")
    with mps.pretend(release="2.14.0"):
        leak = (states(tokens) - states(changed)).abs().max()
        model.set_attn_implementation(attention)
        assert (states(tokens) - states(changed)).abs().max() == 0
    assert leak > 0, "else the device does not show the fault"
