"""What a file asks is found whatever its columns are called, and rows that ask nothing are told from those that cannot
be read."""

from __future__ import annotations

import pytest

from pippin.data.tables import Table
from pippin.errors import PippinError
from pippin.tasks.language.chats import NoChat
from pippin.tasks.language.prompts import find_prompts, questions_in, rows_named

ASKED, ANSWERED = {"role": "user", "content": "Why?"}, {"role": "assistant", "content": "So."}
SYSTEM = {"role": "system", "content": "Be short."}


def table(**columns) -> Table:
    return Table({name: cell if isinstance(cell, list) else [cell] for name, cell in columns.items()}, "rows.jsonl")


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ({"id": 1, "messages": [[ASKED]]}, ("messages",)),
        ({"id": 1, "anything": [[ASKED]]}, ("anything",)),
        ({"prompt": "Why?", "text": "x"}, ("prompt",)),
        ({"Question": "Why?", "answer": "So."}, ("Question",)),
        ({"instruction": "Add.", "input": "1 2"}, ("instruction", "input")),
        ({"source": "Warum?", "target": "Why?"}, ("source",)),
        ({"text": "Why?", "source": "a book"}, ("text",)),
        ({"input": "Why?", "label": 1}, ("input",)),
        ({"anything": "Why?"}, ("anything",)),
    ],
    ids=lambda value: "-".join(value),
)
def test_columns_are_found(columns, found):
    assert find_prompts(table(**columns)).columns == found


def test_columns_are_named():
    rows = table(prompt=["a"], ask=["Why?"], more=["Please."])
    assert find_prompts(rows, ("ask",)).columns == ("ask",)
    (question,) = questions_in(rows, find_prompts(rows, ("ask", "more")))
    assert question.messages[0]["content"] == "Why?\n\nPlease."
    with pytest.raises(PippinError, match="no column 'asks' .*Did you mean ask?"):
        find_prompts(rows, ("asks",))
    with pytest.raises(PippinError, match="which column is the prompt\\? It has a, b.*--text_column NAME"):
        find_prompts(table(a=["x"], b=["y"]))


def test_questions():
    rows = table(messages=[[ASKED], [SYSTEM, ASKED, ANSWERED], [], None])
    prompts = find_prompts(rows)
    first, second, *empty = questions_in(rows, prompts, system="Be long.")
    assert list(first.messages) == [{"role": "system", "content": "Be long."}, ASKED]
    assert list(second.messages) == [SYSTEM, ASKED], "its own system message stays, its answer is not shown"
    assert empty == [None, None]
    texts = table(prompt=["Why?", " ", None, float("nan"), 7])
    questions = questions_in(texts, find_prompts(texts))
    assert [question and question.messages[0]["content"] for question in questions] == ["Why?", None, None, None, "7"]
    assert questions_in(texts, find_prompts(texts), completes=True) == ["Why?", None, None, None, "7"]
    lists = table(prompt=[[ASKED]])
    assert list(questions_in(lists, find_prompts(lists))[0].messages) == [ASKED]


def test_tools_are_handed_on():
    rows = table(messages=[[ASKED]], tools=[[{"type": "function"}]])
    (question,) = questions_in(rows, find_prompts(rows))
    assert question.tools == ({"type": "function"},)


def test_rows_that_cannot_be_read_are_named_together():
    rows = table(messages=[[ASKED], [{"role": "nobody", "content": "x"}], [ANSWERED], *[[{"no": 1}]] * 9])
    with pytest.raises(PippinError) as told:
        questions_in(rows, find_prompts(rows, ("messages",)))
    assert "rows.jsonl, row 2 has a message of the role 'nobody'" in str(told.value)
    assert "row 3 holds nothing to be answered" in str(told.value)
    assert "and 6 rows more." in str(told.value)
    with pytest.raises(NoChat, match="something else than a text"):
        find_prompts(table(messages=[[ASKED]])).text({"messages": [ASKED]})
    assert rows_named(rows, range(7)) == "row 1, row 2, row 3, row 4, row 5 and 2 more"
