"""Chats as text, by the model's chat template, and which characters of it are learnt.

A template may mark its answers itself ({% generation %}). Else an answer is what a chat up to it has beyond the prompt
that asks for it; a template whose prompt is no beginning of that chat cannot be learnt from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from os.path import commonprefix
from pathlib import Path
from typing import Any, Literal

from pippin.errors import PippinError, readable, shown
from pippin.tasks.language.chats import ASSISTANT, USER, Chat

#: What is learnt of a chat: everything, all answers, or the last answer.
Learn = Literal["all", "answers", "last"]
#: The shortest chat.
_SAMPLE = Chat(({"role": USER, "content": "A?"}, {"role": ASSISTANT, "content": "B."}))
_MARK = re.compile(r"\{%-?\s*generation\s*-?%\}")
#: For models that come without a template: it says who speaks, and ends answers with the model's end token.
PLAIN_TEMPLATE = (
    "{{ bos_token or '' }}"
    "{% for message in messages %}"
    "{% if message['role'] == 'assistant' %}"
    "{{ 'Assistant:' }}{% generation %}{{ ' ' + message['content'] + eos_token }}{% endgeneration %}{{ '\n\n' }}"
    "{% else %}{{ message['role'] | capitalize + ': ' + message['content'] + '\n\n' }}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}"
)


@dataclass(frozen=True)
class Written:
    """A chat as text."""

    text: str
    learnt: tuple[tuple[int, int], ...]
    """From and to of each stretch that is learnt."""


class NotLearnable(ValueError):
    """Why a template does not show what is to be learnt of a chat."""


def has_template(tokenizer: Any) -> bool:
    return bool(getattr(tokenizer, "chat_template", None))


def read_template(path: str) -> str:
    """A template out of a file that the user named."""
    file = Path(path)
    if not file.is_file():
        raise PippinError(f"--chat_template {path}: there is no such file.")
    with readable(file):
        return file.read_text(encoding="utf-8")


def give_template(tokenizer: Any, asked: str) -> tuple[str, ...]:
    """See to it that a tokenizer has a chat template, which is saved with the model; what was done is said."""
    if asked:
        tokenizer.chat_template = asked
    if has_template(tokenizer):
        return ()
    if tokenizer.eos_token is None:
        raise PippinError(
            "the model has no chat template, and its tokenizer no end token to make one with. Name a template: "
            "--chat_template FILE"
        )
    tokenizer.chat_template = PLAIN_TEMPLATE
    return (
        "the model has no chat template, so it gets a plain one: User: …, Assistant: … It is saved with the model.",
    )


def marks_answers(tokenizer: Any) -> bool:
    """Whether the template itself says which of its text are answers."""
    template = tokenizer.chat_template
    texts = template.values() if isinstance(template, dict) else [template]
    return any(_MARK.search(text) for text in texts)


def write(chat: Chat, tokenizer: Any, learn: Learn) -> list[Written]:
    """A chat as one text, or where the template rewrites what came before as one for each answer that is learnt.

    Where the template ends an answer with no token of its own, the end token follows, so that a model learns to stop.
    """
    return [_with_end(written, tokenizer) for written in _written(chat, tokenizer, learn)]


def adds_end(tokenizer: Any) -> bool:
    """Whether ``write`` puts an end token after answers."""
    try:
        return any(written != _with_end(written, tokenizer) for written in _written(_SAMPLE, tokenizer, "last"))
    except NotLearnable:
        return False


def _with_end(written: Written, tokenizer: Any) -> Written:
    *others, (start, stop) = written.learnt
    ends = tuple(special_tokens(tokenizer))
    if tokenizer.eos_token is None or stop < len(written.text) or written.text.rstrip().endswith(ends):
        return written
    text = written.text + tokenizer.eos_token
    return Written(text, (*others, (start, len(text))))


def _written(chat: Chat, tokenizer: Any, learn: Learn) -> list[Written]:
    if learn == "all":
        text = _render(chat, tokenizer)
        return [Written(text, ((0, len(text)),))]
    answers = chat.answers if learn == "answers" else chat.answers[-1:]
    whole = _render(chat, tokenizer)
    spans = [_span(chat, place, whole, tokenizer) for place in answers]
    if all(spans):
        return [Written(whole, tuple(span for span in spans if span))]
    return [found for place in answers for found in _alone(chat, place, tokenizer)]


def prompt_of(messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]], tokenizer: Any) -> str:
    """What a model is given so that it answers."""
    return _render(Chat(tuple(messages), tuple(tools)), tokenizer, add_generation_prompt=True)


def _alone(chat: Chat, place: int, tokenizer: Any) -> Iterator[Written]:
    """The chat up to an answer, of which that answer is learnt."""
    part = replace(chat, messages=chat.messages[: place + 1])
    whole = _render(part, tokenizer)
    span = _span(part, place, whole, tokenizer)
    assert span is not None
    yield Written(whole, (span,))


def _span(chat: Chat, place: int, whole: str, tokenizer: Any) -> tuple[int, int] | None:
    """Where an answer stands in the whole; None where the template writes it otherwise when more follows."""
    prompt = _render(replace(chat, messages=chat.messages[:place]), tokenizer, add_generation_prompt=True)
    turn = whole
    if place + 1 < len(chat.messages):
        turn = _render(replace(chat, messages=chat.messages[: place + 1]), tokenizer)
    if not turn.startswith(prompt):
        raise NotLearnable(_difference(prompt, turn))
    common = len(commonprefix([turn, whole]))
    special = special_tokens(tokenizer)
    for token in special:  # two of them may begin alike
        start = turn.rfind(token, 0, common + len(token) - 1)
        if start < common < start + len(token):
            common = start
    only_where_it_ends = turn[common:]
    for token in special:
        only_where_it_ends = only_where_it_ends.replace(token, "")
    return None if only_where_it_ends.strip() else (len(prompt), common)


def special_tokens(tokenizer: Any) -> set[str]:
    """Tokens that mean something beside their letters, those without a role among them."""
    added = getattr(tokenizer, "added_tokens_decoder", {}).values()
    return {*tokenizer.all_special_tokens, *(str(token) for token in added if token.special)}


def _difference(prompt: str, turn: str) -> str:
    place = next(
        (place for place, (one, other) in enumerate(zip(prompt, turn, strict=False)) if one != other), len(turn)
    )
    return (
        "the model's chat template writes a prompt that is not how the whole chat begins, so the answer cannot be told "
        f"from it: the prompt goes on with {shown(prompt[place : place + 40])}, the chat with "
        f"{shown(turn[place : place + 40])}"
    )


def _render(chat: Chat, tokenizer: Any, **settings: Any) -> str:
    from jinja2.exceptions import TemplateError

    try:
        return tokenizer.apply_chat_template(
            list(chat.messages), tools=list(chat.tools) or None, tokenize=False, **settings
        )
    except TemplateError as error:
        raise NotLearnable(f"the model's chat template refuses it: {error}") from None
