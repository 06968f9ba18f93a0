"""Chats and texts as tokens, each labelled with the token that is to follow it, where that is learnt."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pippin.data.collate import NO_LABEL
from pippin.data.encoding import Encoded, portions
from pippin.data.examples import Examples
from pippin.errors import PippinError
from pippin.tasks.language.chats import Chat
from pippin.tasks.language.templates import Learn, NotLearnable, Written, adds_end, marks_answers, write
from pippin.tasks.parts import Marked

#: Rows that a message names.
_MOST_NAMED = 5
#: What stretches that are learnt are marked with.
LEARNT = "learnt"


@dataclass(frozen=True)
class ChatExamples(Examples):
    """Rows that are chats: texts are the JSON of each."""

    def chat(self, place: int) -> Chat:
        return Chat.from_text(self.texts[place])


@dataclass(frozen=True)
class EncodedText(Encoded):
    """Also which example each row of tokens is, or is a part, of."""

    sources: np.ndarray = field(kw_only=True)

    @property
    def learnt(self) -> int:
        """Tokens that are learnt."""
        assert self.labels is not None
        return int((self.labels != NO_LABEL).sum())


@dataclass(frozen=True)
class _Row:
    ids: Sequence[int]
    learnt: np.ndarray
    """For each token whether it is learnt."""


def encode_text(
    examples: Examples, tokenizer: Any, max_length: int, learn: Learn, notes: tuple[str, ...] = ()
) -> EncodedText:
    """Tokenise chats or texts. A chat is cut at ``max_length``; a longer text goes on in another row.

    Rows of which nothing is left to learn are left out, and named.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise PippinError("Pippin needs a fast tokenizer to train language models. Choose another model.")
    backend.no_truncation()
    backend.no_padding()
    is_chat = isinstance(examples, ChatExamples)
    rows = _chats(examples, tokenizer, learn) if isinstance(examples, ChatExamples) else _texts(examples, tokenizer)
    tokens, labels, lengths, sources = array("i"), array("i"), array("i"), array("i")
    cut, lost = 0, list[int]()
    for place, row in rows:
        parts = [row] if is_chat else list(_parts(row, max_length))
        for part in parts:
            cut += is_chat and len(part.ids) > max_length
            ids, learnt = part.ids[:max_length], part.learnt[1:max_length]
            if not learnt.any():
                lost.append(place)
                continue
            tokens.extend(ids)
            labels.extend(token if is_learnt else NO_LABEL for token, is_learnt in zip(ids[1:], learnt, strict=True))
            labels.append(NO_LABEL)
            lengths.append(len(ids))
            sources.append(place)
    if not lengths:
        raise PippinError(_nothing_left(examples, max_length))
    first = lengths[0]
    return EncodedText(
        np.array(tokens, np.int32),
        None,
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.array(labels, np.int64),
        cut,
        example=example_of(tokens[:first].tolist(), np.array(labels[:first]), tokenizer),
        pad_token=tokenizer.pad_token_id or 0,
        origin=examples.origin,
        rows=[examples.rows[place] for place in sources],
        per_token=True,
        notes=(*notes, *_about_ends(tokenizer, is_chat), *_about_lost(examples, lost, max_length)),
        sources=np.array(sources),
    )


def _chats(examples: ChatExamples, tokenizer: Any, learn: Learn) -> Iterator[tuple[int, _Row]]:
    if learn != "all" and marks_answers(tokenizer):
        for place in range(len(examples)):
            yield place, _marked(examples, place, tokenizer, learn)
        return
    for part in portions(examples.texts):
        written = [
            (place, each)
            for place in range(part.start, part.stop)
            for each in _written(examples, place, tokenizer, learn)
        ]
        encodings = tokenizer.backend_tokenizer.encode_batch(
            [each.text for _, each in written], add_special_tokens=False
        )
        for (place, each), encoding in zip(written, encodings, strict=True):
            yield place, _learnt_tokens(each, encoding, tokenizer)


def _written(examples: ChatExamples, place: int, tokenizer: Any, learn: Learn) -> list[Written]:
    try:
        return write(examples.chat(place), tokenizer, learn)
    except NotLearnable as error:
        raise PippinError(
            f"{examples.origin}, row {examples.rows[place]}: {error}. Choose another model or --chat_template, or "
            "learn everything with --learn all."
        ) from None


