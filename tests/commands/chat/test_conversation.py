"""What a chat remembers, and what can be typed in one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from lively_chat import lively
from small_chat import TEMPLATE

from pippin.commands.chat.conversation import Conversation, settings_for_talk
from pippin.commands.chat.loop import COMMANDS, Loop
from pippin.errors import PippinError

CTRL_C, CTRL_D = KeyboardInterrupt, EOFError
#: Refuses a system message, as some templates do, and two messages of one side in a row.
STRICT = (
    "{% for message in messages %}{% if message['role'] == 'system' %}{{ raise_exception('no system role') }}"
    "{% elif (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('take turns') }}{% endif %}"
    "{% endfor %}"
) + TEMPLATE


class Typist:
    """Somebody at the terminal: types lines, or presses Ctrl-C or Ctrl-D; ``seen`` is what is shown."""

    def __init__(self, conversation: Conversation, *typed: str | type[BaseException]):
        self.typed, self.seen, self.on_piece = list(typed), list[str](), None
        self.loop = Loop(conversation, self._read, self._show, self._say)

    def _read(self) -> str:
        typed = self.typed.pop(0)
        if isinstance(typed, str):
            return typed
        raise typed

    def _show(self, piece: str) -> None:
        self.seen.append(piece)
        if self.on_piece:
            self.on_piece()

    def _say(self, text: str) -> None:
        self.seen.append(f"[{text}]")


@pytest.fixture
def talk() -> Callable[..., tuple[Conversation, str]]:
    """A chat in which this is typed; gives it back with all that was shown."""

    def run(*typed, template=TEMPLATE, on_piece=None, **settings) -> tuple[Conversation, str]:
        settings = {"settings": {"max_new_tokens": 8, "min_new_tokens": 2}, **settings}
        conversation = Conversation(lively(template=template), **settings)
        typist = Typist(conversation, *typed, CTRL_D)
        typist.on_piece = on_piece and on_piece(typist)
        typist.loop.run()
        return conversation, "".join(typist.seen)

    return run


def contents(conversation: Conversation) -> list[str]:
    return [turn["content"] for turn in conversation.turns]


def test_what_was_said_belongs_to_the_next_question(talk):
    conversation, seen = talk("the old cat?", "", "   ", "my bread?")
    asked, first, again, second = contents(conversation)
    assert (asked, again) == ("the old cat?", "my bread?")
    assert (
        seen.replace("[(cut off at the limit of tokens; --max_new_tokens N allows more)]", "") == f"{first}\n{second}\n"
    )
    alone = lively().answer("my bread?", max_new_tokens=8, min_new_tokens=2)
    whole = lively().answer(conversation.turns[:3], max_new_tokens=8, min_new_tokens=2)
    assert second == whole != alone


def test_system_message_and_a_new_chat(talk):
    conversation, seen = talk("/system Be short.", "cat?")
    assert "[The system message is set.]" in seen
    with_system = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "cat?"}]
    assert contents(conversation)[1] == lively().answer(with_system, max_new_tokens=8, min_new_tokens=2)
    conversation, seen = talk("cat?", "/reset", "cat?", system="Be short.")
    assert "[A new chat.]" in seen
    assert contents(conversation)[1] == lively().answer(with_system, max_new_tokens=8, min_new_tokens=2)
    conversation, seen = talk("/system", "cat?", system="Be short.")
    assert "[No system message.]" in seen
    assert contents(conversation)[1] == lively().answer("cat?", max_new_tokens=8, min_new_tokens=2)


def test_commands(talk):
    conversation, seen = talk("/help", "/rest", " /reset", "/usr/bin/cat?", "/exit", "never sent")
    assert all(name in seen for name in COMMANDS)
    assert "/rest: there is no such command. Did you mean /reset?" in seen
    assert contents(conversation)[::2] == ["/reset", "/usr/bin/cat?"], (
        "a path is no command, nor what a space is before"
    )


def test_ctrl_c_stops_an_answer_and_keeps_what_was_said(talk):
    def stop(typist):
        def third() -> None:
            if len(typist.seen) == 3:
                raise KeyboardInterrupt

        return third

    conversation, seen = talk("cat?", "bread?", on_piece=stop)
    assert "\n[(stopped)]" in seen
    asked, said, again, second = contents(conversation)
    assert (asked, again) == ("cat?", "bread?")
    assert seen.startswith(f"{said}\n[(stopped)]")
    assert lively().answer("cat?", max_new_tokens=8, min_new_tokens=2).startswith(said)
    assert second == lively().answer(conversation.turns[:3], max_new_tokens=8, min_new_tokens=2)


def test_a_question_that_was_not_answered_is_taken_back(talk, monkeypatch):
    def interrupted(*arguments, **settings):
        raise KeyboardInterrupt

    conversation, seen = talk("cat?", template=STRICT)
    monkeypatch.setattr(conversation.generator, "answer", interrupted)
    before = contents(conversation)
    typist = Typist(conversation, "bread?", CTRL_D)
    typist.loop.run()
    assert contents(conversation) == before
    assert "".join(typist.seen) == "\n[(stopped)]"


def test_ctrl_c_at_the_prompt_says_how_to_leave(talk):
    how = "[To leave, press Ctrl-C again, or Ctrl-D, or type /exit.]"
    assert talk(CTRL_C, CTRL_C, "never read")[1] == how
    assert talk(CTRL_C, CTRL_D, "never read")[1] == how
    conversation, seen = talk(CTRL_C, "cat?", CTRL_C, CTRL_C, "never read")
    assert seen.count(how) == 2
    assert contents(conversation)[0] == "cat?"


def test_what_goes_wrong_is_said_and_the_chat_goes_on(talk):
    conversation, seen = talk("/system Be short.", "cat?", "/system", "cat?", "word " * 400, template=STRICT)
    assert "[the model's chat template refuses it: no system role.]" in seen
    assert "tokens, and the model reads 256. /reset begins a new one.]" in seen
    assert contents(conversation)[0] == "cat?"
    assert "Send less at once.]" in talk("word " * 400)[1]

    @contextmanager
    def failing() -> Iterator[None]:
        raise PippinError("the device is gone.")
        yield

    typist = Typist(conversation, "bread?", CTRL_D)
    typist.loop.guard = failing
    typist.loop.run()
    assert "".join(typist.seen) == "[the device is gone.]"


def test_going_on_from_texts(talk):
    conversation, seen = talk("the old cat", "the old cat", "/system x", completes=True)
    text = lively().complete("the old cat", max_new_tokens=8, min_new_tokens=2)
    assert seen.count(text) == 2
    assert "With --complete there is no system message." in seen
    assert conversation.turns == []


def test_a_seed_repeats_a_chat(talk):
    drawing = {"temperature": 1.5, "max_new_tokens": 8}
    chats = [contents(talk("cat?", "cat?", seed=seed, settings=drawing)[0]) for seed in (1, 1, 2)]
    assert chats[0] == chats[1] != chats[2]
    turns = talk("cat?", "cat?", seed=1, settings=drawing)[0].turns
    assert turns[3]["content"] == lively().answer(turns[:3], seed=2, **drawing), "each turn has numbers of its own"
    again = contents(talk("cat?", "/reset", "cat?", seed=1, settings=drawing)[0])
    assert again[1] == chats[0][1], "a new chat begins with the same seed"


def test_a_chat_draws_as_the_models_own_configuration_says():
    generator = lively()
    assert settings_for_talk(generator, {}) == {"max_new_tokens": 2048}
    generator.model.generation_config.update(do_sample=True)
    assert settings_for_talk(generator, {}) == {"max_new_tokens": 2048, "do_sample": True}
    asked = {"max_length": 90, "do_sample": False}
    assert settings_for_talk(generator, asked) == asked
