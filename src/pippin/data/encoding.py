"""Examples into token numbers, once, kept ragged: padding is the batch's business."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import chain
from typing import Any

import numpy as np

from pippin import cache
from pippin.data.examples import SEPARATOR, Examples

#: Texts handed to the tokenizer at a time, and their characters: what it makes of each takes fifty times its room.
_CHUNK, _CHARACTERS = 10_000, 2**19
#: Numbers that are hashed at a time.
_BLOCK = 2**20
#: From this many rows on reading tokens back is quicker than making them, the hash of the texts included.
_CACHED_ROWS = 1_000


@dataclass(frozen=True)
class Encoded:
    """The tokens of all rows end to end; row i is at offsets[i]:offsets[i + 1]."""

    tokens: np.ndarray
    token_type_ids: np.ndarray | None
    offsets: np.ndarray
    labels: np.ndarray | None
    """For each row a number or a line of numbers, or a number for each token."""
    cut: int = 0
    """How many rows were longer than the limit."""
    pad_token: int = 0
    pad_left: bool = False
    """Whether the model wants its padding before the text."""
    origin: str = ""
    """Where the rows stand, such as the name of a file; empty for texts of a program."""
    rows: Sequence[int] = ()
    """Their numbers there."""
    per_token: bool = False
    """Whether labels are of tokens."""
    notes: tuple[str, ...] = ()
    """What was found while tokenising that the user should know."""
    example: tuple[str, tuple[tuple[int, int, str], ...]] | None = None
    """A row as the model reads it, with stretches of it marked, where that is worth a look."""

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
            for values in (split.tokens, split.offsets, split.token_type_ids, split.labels):
                if values is None:
                    digest.update(b"-")
                    continue
                for start in range(0, len(values), _BLOCK):
                    digest.update(values[start : start + _BLOCK].tobytes())
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
        arrays.get("token_type_ids"),
        arrays["offsets"],
        examples.labels,
        int(arrays["cut"]),
        pad_token=tokenizer.pad_token_id or 0,
        pad_left=tokenizer.padding_side == "left",
        origin=examples.origin,
        rows=examples.rows,
    )


def separator(tokenizer: Any) -> str:
    """What stands between the texts of a row, where it has more than two."""
    return f"{tokenizer.sep_token} " if tokenizer.sep_token else "\n"


def _tokenise(examples: Examples, tokenizer: Any, max_length: int) -> dict[str, np.ndarray]:
    tokens: list[np.ndarray] = []
    token_type_ids: list[np.ndarray] = []
    lengths = array("q")
    cut = 0
    has_token_types = "token_type_ids" in tokenizer.model_input_names
    nothing, between = stand_in(tokenizer), separator(tokenizer)
    for part in portions(examples.texts, examples.pairs):
        batch = tokenizer(
            examples.texts[part],
            None if examples.pairs is None else [text.replace(SEPARATOR, between) for text in examples.pairs[part]],
            truncation=True,
            max_length=max_length,
            return_attention_mask=False,
            return_token_type_ids=has_token_types,
        )
        lengths.extend(len(row) or 1 for row in batch["input_ids"])
        tokens.append(_flat(batch["input_ids"], nothing, np.int32))
        if has_token_types:
            token_type_ids.append(_flat(batch["token_type_ids"], 0, np.uint8))
        # Rows that lost tokens; only fast tokenizers tell.
        cut += sum(bool(encoding.overflowing) for encoding in getattr(batch, "encodings", None) or [])
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return {
        "tokens": _end_to_end(tokens),
        "offsets": offsets,
        "cut": np.asarray(cut),
        **({"token_type_ids": _end_to_end(token_type_ids)} if token_type_ids else {}),
    }


def portions(*columns: list[str] | None) -> Iterator[slice]:
    """Rows some at a time: no more than so many, and not many characters."""
    given = [column for column in columns if column is not None]
    start = held = 0
    for place, row in enumerate(zip(*given, strict=True)):
        held += sum(map(len, row))
        if held >= _CHARACTERS or place + 1 - start >= _CHUNK:
            yield slice(start, place + 1)
            start, held = place + 1, 0
    if start < len(given[0]):
        yield slice(start, len(given[0]))


def _flat(rows: list[list[int]], nothing: int, kind: Any) -> np.ndarray:
    """The numbers of all rows end to end; a row without any gets one."""
    return np.fromiter(chain.from_iterable(row or (nothing,) for row in rows), kind)


def _end_to_end(parts: list[np.ndarray]) -> np.ndarray:
    """All parts as one array. The list is emptied, so that they are not held twice for longer than it takes."""
    whole = np.concatenate(parts)
    parts.clear()
    return whole


def _cache_key(examples: Examples, tokenizer: Any, max_length: int) -> str | None:
    """Changes with anything that the tokens depend on. None for tokenizers in Python, which do not tell all of it."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return None
    backend.no_truncation()  # left by the call before, and set anew by the next
    backend.no_padding()
    return cache.key_of(
        "tokens 3",
        version("tokenizers"),
        version("transformers"),
        type(tokenizer).__name__,
        backend.to_str(),
        tokenizer.truncation_side,
        str(getattr(tokenizer, "split_special_tokens", None)),
        " ".join(tokenizer.model_input_names),
        stand_in(tokenizer),
        max_length,
        _digest(examples.texts),
        None if examples.pairs is None else _digest(examples.pairs),
    )


def _digest(texts: list[str]) -> bytes:
    """Of all texts and of where each ends: some at a time, for that is quicker than one by one."""
    digest = hashlib.sha256()
    for part in portions(texts):
        digest.update(np.fromiter(map(len, texts[part]), np.int64).tobytes())
        digest.update("".join(texts[part]).encode(errors="surrogatepass"))
    return digest.digest()


def stand_in(tokenizer: Any) -> int:
    """What stands for a text without a single token, as control characters may leave: attention to none gives NaN."""
    candidates = (tokenizer.unk_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id)
    return next((number for number in candidates if number is not None), 0)
