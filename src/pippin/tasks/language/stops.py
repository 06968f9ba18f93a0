"""The tokens at which a model has said all."""

from __future__ import annotations

from typing import Any

from pippin.tasks.language.chats import ASSISTANT, USER, Chat
from pippin.tasks.language.templates import NotLearnable, has_template, special_tokens, write

_ASKED = {"role": USER, "content": "A?"}
_ANSWERED = {"role": ASSISTANT, "content": "B."}


def stop_tokens(tokenizer: Any, config: Any = None) -> list[int]:
    """The end token, those of a model's ``config`` for generation, and what the chat template ends an answer with."""
    found = [tokenizer.eos_token_id, *_listed(getattr(config, "eos_token_id", None)), _end_of_turn(tokenizer)]
    return list(dict.fromkeys(token for token in found if token is not None))


def _end_of_turn(tokenizer: Any) -> int | None:
    if not has_template(tokenizer):
        return None
    try:
        (written,) = write(Chat((_ASKED, _ANSWERED)), tokenizer, "last")
    except NotLearnable:
        return None
    start, end = written.learnt[0]
    ids = tokenizer(written.text[start:end], add_special_tokens=False)["input_ids"]
    special = {tokenizer.convert_tokens_to_ids(token) for token in special_tokens(tokenizer)}
    return next((token for token in reversed(ids) if token in special), None)


def _listed(value: Any) -> list[int]:
    return list(value) if isinstance(value, (list, tuple)) else [] if value is None else [value]
