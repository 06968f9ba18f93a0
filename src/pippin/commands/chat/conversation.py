"""A chat that goes on: what was said, and the model that answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pippin.commands.generation.streamer import OnText
from pippin.commands.generator import Generator, Message
from pippin.tasks.language.chats import ASSISTANT, SYSTEM, USER

#: Tokens of an answer: somebody is there to stop one that is too long.
MOST_IN_TALK = 2048


def settings_for_talk(generator: Generator, settings: Mapping[str, Any]) -> dict[str, Any]:
    """As the model's own configuration draws tokens, but for what was asked."""
    lengths = {} if settings.get("max_length") else {"max_new_tokens": MOST_IN_TALK}
    return {**lengths, **({"do_sample": True} if generator.draws else {}), **settings}


@dataclass
class Conversation:
    generator: Generator
    system: str = ""
    seed: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    completes: bool = False
    """Whether each text is gone on from by itself, rather than answered."""
    turns: list[Message] = field(default_factory=list)
    """What was said by either side."""

    def ask(self, text: str, on_text: OnText) -> None:
        """Let the model answer. What it said before it was interrupted belongs to the chat as well."""
        said = list[str]()

        def hear(piece: str) -> None:
            said.append(piece)
            on_text(piece)

        seed = None if self.seed is None else self.seed + len(self.turns) // 2
        if self.completes:
            self.generator.complete(text, hear, seed=seed, **self.settings)
            return
        asked = [{"role": USER, "content": text}]
        try:
            self.generator.answer([*self._beginning(), *self.turns, *asked], hear, seed=seed, **self.settings)
        except KeyboardInterrupt:
            if said:
                self._keep(text, said)
            raise
        self._keep(text, said)

    def reset(self) -> None:
        """Begin anew, with the same system message."""
        self.turns.clear()
        self.generator.forget()

    def _beginning(self) -> list[Message]:
        return [{"role": SYSTEM, "content": self.system}] if self.system else []

    def _keep(self, asked: str, said: list[str]) -> None:
        self.turns += [{"role": USER, "content": asked}, {"role": ASSISTANT, "content": "".join(said)}]
