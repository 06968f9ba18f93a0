"""A tokenizer under the keys of GGUF: byte pairs as of GPT-2, or pieces as of SentencePiece."""

from __future__ import annotations

import json
import re
from typing import Any

from pippin.errors import PippinError

#: Kinds of tokens.
NORMAL, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 3, 4, 5, 6
_GPT_2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_SINCE_GPT_4 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_CAPITALS, _SMALL = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
_TEKKEN = (
    rf"[^\r\n\p{{L}}\p{{N}}]?[{_CAPITALS}]*[{_SMALL}]+|[^\r\n\p{{L}}\p{{N}}]?[{_CAPITALS}]+[{_SMALL}]*|\p{{N}}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_DIGIT = r"\p{N}"
#: How texts are cut before bytes are paired, and whether a piece that is a token stays whole: GGUF's name for each.
_CUTS = {
    ((_GPT_2,), False): "gpt-2",
    ((_DIGIT, _GPT_2), False): "smollm",
    ((_SINCE_GPT_4.format(digits=r"\p{N}"),), False): "qwen2",
    ((_SINCE_GPT_4.format(digits=r"\p{N}{1,3}"),), True): "llama-bpe",
    ((_TEKKEN,), True): "tekken",
}
_BYTE = re.compile(r"<0x[0-9A-F]{2}>")
_INSTEAD = "Use --to merged, and the converter of the program that is to read it."


def check_tokenizer(tokenizer: Any, size: int) -> None:
    _kind_of(_parts(tokenizer))
    if max(tokenizer.get_vocab().values()) >= size:
        raise PippinError(f"--to gguf: the tokenizer has more tokens than the model, which knows {size}. {_INSTEAD}")


def vocabulary_of(tokenizer: Any, size: int, stops: list[int]) -> dict[str, Any]:
    """Everything that a reader needs to make tokens of texts, and prompts of chats."""
    parts = _parts(tokenizer)
    kind, cut = _kind_of(parts)
    tokens, types = _tokens(tokenizer, size)
    found: dict[str, Any] = {"ggml.model": kind, "ggml.pre": cut, "ggml.tokens": tokens, "ggml.token_type": types}
    merges = [tuple(pair.split(" ")) if isinstance(pair, str) else tuple(pair) for pair in parts["model"]["merges"]]
    if kind == "gpt2":
        found["ggml.merges"] = [" ".join(pair) for pair in merges]
    else:
        found["ggml.scores"] = _scores(tokens, merges)
        found["ggml.add_space_prefix"] = tokenizer.tokenize("a")[:1] != ["a"]
    names = {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}
    for short, name in names.items():
        if (number := getattr(tokenizer, f"{short}_token_id")) is not None:
            found[f"ggml.{name}_token_id"] = number
    if others := [stop for stop in stops if stop != tokenizer.eos_token_id]:
        found["ggml.eot_token_id"] = others[-1]  # that of a turn of the chat comes last
    ids = tokenizer("a")["input_ids"]
    found["ggml.add_bos_token"] = ids[:1] == [tokenizer.bos_token_id]
    found["ggml.add_eos_token"] = ids[-1:] == [tokenizer.eos_token_id]
    if template := _template(tokenizer):
        found["chat_template"] = template
    return {f"tokenizer.{name}": value for name, value in found.items()}


def _parts(tokenizer: Any) -> dict[str, Any]:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return json.loads(backend.to_str()) if backend is not None else {"model": {}}


def _kind_of(parts: dict[str, Any]) -> tuple[str, str]:
    """GGUF's names for the way of making tokens, and for that of cutting texts before."""
    model = parts["model"]
    if model.get("type") == "BPE" and model.get("byte_fallback"):
        return "llama", "default"
    cuts = tuple(_cuts(parts.get("pre_tokenizer") or {}))
    name = _CUTS.get((cuts, bool(model.get("ignore_merges"))))
    is_plain = (parts.get("normalizer") or {}).get("type") in (None, "NFC")
    if model.get("type") != "BPE" or not is_plain or name is None:
        raise PippinError(
            f"--to gguf: the model's tokenizer ({model.get('type', 'not a fast one')}) cuts texts in a way for which "
            f"GGUF has no name that Pippin knows. {_INSTEAD}"
        )
    return "gpt2", name


def _cuts(cutter: dict[str, Any]) -> list[str]:
    """The patterns by which a text is cut, one after the other."""
    kind = cutter.get("type")
    if kind == "Sequence":
        return [cut for part in cutter["pretokenizers"] for cut in _cuts(part)]
    if kind == "Split" and cutter["behavior"] == "Isolated" and not cutter["invert"]:
        return [cutter["pattern"].get("Regex", "")]
    if kind == "Digits":
        return [_DIGIT if cutter["individual_digits"] else "digits"]
    if kind == "ByteLevel":
        return [_GPT_2] * cutter["use_regex"] + ["a space before"] * cutter["add_prefix_space"]
    return [str(kind)]


def _tokens(tokenizer: Any, size: int) -> tuple[list[str], list[int]]:
    """Each number's token and its kind; a model may know more numbers than there are tokens."""
    tokens, types = [f"[PAD{number}]" for number in range(size)], [UNUSED] * size
    for token, number in tokenizer.get_vocab().items():
        tokens[number], types[number] = token, BYTE if _BYTE.fullmatch(token) else NORMAL
    for number, added in tokenizer.added_tokens_decoder.items():
        tokens[number] = added.content
        types[number] = CONTROL if added.special else USER_DEFINED
    return tokens, types


def _scores(tokens: list[str], merges: list[tuple[str, ...]]) -> list[float]:
    """Pieces are put together by the highest score first: the order of the merges, counted down."""
    ranks: dict[str, float] = {}
    for rank, pair in enumerate(merges):
        ranks.setdefault("".join(pair), -float(rank))
    return [ranks.get(token, 0.0) for token in tokens]


def _template(tokenizer: Any) -> str | None:
    found = tokenizer.chat_template
    return found.get("default") if isinstance(found, dict) else found
