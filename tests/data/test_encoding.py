"""Token numbers: the same as the tokenizer's own, and how many rows were cut."""

from __future__ import annotations

import numpy as np
import pytest
from data_helpers import text

from pippin.data import encoding
from pippin.data.collate import collate
from pippin.data.encoding import encode
from pippin.data.examples import Examples

TEXTS = [text(number) + " and more" * (number % 7) for number in range(25)]
PAIRS = [f"the other {text(number)}" for number in range(25)]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    from transformers import AutoTokenizer

    from helpers import save_tiny_tokenizer

    folder = tmp_path_factory.mktemp("tokenizer")
    save_tiny_tokenizer(folder)
    return AutoTokenizer.from_pretrained(folder)


@pytest.mark.parametrize("pairs", [None, PAIRS], ids=["single", "pairs"])
@pytest.mark.parametrize("most", [16, 64])
def test_same_as_the_tokenizer_says(tokenizer, monkeypatch, pairs, most):
    monkeypatch.setattr(encoding, "_CHUNK", 10)
    examples = Examples(TEXTS, pairs, np.arange(25), list(range(1, 26)), "x.csv")
    encoded = encode(examples, tokenizer, most)
    expected = tokenizer(TEXTS, pairs, truncation=True, max_length=most)
    whole = tokenizer(TEXTS, pairs)["input_ids"]
    assert len(encoded) == 25
    for row in range(25):
        part = slice(encoded.offsets[row], encoded.offsets[row + 1])
        assert encoded.tokens[part].tolist() == expected["input_ids"][row]
        assert encoded.token_type_ids[part].tolist() == expected["token_type_ids"][row]
    assert encoded.lengths.tolist() == [len(row) for row in expected["input_ids"]]
    assert encoded.cut == sum(len(row) > most for row in whole)
    assert encoded.labels.tolist() == list(range(25))


@pytest.mark.parametrize("token_type_ids", [True, False])
def test_no_row_is_without_a_token(tokenizer, monkeypatch, token_type_ids):
    """Attention over a row of padding alone is NaN on some devices."""
    from tokenizers import processors

    if not token_type_ids:
        monkeypatch.setattr(tokenizer, "model_input_names", ["input_ids", "attention_mask"])
    whole = tokenizer.backend_tokenizer.post_processor
    bare = processors.TemplateProcessing(single="$A", pair="$A $B", special_tokens=[])
    tokenizer.backend_tokenizer.post_processor = bare
    try:
        assert tokenizer("\x01\x02")["input_ids"] == []
        encoded = encode(Examples(["a cat", "\x01\x02", "a dog"], None, None, [], ""), tokenizer, 16)
    finally:
        tokenizer.backend_tokenizer.post_processor = whole
    assert encoded.lengths.tolist() == [2, 1, 2]
    assert encoded.tokens[2] == tokenizer.unk_token_id
    assert collate(encoded, np.arange(3)).inputs["attention_mask"].any(dim=1).all()
    assert (encoded.token_type_ids is None) != token_type_ids
    assert not token_type_ids or len(encoded.token_type_ids) == 5


def test_model_without_segments(tokenizer, monkeypatch):
    monkeypatch.setattr(tokenizer, "model_input_names", ["input_ids", "attention_mask"])
    assert encode(Examples(TEXTS, None, None, [], ""), tokenizer, 16).token_type_ids is None


@pytest.fixture
def counted(tokenizer, monkeypatch):
    """Caches rows however few, and counts how often they were tokenised."""
    monkeypatch.setattr(encoding, "_CACHED_ROWS", 1)
    calls = []
    tokenise = encoding._tokenise
    monkeypatch.setattr(encoding, "_tokenise", lambda *arguments: calls.append(1) or tokenise(*arguments))
    return calls


@pytest.mark.parametrize("pairs", [None, PAIRS], ids=["single", "pairs"])
def test_tokens_come_from_the_cache_the_second_time(tokenizer, counted, pairs):
    examples = Examples(TEXTS, pairs, np.arange(25), list(range(1, 26)), "x.csv")
    first, second = encode(examples, tokenizer, 16), encode(examples, tokenizer, 16)
    assert len(counted) == 1
    np.testing.assert_array_equal(first.tokens, second.tokens)
    np.testing.assert_array_equal(first.offsets, second.offsets)
    np.testing.assert_array_equal(first.token_type_ids, second.token_type_ids)
    assert (first.cut, first.pad_token) == (second.cut, second.pad_token)
    encode(examples, tokenizer, 16, fresh=True)
    assert len(counted) == 2


def test_other_texts_lengths_and_tokenizers_have_other_tokens(tokenizer, counted, tmp_path):
    from tokenizers import AddedToken
    from transformers import AutoTokenizer

    def examples(texts, pairs=None):
        return Examples(texts, pairs, None, [], "x.csv")

    tokenizer.save_pretrained(tmp_path)
    other = AutoTokenizer.from_pretrained(tmp_path)
    other.add_tokens([AddedToken("more")])
    encode(examples(TEXTS), tokenizer, 16)
    for changed, used, most in [
        (examples(TEXTS), tokenizer, 17),
        (examples(TEXTS), other, 16),
        (examples([*TEXTS[:-1], TEXTS[-1] + "s"]), tokenizer, 16),
        (examples([TEXTS[0] + TEXTS[1], "", *TEXTS[2:]]), tokenizer, 16),
        (examples(TEXTS, PAIRS), tokenizer, 16),
        (examples(TEXTS, [""] * 25), tokenizer, 16),
    ]:
        before = len(counted)
        encode(changed, used, most)
        assert len(counted) == before + 1


def test_few_rows_are_not_cached(tokenizer):
    encode(Examples(TEXTS, None, None, [], "x.csv"), tokenizer, 16)
    home = encoding.cache.folder()
    assert home is not None
    assert not home.exists()
