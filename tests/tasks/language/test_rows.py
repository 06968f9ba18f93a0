"""Chats, prompts and texts are found in any of their usual forms, and what is no row is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pippin.data.tables import Table
from pippin.errors import PippinError
from pippin.recipe.reading import recipe_from
from pippin.tasks.language.chats import Chat, NoChat, chat_of, prompt_and_answer
from pippin.tasks.language.columns import find_form, is_language
from pippin.tasks.language.task import LanguageTask
from pippin.tasks.registry import find_task
from pippin.tasks.sequence.task import SequenceTask

ASKED, ANSWERED = {"role": "user", "content": "Why?"}, {"role": "assistant", "content": "So."}
SYSTEM, PART = {"role": "system", "content": "Hm."}, {"type": "text", "text": "Why?"}


def recipe(**settings):
    return recipe_from({"data": "rows.jsonl", **settings}).recipe


def table(**columns) -> Table:
    return Table(columns, "rows.jsonl")


@pytest.mark.parametrize(
    ("row", "messages"),
    [
        ({"messages": [ASKED, ANSWERED]}, [ASKED, ANSWERED]),
        ({"conversations": [{"from": "human", "value": "Why?"}, {"from": "gpt", "value": "So."}]}, [ASKED, ANSWERED]),
        ({"prompt": "Why?", "completion": "So."}, [ASKED, ANSWERED]),
        ({"prompt": [ASKED], "completion": [ANSWERED]}, [ASKED, ANSWERED]),
        ({"question": "Why?", "answer": "So."}, [ASKED, ANSWERED]),
        ({"instruction": "Why?", "input": "", "output": "So."}, [ASKED, ANSWERED]),
        ({"instruction": "Add.", "input": "1 2", "output": "So."}, [{**ASKED, "content": "Add.\n\n1 2"}, ANSWERED]),
        ({"Dialog": [{"role": "Developer", "content": "Hm."}, ASKED, ANSWERED]}, [SYSTEM, ASKED, ANSWERED]),
        ({"messages": [{**ASKED, "content": [PART], "name": None}, {**ANSWERED, "weight": 1}]}, [ASKED, ANSWERED]),
    ],
    ids=["messages", "sharegpt", "prompt", "lists", "question", "instruction", "with input", "any names", "parts"],
)  # fmt: skip
def test_every_form_is_a_chat(row, messages):
    found = table(**{name: [cell] for name, cell in row.items()})
    assert is_language(found, recipe())
    form = find_form(found, recipe())
    chat = form.read(row)
    assert list(chat.messages) == messages
    assert Chat.from_text(chat.to_text()) == chat


def test_texts_and_named_columns():
    assert find_form(table(text=["One.", "Two."], id=[1, 2]), recipe()).kind == "text"
    assert find_form(table(anything=["One.", "Two."]), recipe()).columns == ("anything",)
    asked = find_form(table(a=["x"], b=["y"], c=["z"]), recipe(text_column="b", label_column="a"))
    assert (asked.kind, asked.columns, asked.unused) == ("prompt and answer", ("b", "a"), ("c",))
    assert asked.words() == "prompts from 'b', answers from 'a' (named by flag); not used: c"
    tools = find_form(table(messages=[[ASKED, ANSWERED]], tools=[[{"type": "function"}]]), recipe())
    assert tools.tools == "tools"
    assert tools.read({"messages": [ASKED, ANSWERED], "tools": '[{"type": "function"}]'}).tools == (
        {"type": "function"},
    )
    with pytest.raises(PippinError, match="no column 'q' \\(--text_column\\)"):
        find_form(table(text=["One."]), recipe(text_column="q"))
    with pytest.raises(PippinError, match="which column is to be learnt"):
        find_form(table(a=["x"], b=["y"]), recipe())


@pytest.mark.parametrize(
    "columns",
    [
        {"text": ["One.", "Two."], "label": ["a", "b"]},
        {"question": ["One?", "Two?", "Three?", "Four?", "Five?"], "answer": ["yes", "no", "yes", "no", "yes"]},
        {"question": ["One?", "Two?"], "answer": ["It is.", "So."], "label": ["fits", "wrong"]},
        {"text": ["One.", "Two."], "stars": [1, 2]},
        {"tokens": [["a"], ["b"]], "tags": [["O"], ["O"]]},
    ],
    ids=["labels", "classes as answers", "pairs", "a second column", "tags"],
)
def test_what_is_about_labels_is_left_alone(columns):
    assert not is_language(table(**columns), recipe())


def test_the_rows_choose_the_task():
    Path("rows.jsonl").write_text(json.dumps({"messages": [ASKED, ANSWERED]}) + "\n")
    assert isinstance(find_task(recipe())[0], LanguageTask)
    Path("rows.jsonl").write_text(json.dumps({"text": "One.", "label": "a"}) + "\n")
    assert isinstance(find_task(recipe())[0], SequenceTask)
    assert isinstance(find_task(recipe(task="text-generation"))[0], LanguageTask)
    Path("story.txt").write_text("Once.\nUpon a time.\n")
    task, rows = find_task(recipe(data="story.txt", task="text-generation"))
    assert isinstance(task, LanguageTask)
    assert rows.train.columns == {"text": ["Once.", "Upon a time."]}


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        ("Why", "holds 'Why', not a list of messages"),
        ([], "not a list of messages"),
        ([ASKED], "has no answer of the assistant"),
        ([ANSWERED], "has no answer of the assistant"),
        (["Why?", "So."], "which is no message"),
        ([{"role": "king", "content": "x"}, ANSWERED], "a message of the role 'king'"),
        ([ASKED, {**ANSWERED, "content": 3}], "that is 3, not a text"),
        ([{**ASKED, "content": [{"type": "image", "url": "x"}]}, ANSWERED], "a part that is no text"),
        ([ASKED, {**ANSWERED, "tool_calls": [{"function": {"name": "f", "arguments": "{"}}]}], "is not JSON"),
    ],
)
def test_what_is_no_chat_is_named(messages, problem):
    with pytest.raises(NoChat, match=problem):
        chat_of(messages)


def test_prompts_are_not_learnt():
    chat = prompt_and_answer([ASKED, ANSWERED, ASKED], [ANSWERED])
    assert chat.answers == [3]
    called = {
        **ANSWERED,
        "content": None,
        "tool_calls": [{"id": None, "function": {"name": "f", "arguments": '{"a": 1}'}}],
    }
    chat = chat_of([ASKED, called, {"role": "tool", "content": "2"}, ANSWERED])
    assert chat.answers == [1, 3]
    assert chat.messages[1] == {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}],
    }