def _marked(examples: ChatExamples, place: int, tokenizer: Any, learn: Learn) -> _Row:
    """A chat whose template marks the answers."""
    chat = examples.chat(place)
    found = tokenizer.apply_chat_template(
        list(chat.messages), tools=list(chat.tools) or None, return_dict=True, return_assistant_tokens_mask=True
    )
    mask = np.array(found["assistant_masks"], bool)
    every = [number for number, message in enumerate(chat.messages) if message["role"] == "assistant"]
    wanted = chat.answers if learn == "answers" else chat.answers[-1:]
    if wanted != every:
        starts = np.flatnonzero(mask & ~np.concatenate([[False], mask[:-1]]))
        if len(starts) != len(every):
            raise PippinError(
                f"{examples.origin}, row {examples.rows[place]}: the model's chat template marks {len(starts)} "
                f"stretches of text as answers, and the chat has {len(every)}. To learn all of them: --learn answers"
            )
        run = np.cumsum(mask & ~np.concatenate([[False], mask[:-1]])) - 1  # of each token the answer that it is in
        mask &= np.isin(run, [every.index(number) for number in wanted])
    return _Row(found["input_ids"], mask)


def _learnt_tokens(written: Written, encoding: Any, tokenizer: Any) -> _Row:
    """The tokens within what is learnt. Where one reaches over its edge, the pieces are tokenised one by one.

    So the prompt has the tokens that it will have when the model is asked.
    """
    offsets = np.array(encoding.offsets).reshape(-1, 2)
    learnt = np.zeros(len(offsets), bool)
    for start, end in written.learnt:
        over_edge = (offsets[:, 0] < start) & (offsets[:, 1] > start) | (offsets[:, 0] < end) & (offsets[:, 1] > end)
        if over_edge.any():
            return _in_pieces(written, tokenizer)
        learnt |= (offsets[:, 0] >= start) & (offsets[:, 1] <= end) & (offsets[:, 1] > offsets[:, 0])
    return _Row(encoding.ids, learnt)


def _in_pieces(written: Written, tokenizer: Any) -> _Row:
    edges = [0, *(edge for span in written.learnt for edge in span), len(written.text)]
    ids, learnt = list[int](), list[bool]()
    for number, (start, end) in enumerate(zip(edges, edges[1:], strict=False)):
        own = tokenizer.backend_tokenizer.encode(written.text[start:end], add_special_tokens=False).ids
        ids += own
        learnt += [number % 2 == 1] * len(own)
    return _Row(ids, np.array(learnt, bool))


def _texts(examples: Examples, tokenizer: Any) -> Iterator[tuple[int, _Row]]:
    """Texts with the tokens that the tokenizer puts around them, and an end."""
    end = tokenizer.eos_token_id
    for part in portions(examples.texts):
        encodings = tokenizer.backend_tokenizer.encode_batch(examples.texts[part])
        for place, encoding in enumerate(encodings, part.start):
            ids = encoding.ids if end is None or encoding.ids[-1:] == [end] else [*encoding.ids, end]
            yield place, _Row(ids, np.ones(len(ids), bool))


def _parts(row: _Row, max_length: int) -> Iterator[_Row]:
    """A long text in rows. Each begins with the last token of the one before, so every token is learnt once."""
    for start in range(0, max(len(row.ids) - 1, 1), max_length - 1):
        yield _Row(row.ids[start : start + max_length], row.learnt[start : start + max_length])


def example_of(ids: list[int], labels: np.ndarray, tokenizer: Any) -> Marked:
    """A row as text, and which stretches of it are learnt."""
    learnt = np.concatenate([[False], labels[:-1] != NO_LABEL])
    edges = [0, *(np.flatnonzero(learnt[1:] != learnt[:-1]) + 1).tolist(), len(ids)]
    text, marks = "", list[tuple[int, int, str]]()
    for start, stop in zip(edges, edges[1:], strict=False):
        written = tokenizer.decode(ids[start:stop], clean_up_tokenization_spaces=False)
        if learnt[start]:
            marks.append((len(text), len(text) + len(written), LEARNT))
        text += written
    return Marked(text, tuple(marks))


def _about_ends(tokenizer: Any, is_chat: bool) -> Iterator[str]:
    if is_chat and not marks_answers(tokenizer) and adds_end(tokenizer):
        yield (
            f"the chat template ends answers with no token of its own, so {tokenizer.eos_token} follows the last one: "
            "the model learns to stop there."
        )


def _about_lost(examples: Examples, lost: list[int], max_length: int) -> Iterator[str]:
    if lost:
        named = ", ".join(str(examples.rows[place]) for place in lost[:_MOST_NAMED])
        more = f" and {len(lost) - _MOST_NAMED} more" if len(lost) > _MOST_NAMED else ""
        yield (
            f"{len(lost)} of {len(examples)} rows of {examples.origin} are left out, since nothing to learn is within "
            f"their first {max_length} tokens: row{'s' * (len(lost) > 1)} {named}{more}. To read more: --max_seq_length"
        )


def _nothing_left(examples: Examples, max_length: int) -> str:
    return (
        f"{examples.origin}: no row has anything to learn within its first {max_length} tokens. Raise --max_seq_length."
    )
