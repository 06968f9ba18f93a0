"""BERT's tokenizer without transformers: the same tokens from the same tokenizer.json."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

TOKENIZER, CONFIG = "tokenizer.json", "tokenizer_config.json"
#: Files that go with the tokenizer into a trained model's folder as they are.
_KEPT = (CONFIG, "special_tokens_map.json", "vocab.txt")
_CLASSES = ("BertTokenizer", "BertTokenizerFast")
_SPECIAL = {name: f"[{name[:3].upper()}]" for name in ("pad_token", "unk_token", "cls_token", "sep_token")} | {
    "mask_token": "[MASK]"
}
#: Settings that make no difference to the tokens, or none that is not looked at below.
_HARMLESS = {
    *_SPECIAL,
    "tokenizer_class",
    "model_max_length",
    "do_lower_case",
    "padding_side",
    "truncation_side",
    "strip_accents",
    "tokenize_chinese_chars",
    "name_or_path",
    "special_tokens_map_file",
    "do_basic_tokenize",
    "never_split",
    "added_tokens_decoder",
    "clean_up_tokenization_spaces",
    "extra_special_tokens",
    "backend",
    "is_local",
    "local_files_only",
    "max_length",
    "stride",
    "truncation_strategy",
    "pad_to_multiple_of",
    "pad_token_type_id",
    "model_specific_special_tokens",
}


class Tokens(dict[str, list[list[int]]]):
    """What a call gives: input_ids and token_type_ids by name, and the encodings that they are from."""

    encodings: list[Any]


class OwnTokenizer:
    """As much of transformers' tokenizer as Pippin uses."""

    model_input_names = ("input_ids", "token_type_ids", "attention_mask")
    padding_side = truncation_side = "right"
    bos_token_id = eos_token_id = None

    def __init__(self, backend: Any, model_max_length: int, files: dict[str, bytes]):
        self.backend_tokenizer, self.model_max_length, self._files = backend, model_max_length, files
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
        """The tokenizer's files, as they were read."""
        for name, content in self._files.items():
            (Path(folder) / name).write_bytes(content)


def read_own_tokenizer(folder: Path) -> OwnTokenizer | None:
    """The tokenizer in a folder; None where it is not plainly BERT's, as transformers would make it."""
    from tokenizers import Tokenizer

    try:
        files = {name: (folder / name).read_bytes() for name in (TOKENIZER, *_KEPT) if (folder / name).is_file()}
        settings, whole = json.loads(files[CONFIG]), json.loads(files[TOKENIZER])
        if not _is_plain(settings, whole) or (folder / "added_tokens.json").exists():
            return None
        backend = Tokenizer.from_str(files[TOKENIZER].decode())
    except Exception:  # damaged files raise of every kind: transformers will say so
        return None
    backend.no_padding()
    backend.no_truncation()
    length = settings.get("model_max_length", 10**30)
    return OwnTokenizer(backend, int(length), {**files, TOKENIZER: backend.to_str(pretty=True).encode()})


def _is_plain(settings: dict[str, Any], whole: dict[str, Any]) -> bool:
    """Whether settings and file agree, so that it does not matter which of them a release of transformers follows."""
    vocabulary = whole["model"]["vocab"]
    numbers = {token: vocabulary[token] for token in _SPECIAL.values()}
    expected = {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": settings.get("tokenize_chinese_chars", True),
        "strip_accents": settings.get("strip_accents"),
        "lowercase": settings.get("do_lower_case", True),
    }
    model = {name: value for name, value in whole["model"].items() if name != "vocab"}
    return (
        settings.get("tokenizer_class") in _CLASSES
        and set(settings) <= _HARMLESS
        and all(_content(settings.get(name, token)) == token for name, token in _SPECIAL.items())
        and settings.get("padding_side", "right") == settings.get("truncation_side", "right") == "right"
        and not settings.get("extra_special_tokens")
        and not settings.get("never_split")
        and whole["normalizer"] == expected
        and whole["pre_tokenizer"] == {"type": "BertPreTokenizer"}
        and model
        == {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
        }
        and {token["content"]: token["id"] for token in whole["added_tokens"]} == numbers
        and all(_is_usual(token) for token in whole["added_tokens"])
        and all(_is_usual({"special": True} | token) for token in settings.get("added_tokens_decoder", {}).values())
        and {token["content"] for token in settings.get("added_tokens_decoder", {}).values()} <= set(numbers)
        and _is_usual_template(whole["post_processor"], numbers)
    )


def _content(token: Any) -> Any:
    return token.get("content") if isinstance(token, dict) else token


def _is_usual(token: dict[str, Any]) -> bool:
    return token["special"] is True and not any(token.get(n) for n in ("single_word", "lstrip", "rstrip", "normalized"))


def _is_usual_template(found: dict[str, Any], numbers: dict[str, int]) -> bool:
    """[CLS] A [SEP], or [CLS] A [SEP] B [SEP] with B as the second segment."""

    def special(token: str, segment: int) -> dict[str, Any]:
        return {"SpecialToken": {"id": token, "type_id": segment}}

    def text(name: str, segment: int) -> dict[str, Any]:
        return {"Sequence": {"id": name, "type_id": segment}}

    single = [special("[CLS]", 0), text("A", 0), special("[SEP]", 0)]
    ids = {name: entry["ids"] for name, entry in found["special_tokens"].items()}
    return (
        found["type"] == "TemplateProcessing"
        and found["single"] == single
        and found["pair"] == [*single, text("B", 1), special("[SEP]", 1)]
        and ids == {token: [numbers[token]] for token in ("[CLS]", "[SEP]")}
    )
