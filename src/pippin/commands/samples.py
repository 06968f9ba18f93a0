"""What a language model answers to the same few prompts at every evaluation, the likeliest token each time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from pippin.commands.generator import Generator
from pippin.commands.planning import PlannedJob
from pippin.data.examples import Examples
from pippin.engine.session import Session
from pippin.errors import PippinError
from pippin.models.language_network import LanguageNetwork
from pippin.tasks.language.chats import Chat
from pippin.tasks.language.encoding import ChatExamples

Sample = dict[str, Any]
#: Prompts, rows that are looked at for them, tokens of each answer, and characters that are kept of a prompt.
_PROMPTS, _ROWS, _MOST_TOKENS, _LONGEST = 3, 50, 64, 600
#: Words of a text, and characters at most, that are given to a model that goes on with it.
_WORDS, _CHARACTERS = 12, 100


@dataclass(frozen=True)
class _Question:
    prompt: str
    """As it is shown."""
    expected: str
    ask: Callable[[], str]


def sampler(job: PlannedJob, session: Session) -> Callable[[], Iterator[Sample]]:
    """Prompts are those of the first validation rows; without any there are no samples."""
    rows = next(iter(job.data.validation.values()), None)
    if rows is None or not isinstance(session.network, LanguageNetwork):
        return lambda: iter(())
    network, model = session.network, session.model
    longest = job.plan.batches.max_length.value + _MOST_TOKENS
    longest = min(longest, job.facts.longest_input or longest)
    generator = Generator(model, job.tokenizer, session.backend, longest=longest)
    questions = list(islice(_questions(rows, generator), _PROMPTS))

    def samples() -> Iterator[Sample]:
        was_training = model.training
        model.eval()
        with network.as_transformers_has_it():
            for each in questions:
                answer = each.ask()
                generator.forget()
                yield {"prompt": each.prompt[:_LONGEST], "expected": each.expected[:_LONGEST], "answer": answer}
        model.train(was_training)

    return samples


def _questions(rows: Examples, generator: Generator) -> Iterator[_Question]:
    """Those of the first rows that leave room for an answer."""
    for place in range(min(_ROWS, len(rows))):
        with suppress(PippinError):
            if isinstance(rows, ChatExamples):
                yield _of_chat(rows.chat(place), generator)
            else:
                yield _of_text(rows.texts[place], generator)


def _of_chat(chat: Chat, generator: Generator) -> _Question:
    place = chat.answers[-1]
    asked = chat.messages[:place]
    generator.prompt_tokens(asked, chat.tools)  # it may be too long, or what the template refuses
    answer = partial(generator.answer, asked, tools=chat.tools, max_new_tokens=_MOST_TOKENS)
    return _Question(asked[-1]["content"], chat.messages[place]["content"], answer)


def _of_text(text: str, generator: Generator) -> _Question:
    """Its first words; where words have no spaces between them, its first characters."""
    start = " ".join(text.split()[:_WORDS])[:_CHARACTERS]
    rest = " ".join(text.split())[len(start) :].lstrip()
    generator.text_tokens(start)
    return _Question(start, rest, partial(generator.complete, start, max_new_tokens=_MOST_TOKENS))
