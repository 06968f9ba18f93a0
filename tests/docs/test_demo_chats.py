"""What `make demo-chat` teaches about Pippin is well formed, and names nothing that does not exist."""

from __future__ import annotations

import json
import re

import pytest
from guide import ROOT

import pippin
from pippin.cli.commands import COMMANDS
from pippin.recipe.foreign import ALIASES, NOT_NEEDED, REFUSED
from pippin.tasks.language.chats import chat_of

FOLDER = ROOT / "demo"
#: A command at the end of a sentence, or before it goes on.
COMMAND = re.compile(r"\bpippin ([a-z]+)(.*?)(?=$|[.?:]$|[.?:] [A-Z])")
FLAG = re.compile(r"--([a-z][a-z0-9_]*)")


def pairs_in(name: str) -> list[list[tuple[str, str]]]:
    """Questions and answers, chat by chat."""
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    chats = [chat_of(json.loads(line)["messages"]) for line in lines]
    for chat in chats:
        roles = [message["role"] for message in chat.messages]
        assert roles == ["user", "assistant"] * (len(roles) // 2)
        assert chat.answers == [*range(1, len(roles), 2)]
    said = [[message["content"] for message in chat.messages] for chat in chats]
    return [list(zip(each[::2], each[1::2], strict=True)) for each in said]


@pytest.fixture(scope="module")
def taught() -> list[list[tuple[str, str]]]:
    return pairs_in("about_pippin.jsonl")


@pytest.fixture(scope="module")
def asked() -> list[tuple[str, str]]:
    return [pair for chat in pairs_in("about_pippin_questions.jsonl") for pair in chat]


@pytest.fixture(scope="module")
def texts(taught, asked) -> list[str]:
    return [text for pair in [*(pair for chat in taught for pair in chat), *asked] for text in pair]


def test_there_is_enough_to_learn_and_nothing_twice(taught, asked):
    questions = [question.lower() for chat in taught for question, _ in chat]
    assert len(questions) >= 220
    assert len(asked) == 20
    every = [*questions, *(question.lower() for question, _ in asked)]
    assert len(set(every)) == len(every)


def test_no_chat_gives_an_answer_away(taught):
    for chat in taught:
        assert len({answer for _, answer in chat}) == len(chat)


def test_what_is_asked_was_taught_in_other_words(taught, asked):
    answers = {answer for chat in taught for _, answer in chat}
    assert [question for question, answer in asked if answer not in answers] == []


def test_texts_are_plain(texts):
    assert [text for text in texts if not text.isascii() or text != text.strip() or "  " in text] == []
    assert [text for text in texts if text[-1] not in ".?"] == []


def test_flags_exist(texts):
    known = {name for command in COMMANDS.values() for name in command.fields} | {*ALIASES, *NOT_NEEDED, *REFUSED}
    named = {name for text in texts for name in FLAG.findall(text)}
    assert named - known - {"help"} == set()


def test_commands_exist_and_take_the_flags_beside_them(texts):
    seen = set()
    for text in texts:
        for name, rest in COMMAND.findall(text):
            assert name in COMMANDS, text
            takes = {*COMMANDS[name].fields, "help"}
            assert [flag for flag in FLAG.findall(rest) if not {flag, ALIASES.get(flag)} & takes] == [], text
            seen.add(name)
    assert seen >= {"train", "predict", "chat", "resume", "preflight", "doctor", "verify", "report", "runs", "bench"}


def test_names_in_python_and_extras_exist(texts):
    said = " ".join(texts)
    assert [name for name in re.findall(r"\bpippin\.([a-z]+)\(", said) if not hasattr(pippin, name)] == []
    extras = set(re.findall(r"pippin\[([a-z]+)\]", said))
    assert extras
    project = (ROOT / "pyproject.toml").read_text()
    assert [name for name in extras if not re.search(rf"^{name} = \[", project, re.MULTILINE)] == []
