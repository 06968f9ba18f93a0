"""BERT's tokenizer: the same tokens from the same tokenizer.json."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pippin.models.safety import TOKENIZER_CONFIG

TOKENIZER = "tokenizer.json"
_TOKENS_MAP, _ADDED_TOKENS = "special_tokens_map.json", "added_tokens.json"  # older releases of transformers read them
_CLASSES = ("BertTokenizer", "BertTokenizerFast")
_SPECIAL = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
#: Settings that must have one of these values, where they are there.
_USUAL: dict[str, tuple[Any, ...]] = {
    "padding_side": ("right",),
    "truncation_side": ("right",),
    "do_basic_tokenize": (True,),
    "never_split": (None, []),
    "extra_special_tokens": (None, {}, []),
    "model_specific_special_tokens": (None, {}),
}
#: Paths on the computer of whoever saved it.
_NOT_SAVED = ("name_or_path", "special_tokens_map_file")
#: Settings that make no difference to the tokens, or that are compared with tokenizer.json.
_HARMLESS = {
    *_SPECIAL, *_USUAL, *_NOT_SAVED, "tokenizer_class", "model_max_length", "do_lower_case", "strip_accents",
    "tokenize_chinese_chars", "added_tokens_decoder", "clean_up_tokenization_spaces", "backend", "is_local",
    "local_files_only", "max_length", "stride", "truncation_strategy", "pad_to_multiple_of", "pad_token_type_id",
}  # fmt: skip
_FLAGS = ("single_word", "lstrip", "rstrip", "normalized")
_WORD_PIECE = {
    "type": "WordPiece",
    "unk_token": "[UNK]",
    "continuing_subword_prefix": "##",
    "max_input_chars_per_word": 100,
}


class Tokens(dict[str, list[list[int]]]):
    """input_ids and token_type_ids, and the encodings that they are from."""

    encodings: list[Any]


class PlainBertTokenizer:
    """As much of transformers' tokenizer as Pippin uses."""

    model_input_names = ("input_ids", "token_type_ids", "attention_mask")
    padding_side = truncation_side = "right"
    bos_token_id = eos_token_id = None
    sep_token = _SPECIAL["sep_token"]

    def __init__(self, backend: Any, settings: dict[str, Any]):
        self.backend_tokenizer, self.settings = backend, settings
        self.model_max_length = int(settings.get("model_max_length", 10**30))
        self.pad_token_id = backend.token_to_id(_SPECIAL["pad_token"])
        self.unk_token_id = backend.token_to_id(_SPECIAL["unk_token"])

    def __call__(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None = None,
        truncation: bool = False,
        max_length: int | None = None,
        **_: Any,
    ) -> Tokens:
        if truncation and max_length is not None:
            self.backend_tokenizer.enable_truncation(max_length)
        else:
            self.backend_tokenizer.no_truncation()
        rows = list(texts) if pairs is None else list(zip(texts, pairs, strict=True))
        found = self.backend_tokenizer.encode_batch(rows)
        tokens = Tokens(input_ids=[row.ids for row in found], token_type_ids=[row.type_ids for row in found])
        tokens.encodings = found
        return tokens

    def save_pretrained(self, folder: str | Path) -> None:
        self.backend_tokenizer.no_truncation()  # left by the last call
        self.backend_tokenizer.save(str(Path(folder, TOKENIZER)))
        kept = {name: value for name, value in self.settings.items() if name not in _NOT_SAVED}
        Path(folder, TOKENIZER_CONFIG).write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")


def read_tokenizer(folder: Path) -> PlainBertTokenizer | None:
    """The tokenizer in a folder; None where it is not plainly BERT's, as any transformers would make it."""
    from tokenizers import Tokenizer

    try:
        text = (folder / TOKENIZER).read_text(encoding="utf-8")
        settings = json.loads((folder / TOKENIZER_CONFIG).read_text(encoding="utf-8"))
        tokens = folder / _TOKENS_MAP
        others = json.loads(tokens.read_text(encoding="utf-8")) if tokens.exists() else {}
        if (folder / _ADDED_TOKENS).exists() or not (_is_plain(json.loads(text), settings) and _are_usual(others)):
            return None
        backend = Tokenizer.from_str(text)
        backend.no_padding()
        return PlainBertTokenizer(backend, settings)
    except Exception:  # damaged files raise of every kind: transformers will say what is wrong
        return None


def _is_plain(whole: dict[str, Any], settings: dict[str, Any]) -> bool:
    """Whether file and settings agree, so that it does not matter which of them a release of transformers follows."""
    vocabulary = whole["model"]["vocab"]
    numbers = {token: vocabulary[token] for token in _SPECIAL.values()}
    decoder = settings.get("added_tokens_decoder", {})
    return (
        settings.get("tokenizer_class") in _CLASSES
        and set(settings) <= _HARMLESS
        and all(settings.get(name, values[0]) in values for name, values in _USUAL.items())
        and _are_usual({name: settings[name] for name in _SPECIAL if name in settings})
        and whole["normalizer"]
        == {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": settings.get("tokenize_chinese_chars", True),
            "strip_accents": settings.get("strip_accents"),
            "lowercase": settings.get("do_lower_case", True),
        }
        and whole["pre_tokenizer"] == {"type": "BertPreTokenizer"}
        and {name: value for name, value in whole["model"].items() if name != "vocab"} == _WORD_PIECE
        and {_text(token): token["id"] for token in whole["added_tokens"]} == numbers
        and all(numbers.get(_text(token)) == int(number) for number, token in decoder.items())
        and all(token["special"] is True for token in (*whole["added_tokens"], *decoder.values()))
        and _is_usual_template(whole["post_processor"], numbers)
    )


def _are_usual(tokens: dict[str, Any]) -> bool:
    """Whether special tokens, by what they are for, are BERT's."""
    return all(_SPECIAL.get(name) == _text(token) for name, token in tokens.items())


def _text(token: Any) -> Any:
    """A token's text; None where it is found in other ways than BERT's are."""
    if not isinstance(token, dict):
        return token
    return None if any(token.get(flag) for flag in _FLAGS) else token["content"]


def _is_usual_template(found: dict[str, Any], numbers: dict[str, int]) -> bool:
    """[CLS] A [SEP], or [CLS] A [SEP] B [SEP] with B as the second segment."""

    def piece(kind: str, name: str, segment: int) -> dict[str, Any]:
        return {kind: {"id": name, "type_id": segment}}

    single = [piece("SpecialToken", "[CLS]", 0), piece("Sequence", "A", 0), piece("SpecialToken", "[SEP]", 0)]
    return (
        found["type"] == "TemplateProcessing"
        and found["single"] == single
        and found["pair"] == [*single, piece("Sequence", "B", 1), piece("SpecialToken", "[SEP]", 1)]
        and {name: entry["ids"] for name, entry in found["special_tokens"].items()}
        == {token: [numbers[token]] for token in ("[CLS]", "[SEP]")}
    )
