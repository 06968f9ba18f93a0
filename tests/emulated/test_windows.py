"""Models whose tokens see only those near them, on the (emulated) Apple GPU: padding beyond the window does no harm."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from helpers import FILLER, WORDS, read_csv, save_tiny_tokenizer
from pippin.data.encoding import Encoded
from pippin.machine.drivers import get_backend
from pippin.models.attention import window_of, work_of
from pippin.models.families import family_of
from pippin.models.network import Network

pytestmark = pytest.mark.emulated_mps

#: Here attention made NaN of every token that sees nothing.
OLD = "2.8.0"
#: In the third layer the text meets what became of padding in the second.
SMALL = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 64}
DECODER = {**SMALL, "num_key_value_heads": 1, "head_dim": 16, "sliding_window": 4}
KINDS: dict[str, dict[str, Any]] = {
    "modernbert": {**SMALL, "local_attention": 8, "global_attn_every_n_layers": 2},
    "mistral": DECODER,
    "gemma2": {**DECODER, "query_pre_attn_scalar": 16},
    "gemma3_text": {**DECODER, "query_pre_attn_scalar": 16},
    "qwen2": {**DECODER, "use_sliding_window": True, "max_window_layers": 0},
    "phi3": DECODER,
    "gpt_neo": {
        "hidden_size": 32, "num_layers": 2, "num_heads": 2, "attention_types": [[["local"], 2]], "window_size": 4,
    },
    "longformer": {**SMALL, "attention_window": [4, 4, 4]},
}  # fmt: skip


def model_of(kind: str, attention: str | None = None) -> Any:
    from transformers import AutoConfig, AutoModelForSequenceClassification

    torch.manual_seed(0)
    config = AutoConfig.for_model(kind, vocab_size=90, pad_token_id=0, max_position_embeddings=128, **KINDS[kind])
    return AutoModelForSequenceClassification.from_config(
        config, **({"attn_implementation": attention} if attention else {})
    ).eval()


def rows() -> Encoded:
    """A short row and long ones, all from one batch: most of the short one is padding that sees no text."""
    lengths = np.array([3, 40, 40, 21])
    tokens = np.random.default_rng(0).integers(5, 90, lengths.sum()).astype(np.int32)
    return Encoded(tokens, None, np.concatenate([[0], np.cumsum(lengths)]), None)


def logits(model: Any, device: str) -> torch.Tensor:
    backend = get_backend(device)
    family = family_of(model.config)[0] if device != "cpu" else None
    network = Network(backend.place(model), backend, family=family)
    with torch.inference_mode():
        return network.logits(network.collate(rows(), np.arange(4))).cpu()


@pytest.mark.parametrize("kind", KINDS)
def test_padding_beyond_the_window(kind, mps):
    right = logits(model_of(kind), "cpu")
    with mps.pretend(release=OLD, fallback=True):
        safe = get_backend("mps").attention(work_of(model_of(kind).config))
        assert safe == "eager"
        found = logits(model_of(kind, safe), "mps")
    torch.testing.assert_close(found, right, rtol=1e-4, atol=1e-5)
    assert window_of(model_of(kind).config) == (8 if kind == "modernbert" else 4)


def test_without_the_guard_it_would_be_nan(mps):
    with mps.pretend(release=OLD):
        assert logits(model_of("modernbert", "sdpa"), "mps").isnan().any(), "else the device does not show the fault"


@pytest.fixture(scope="module")
def windowed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny ModernBERT whose tokens see four others to either side."""
    folder = tmp_path_factory.mktemp("models") / "tiny-modernbert"
    vocabulary = save_tiny_tokenizer(folder)
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    settings["model_input_names"] = ["input_ids", "attention_mask"]
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    from transformers import ModernBertConfig, ModernBertModel

    torch.manual_seed(0)
    special = {"pad_token_id": 0, "cls_token_id": 2, "bos_token_id": 2, "sep_token_id": 3, "eos_token_id": 3}
    config = ModernBertConfig(vocab_size=vocabulary, max_position_embeddings=64, **KINDS["modernbert"], **special)
    ModernBertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture
