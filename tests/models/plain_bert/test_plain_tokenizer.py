"""BERT's tokenizer without transformers: token for token what transformers gives."""

from __future__ import annotations

import json

import pytest
from transformers import AutoTokenizer, BertTokenizerFast

from helpers import FILLER, WORDS, save_tiny_tokenizer
from pippin.models.plain_bert.tokenizer import read_tokenizer

TEXTS = [
    "the cat is under the ladder",
    "The CAT, the dog!  And\tmore\u00a0honey",
    "",
    "caf\u00e9 na\u00efve \u4e2d\u6587 \U0001f600 \x00\x07 end",
    "[CLS] my [MASK] bread [SEP] [PAD]",
    "hammersaw" * 30,
    " ".join([*FILLER, *WORDS["food"]]),
]
PAIRS = ["a fox", "", "the bear " * 20, "x", "old [SEP]", "\u0301", "goat"]


@pytest.fixture
def folder(tmp_path):
    """BERT's tokenizer with few words, as transformers saves it."""
    source = tmp_path / "source"
    save_tiny_tokenizer(source)
    vocabulary = json.loads((source / "tokenizer.json").read_text())["model"]["vocab"]
    (source / "tokenizer.json").unlink()
    (source / "tokenizer_config.json").unlink()
    (source / "vocab.txt").write_text("\n".join(sorted(vocabulary, key=vocabulary.get)) + "\n")
    (source / "config.json").write_text('{"model_type": "bert"}')
    saved = tmp_path / "saved"
    BertTokenizerFast.from_pretrained(source, model_max_length=64).save_pretrained(saved)
    (saved / "config.json").write_text('{"model_type": "bert"}')
    return saved


def change(folder, name, **settings):
    file = folder / name
    before = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps(before | settings))


@pytest.mark.parametrize("most", [3, 9, 64])
@pytest.mark.parametrize("pairs", [None, PAIRS], ids=["single", "pairs"])
def test_tokens_are_theirs(folder, pairs, most):
    ours, theirs = read_tokenizer(folder), AutoTokenizer.from_pretrained(folder)
    assert ours is not None
    found = ours(TEXTS, pairs, truncation=True, max_length=most, return_token_type_ids=True)
    expected = theirs(TEXTS, pairs, truncation=True, max_length=most, return_token_type_ids=True)
    assert found["input_ids"] == expected["input_ids"]
    assert found["token_type_ids"] == expected["token_type_ids"]
    overflowing = [bool(encoding.overflowing) for encoding in expected.encodings]
    assert [bool(encoding.overflowing) for encoding in found.encodings] == overflowing
    assert ours(TEXTS, pairs)["input_ids"] == theirs(TEXTS, pairs)["input_ids"]


def test_what_is_asked_of_it_is_theirs(folder):
    ours, theirs = read_tokenizer(folder), AutoTokenizer.from_pretrained(folder)
    for name in ("pad_token_id", "unk_token_id", "bos_token_id", "eos_token_id", "padding_side", "model_max_length"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours is not None
    assert list(ours.model_input_names) == list(theirs.model_input_names)


def test_transformers_reads_what_it_saves(folder, tmp_path):
    ours = read_tokenizer(folder)
    assert ours is not None
    ours(TEXTS, truncation=True, max_length=5)
    out = tmp_path / "out"
    out.mkdir()
    ours.save_pretrained(out)
    assert json.loads((out / "tokenizer.json").read_text())["truncation"] is None
    (out / "config.json").write_text('{"model_type": "bert"}')
    read = AutoTokenizer.from_pretrained(out)
    assert read(TEXTS)["input_ids"] == ours(TEXTS)["input_ids"]
    assert read.model_max_length == 64
    assert read_tokenizer(out) is not None


def test_only_the_tokenizer_is_saved(folder, tmp_path):
    """No other file of the folder, which may be a link to anything, and no path of whoever made it."""
    change(folder, "tokenizer_config.json", name_or_path="/home/someone/model")
    (tmp_path / "secret").write_text("key")
    (folder / "vocab.txt").unlink(missing_ok=True)
    (folder / "vocab.txt").symlink_to(tmp_path / "secret")
    ours = read_tokenizer(folder)
    assert ours is not None
    out = tmp_path / "out"
    out.mkdir()
    ours.save_pretrained(out)
    assert {file.name for file in out.iterdir()} == {"tokenizer.json", "tokenizer_config.json"}
    assert "someone" not in (out / "tokenizer_config.json").read_text()


def test_the_usual_special_tokens_may_be_named_twice(folder):
    change(folder, "special_tokens_map.json", cls_token="[CLS]", pad_token={"content": "[PAD]", "lstrip": False})
    assert read_tokenizer(folder) is not None


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("tokenizer_config.json", {"tokenizer_class": "RobertaTokenizer"}),
        ("tokenizer_config.json", {"do_lower_case": False}),
        ("tokenizer_config.json", {"strip_accents": True}),
        ("tokenizer_config.json", {"tokenize_chinese_chars": False}),
        ("tokenizer_config.json", {"padding_side": "left"}),
        ("tokenizer_config.json", {"truncation_side": "left"}),
        ("tokenizer_config.json", {"pad_token": "[MASK]"}),
        ("tokenizer_config.json", {"never_split": ["cat"]}),
        ("tokenizer_config.json", {"split_special_tokens": True}),
        ("tokenizer_config.json", {"model_max_length": None}),
        ("tokenizer_config.json", {"extra_special_tokens": {"x": "[X]"}}),
        ("tokenizer_config.json", {"cls_token": {"content": "[CLS]", "lstrip": True}}),
        ("tokenizer_config.json", {"added_tokens_decoder": {"7": {"content": "[CLS]", "special": True}}}),
        ("special_tokens_map.json", {"additional_special_tokens": ["[X]"]}),
        ("special_tokens_map.json", {"unk_token": "[MASK]"}),
        ("added_tokens.json", {"[X]": 500}),
        ("tokenizer_config.json", {"add_prefix_space": True}),
        ("tokenizer.json", {"normalizer": None}),
        ("tokenizer.json", {"pre_tokenizer": {"type": "Whitespace"}}),
        ("tokenizer.json", {"post_processor": None}),
        ("tokenizer.json", {"added_tokens": []}),
        ("tokenizer.json", {"model": None}),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_not_plainly_berts_is_left_to_transformers(folder, name, settings):
    assert read_tokenizer(folder) is not None
    change(folder, name, **settings)
    assert read_tokenizer(folder) is None


@pytest.mark.parametrize("name", ["tokenizer_config.json", "tokenizer.json"])
def test_missing_and_damaged_files_are_left_to_transformers(folder, name):
    (folder / name).write_text("{")
    assert read_tokenizer(folder) is None
    (folder / name).unlink()
    assert read_tokenizer(folder) is None
