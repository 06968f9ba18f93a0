"""Examples into token numbers, once, kept ragged: padding is the batch's business."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from pippin import cache
from pippin.data.dataset import Examples

#: Texts handed to the tokenizer at a time.
_CHUNK = 10_000
#: From this many rows on reading tokens back is quicker than making them, the hash of the texts included.
_CACHED_ROWS = 1_000


@dataclass(frozen=True)
class Encoded:
    """The tokens of all rows end to end; row i is at offsets[i]:offsets[i + 1]."""

    tokens: np.ndarray
    segments: np.ndarray | None
    """token_type_ids, for models that have them."""
    offsets: np.ndarray
    labels: np.ndarray | None
    cut: int = 0
    """How many rows were longer than the limit."""
    unknown: float = 0.0
    """Share of the tokens that the tokenizer did not know."""
    pad_token: int = 0
    pad_left: bool = False
    """Whether the model wants its padding before the text."""
    origin: str = ""
    """Where the rows stand, such as the name of a file; empty for texts of a program."""
    rows: Sequence[int] = ()
    """Their numbers there."""

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)


@dataclass(frozen=True)
class EncodedSplits:
    """The tokens of every split that the job reads."""

    train: Encoded | None
    validation: dict[str, Encoded]
    test: dict[str, Encoded]

    def all(self) -> list[Encoded]:
        return [*([self.train] if self.train else []), *self.validation.values(), *self.test.values()]

    def fingerprint(self) -> str:
        """Changes with any token or label that training or its evaluations see."""
        digest = hashlib.sha256()
        for split in [*([self.train] if self.train else []), *self.validation.values()]:
            for array in (split.tokens, split.offsets, split.segments, split.labels):
                digest.update(b"-" if array is None else np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()


def encode(examples: Examples, tokenizer: Any, max_length: int, fresh: bool = False) -> Encoded:
    """Tokenise with truncation to max_length, as `tokenizer(text, pair)` does.

    Tokens of many rows are kept from run to run, by content; ``fresh`` makes them anew.
    """
    key = _cache_key(examples, tokenizer, max_length) if len(examples) >= _CACHED_ROWS else None
    arrays = cache.get(key) if key and not fresh else None
    if arrays is None:
        arrays = _tokenise(examples, tokenizer, max_length)
        if key:
            cache.put(key, arrays)
    tokens = arrays["tokens"]
    return Encoded(
        tokens,
        arrays.get("segments"),
        arrays["offsets"],
        examples.labels,
        int(arrays["cut"]),
        unknown=float((tokens == tokenizer.unk_token_id).mean()) if tokenizer.unk_token_id is not None else 0.0,
        pad_token=tokenizer.pad_token_id or 0,
        pad_left=tokenizer.padding_side == "left",
        origin=examples.origin,
        rows=examples.rows,
    )


def _tokenise(examples: Examples, tokenizer: Any, max_length: int) -> dict[str, np.ndarray]:
    tokens: list[np.ndarray] = []
    segments: list[np.ndarray] = []
    lengths: list[int] = []
    cut = 0
    has_segments = "token_type_ids" in tokenizer.model_input_names
    nothing = _stand_in(tokenizer)
    for start in range(0, len(examples), _CHUNK):
        stop = start + _CHUNK
        batch = tokenizer(
            examples.texts[start:stop],
            examples.pairs[start:stop] if examples.pairs is not None else None,
            truncation=True,
            max_length=max_length,
            return_attention_mask=False,
            return_token_type_ids=has_segments,
        )
        for row in batch["input_ids"]:
            tokens.append(np.asarray(row or [nothing], dtype=np.int32))
            lengths.append(len(tokens[-1]))
        if has_segments:
            segments.extend(np.asarray(row or [0], dtype=np.int32) for row in batch["token_type_ids"])
        cut += _count_cut(batch)
    return {
        "tokens": np.concatenate(tokens),
        "offsets": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        "cut": np.asarray(cut),
        **({"segments": np.concatenate(segments)} if segments else {}),
    }


def _cache_key(examples: Examples, tokenizer: Any, max_length: int) -> str | None:
    """Changes with anything that the tokens depend on. None for tokenizers in Python, which do not tell all of it."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return None
    backend.no_truncation()  # left by the call before, and set anew by the next
    backend.no_padding()
    return cache.key_of(
        "tokens 1",
        version("tokenizers"),
        version("transformers"),
        type(tokenizer).__name__,
        backend.to_str(),
        tokenizer.truncation_side,
        str(getattr(tokenizer, "split_special_tokens", None)),
        " ".join(tokenizer.model_input_names),
        _stand_in(tokenizer),
        max_length,
        *_joined(examples.texts),
        *(_joined(examples.pairs) if examples.pairs is not None else ()),
    )


def _joined(texts: list[str]) -> tuple[str, bytes]:
    """All texts end to end, and where each ends: quicker to hash than one by one."""
    return "".join(texts), np.fromiter(map(len, texts), np.int64, len(texts)).tobytes()


def _stand_in(tokenizer: Any) -> int:
    """What stands for a text without a single token, as control characters may leave: attention to none gives NaN."""
    candidates = (tokenizer.unk_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id)
    return next((number for number in candidates if number is not None), 0)


def _count_cut(batch: Any) -> int:
    """Rows that lost tokens. Only fast tokenizers tell."""
    encodings = getattr(batch, "encodings", None) or []
    return sum(bool(encoding.overflowing) for encoding in encodings)