def uneven_file(write_rows) -> Path:
    """Every other row is far longer than the window, and padded rows stand beside it."""
    draw = np.random.default_rng(0)
    texts = [
        " ".join([draw.choice(WORDS["animal" if n % 2 else "tool"]), *draw.choice(FILLER, 2 if n % 3 else 40)])
        for n in range(60)
    ]
    return write_rows("uneven.csv", [{"text": text, "label": "ab"[n % 2]} for n, text in enumerate(texts)])


@pytest.mark.parametrize("release", [OLD, "2.13.0"])
def test_training_evaluation_and_prediction(run_cli, windowed, uneven_file, mps, release):
    with mps.pretend(release=release):
        code, out, error = run_cli(
            "train", uneven_file, "--model_name_or_path", windowed, "--output_dir", "run", "--max_steps", 3,
            "--pad_to_max_length",
        )  # fmt: skip
        assert code == 0, error
        assert "tokens that see nothing" in out
        assert np.isfinite(json.loads(Path("run/eval_results.json").read_text())["eval_loss"])
        assert run_cli("predict", "run", "--file", uneven_file, "--output", "gpu.csv")[0] == 0
    assert run_cli("predict", "run", "--file", uneven_file, "--output", "cpu.csv", "--device", "cpu")[0] == 0
    scores = [[float(row["score"]) for row in read_csv(file)] for file in ("gpu.csv", "cpu.csv")]
    assert scores[0] == pytest.approx(scores[1], abs=1e-5)


def verdict_of(run_cli, *arguments: Any) -> tuple[int, dict]:
    code, out, error = run_cli("verify", *arguments, "--json")
    assert not error, error
    return code, json.loads(out)


def test_verify_looks_beyond_the_window_of_short_rows(run_cli, windowed, word_file, mps, monkeypatch):
    """All of the file's rows are shorter than 15 tokens: the rows that show the fault are made."""
    arguments = (word_file, "--model_name_or_path", windowed, "--max_seq_length", "64")
    with mps.pretend(release=OLD):
        code, verdict = verdict_of(run_cli, *arguments)
        assert code == 0, verdict
        assert verdict["rows"] == 16 + 4
        monkeypatch.setattr(type(get_backend("mps")), "attention", lambda self, work: None)
        code, verdict = verdict_of(run_cli, *arguments)
    assert code == 1
    wrong = {finding["name"]: finding for finding in verdict["findings"] if finding["error"] is None}
    assert set(wrong) >= {"logits in evaluation", "a row beside a longer one"}
    assert "attn" in wrong["logits in evaluation"]["module"]


def test_training_does_not_begin_where_the_window_gives_nan(
    run_cli, windowed, word_file, mps, monkeypatch, compared_first
):
    monkeypatch.setattr(type(get_backend("mps")), "attention", lambda self, work: None)
    with mps.pretend(release=OLD):
        code, out, error = run_cli(
            "train", word_file, "--model_name_or_path", windowed, "--output_dir", "run", "--max_steps", 1
        )
    assert code == 2, out
    assert "NaN, infinite or missing" in error


def test_nan_is_no_result(run_cli, windowed, uneven_file, mps, monkeypatch):
    """Where a fault is not known: evaluation and prediction stop, and say for which rows."""
    monkeypatch.setattr("pippin.machine.faults.HAZARDS", ())
    with mps.pretend(release=OLD):
        code, out, error = run_cli(
            "train", uneven_file, "--model_name_or_path", windowed, "--output_dir", "run", "--max_steps", 1
        )
        assert code == 2, out
        error = error.replace(f"{uneven_file.parent}/", "")
        assert "is not finite (NaN or infinity)" in error
        assert " of uneven.csv is not finite" in error
        for way_out in ("the device mps", "--use_cpu", "`pippin verify`", "another release of torch"):
            assert way_out in error
        assert "Step 1 of 1 is saved." in error
        code, out, error = run_cli(
            "predict", "run/checkpoints/step-1", "--file", uneven_file, "--text_column", "text", "--output", "new.csv"
        )
        assert code == 2, out
        assert "--device cpu" in error
        assert not Path("new.csv").exists()


def test_copies_of_a_placed_model_are_whole(mps):
    with mps.pretend(release="2.12.0"):
        model = get_backend("mps").place(model_of("modernbert"))
        twin = copy.deepcopy(model)
        assert twin.state_dict().keys() == model.state_dict().keys()
