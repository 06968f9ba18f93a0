"""Whether a tokenizer knows the script of the texts: words that it knows are made of few tokens.

A tokenizer made for English has the letters of many scripts, and hardly a word in them: no token is unknown, and still
the model reads letters that it has learnt nothing about.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any

#: Rows that are looked at, the characters of each, and words of each script.
_ROWS, _CHARACTERS, _WORDS = 200, 400, 500
#: Shorter words of letters are few tokens in any language.
_SHORTEST = 3
#: Share of the rows that must be written in a script: foreign names among the rest tell nothing.
_LEAST_SHARE = 0.05
#: Share of a script's characters in unknown tokens from which on too much is lost.
_MANY_UNKNOWN = 0.1
#: Characters of a script without which its words tell nothing of their length in tokens.
_FEWEST = 30
#: Tokens a letter from which on words fall into letters. English has about 0.2, a language that is known less well 0.5.
_LETTERS = 0.8
#: The same where a character is a syllable or a word: one token for each is normal, and several are its bytes.
_SYLLABLES = 1.5
CHINESE, JAPANESE, KOREAN = "Chinese", "Japanese", "Korean"
#: By the first word of a character's Unicode name, where that does not name its script.
_GROUPS = {
    "CJK": CHINESE,
    "IDEOGRAPHIC": CHINESE,
    "HIRAGANA": JAPANESE,
    "KATAKANA": JAPANESE,
    "KATAKANA-HIRAGANA": JAPANESE,
    "HANGUL": KOREAN,
}
_SYLLABIC = {CHINESE, JAPANESE, KOREAN, "Bopomofo", "Ethiopic", "Yi", "Cherokee", "Vai"}
#: A tokenizer that cuts these into letters does so by design.
_ENGLISH = ("because", "different", "morning", "people", "question", "something", "through", "without")
#: What to do about it.
OTHER_MODELS = (
    "Expect poor results. Choose a model for this language, or a multilingual one: "
    "--model FacebookAI/xlm-roberta-base or --model google-bert/bert-base-multilingual-cased."
)
#: The space before a word, where it is a token of its own: SentencePiece's, byte-level tokenizers', and as it is.
_SPACES = ("\u2581", "\u0120", " ")
_LATIN_WORD = re.compile(r"[A-Za-z]+")


@dataclass
class _Found:
    """What a tokenizer makes of the words of one script."""

    characters: int = 0
    tokens: int = 0
    unknown: float = 0.0
    """Characters in unknown tokens."""


def unfamiliar(texts: Sequence[str], tokenizer: Any) -> str | None:
    """What is wrong where a tokenizer does not know the scripts that some of these texts are written in; else None."""
    by_script = _words_by_script([text[:_CHARACTERS] for text in texts[:: len(texts) // _ROWS + 1]])
    problems = (_problem(script, words, tokenizer) for script, words in by_script.items())
    return "; ".join(filter(None, problems)) or None


def _problem(script: str, words: Sequence[str], tokenizer: Any) -> str:
    """What a tokenizer makes of the words of a script, where it does not know it."""
    found = _judged(words[:: len(words) // _WORDS + 1], tokenizer)
    name = f"{script} text" if script in (CHINESE, JAPANESE, KOREAN) else f"text in {script} script"
    if found.unknown > _MANY_UNKNOWN * found.characters:
        return f"{found.unknown / found.characters:.0%} of the {name} is unknown to the model's tokenizer"
    each = found.tokens / max(found.characters, 1)
    falls_apart = each > (_SYLLABLES if script in _SYLLABIC else _LETTERS)
    if found.characters < _FEWEST or not falls_apart or _cuts_english(tokenizer):
        return ""
    pieces = f"{each:.1f} tokens per character" if each > _SYLLABLES else "single letters"
    return f"the model's tokenizer does not know the words of the {name}: it cuts them into {pieces}"


def _words_by_script(texts: Sequence[str]) -> dict[str, list[str]]:
    """Words of each script that enough of the texts are mainly written in. Chinese characters may be Japanese."""
    found: dict[str, list[str]] = {}
    rows: Counter[str] = Counter()
    for text in texts:
        letters: Counter[str] = Counter()
        for script, word in _words(text):
            letters[script] += len(word)
            if len(word) >= _SHORTEST or script in _SYLLABIC:
                found.setdefault(script, []).append(word)
        rows.update(script for script, _ in letters.most_common(1))
    if JAPANESE in found:
        found[JAPANESE] += found.pop(CHINESE, [])
        rows[JAPANESE] += rows.pop(CHINESE, 0)
    return {script: words for script, words in found.items() if rows[script] > _LEAST_SHARE * len(texts)}


def _words(text: str) -> Iterator[tuple[str, str]]:
    if text.isascii():
        yield from (("Latin", word) for word in _LATIN_WORD.findall(text))
        return
    for script, letters in groupby(_with_marks(text), key=lambda each: each[0]):
        if script:
            yield script, "".join(letter for _, letter in letters)


def _with_marks(text: str) -> Iterator[tuple[str, str]]:
    """Each character with its script, which is empty for what is no letter; marks go with the letter before."""
    last = ""
    for letter in text:
        script = _script(letter)
        last = last if script is None else script
        yield last, letter


@lru_cache(maxsize=8192)
def _script(letter: str) -> str | None:
    """The script of a letter; empty for what is no letter, None for a mark upon the one before."""
    category = unicodedata.category(letter)
    if category.startswith("M"):
        return None
    if not category.startswith("L"):
        return ""
    first = unicodedata.name(letter, "").split(" ")[0]
    return _GROUPS.get(first, first.title())


def _judged(words: Sequence[str], tokenizer: Any) -> _Found:
    found = _Found()
    for word, tokens in zip(words, _tokens(words, tokenizer), strict=True):
        unknown = sum(token == tokenizer.unk_token_id for token in tokens)
        found.characters += len(word)
        found.tokens += len(tokens)
        found.unknown += len(word) * unknown / len(tokens) if tokens else 0
    return found


def _tokens(words: Sequence[str], tokenizer: Any) -> Iterator[list[int]]:
    """The tokens of each word as in the middle of a sentence, but for the space before it."""
    backend, texts = getattr(tokenizer, "backend_tokenizer", None), [f" {word}" for word in words]
    if backend is None:  # a tokenizer in Python
        rows = [tokenizer.convert_tokens_to_ids(tokenizer.tokenize(text)) for text in texts]
        spaces = set(tokenizer.convert_tokens_to_ids(list(_SPACES)))
    else:
        backend.no_truncation()  # left by the call before, and set anew by the next
        backend.no_padding()
        rows = [row.ids for row in backend.encode_batch(texts, add_special_tokens=False)]
        spaces = set(map(backend.token_to_id, _SPACES))
    spaces.discard(tokenizer.unk_token_id)
    return ([token for token in row if token not in spaces] for row in rows)


def _cuts_english(tokenizer: Any) -> bool:
    """Whether a token is a letter or a byte by design."""
    found = _judged(_ENGLISH, tokenizer)
    return found.tokens > _LETTERS * found.characters
