"""Answers to many prompts, each of them a chat of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pippin.commands.generation.streamer import OnText
from pippin.commands.generator import Generator, TooLong
from pippin.data.tables import Table
from pippin.tasks.language.chats import Chat
from pippin.tasks.language.prompts import Question, of_each_row


@dataclass
class Answers:
    """Answers question after question, and notes what there is to say of all of them."""

    generator: Generator
    settings: Mapping[str, Any]
    seed: int | None = None
    unfit: list[int] = field(default_factory=list)
    """The places of questions that leave no room for an answer."""
    cut: int = 0
    """Answers that were as long as they might be."""

    def check(self, table: Table, questions: Sequence[Question]) -> None:
        """Look at all questions before the first is answered: which are too long, and whether any is refused."""

        def look(place: int) -> None:
            try:
                self._read(questions[place])
            except TooLong:
                self.unfit.append(place)

        of_each_row(table, look)

    def to(self, questions: Sequence[Question]) -> Iterator[str]:
        """The answers in their places, "" where there is none."""
        for place, question in enumerate(questions):
            yield "" if question is None or place in self.unfit else self.to_one(question, place)

    def to_one(self, question: Chat | str, place: int, on_text: OnText | None = None) -> str:
        """An answer depends on its question, its place and the seed, and not on what was asked before."""
        self.generator.forget()
        seed = None if self.seed is None else self.seed + place
        if isinstance(question, Chat):
            tools = question.tools
            answer = self.generator.answer(question.messages, on_text, tools=tools, seed=seed, **self.settings)
        else:
            answer = self.generator.complete(question, on_text, seed=seed, **self.settings)
        self.cut += self.generator.was_cut
        return answer

    def _read(self, question: Question) -> None:
        if isinstance(question, Chat):
            self.generator.prompt_tokens(question.messages, question.tools)
        elif question is not None:
            self.generator.text_tokens(question)
