"""Which columns hold a chat, a prompt and its answer, or a text: by flag, by name and by content; always said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal

from pippin.data.tables import Table, listed
from pippin.errors import PippinError, nearest
from pippin.recipe import Recipe
from pippin.tasks.language.chats import Chat, NoChat, chat_of, prompt_and_answer

Kind = Literal["chat", "prompt and answer", "text"]
_CHATS = ("messages", "conversations", "conversation", "chat", "dialogue", "dialog")
#: What prompts and their answers are called. Of those marked, the answers must differ: else they are classes.
PAIRS = (
    ("prompt", "completion"), ("prompt", "response"), ("instruction", "output"), ("instruction", "response"),
    ("prompt", "answer"), ("question", "answer"), ("query", "response"), ("input", "output"), ("source", "target"),
)  # fmt: skip
_SURE = (("prompt", "completion"), ("instruction", "output"))
#: More of the prompt, as instruction files have it.
CONTEXTS = ("input", "context")
TEXTS = ("text", "content", "document", "story", "body")
_LABELS = ("label", "labels", "gold_label")
TOOLS = "tools"
#: Rows by which columns are judged.
_ENOUGH = 200


@dataclass(frozen=True)
class Form:
    """What the columns of a table mean."""

    kind: Kind
    columns: tuple[str, ...]
    """That of the chats or texts, or those of the prompt and, last, of the answer."""
    reason: str
    tools: str = ""
    unused: tuple[str, ...] = field(default=(), compare=False)

    @property
    def every(self) -> tuple[str, ...]:
        return (*self.columns, *([self.tools] if self.tools else ()))

    def read(self, cells: Mapping[str, Any]) -> Chat | str:
        """A row; NoChat says what is wrong with it."""
        if self.kind == "text":
            text = cells[self.columns[0]]
            if not isinstance(text, str) or not text.strip():
                raise NoChat("holds no text" if not text or isinstance(text, str) else f"holds {text!r}, not a text")
            return text
        tools = cells.get(self.tools) if self.tools else None
        if self.kind == "chat":
            return chat_of(cells[self.columns[0]], tools)
        *asked, answer = (cells[name] for name in self.columns)
        if len(asked) > 1:
            asked = ["\n\n".join(text for text in asked if isinstance(text, str) and text.strip())]
        for what, cell in (("prompt", asked[0]), ("answer", answer)):
            if cell is None or (isinstance(cell, str) and not cell.strip()):
                raise NoChat(f"has no {what}")
        return prompt_and_answer(asked[0], answer, tools)

    def words(self) -> str:
        names = " and ".join(repr(name) for name in self.columns[:-1]) or repr(self.columns[0])
        if self.kind == "chat":
            said = f"chats from {names}"
        elif self.kind == "text":
            said = f"texts from {names}"
        else:
            said = f"prompts from {names}, answers from {self.columns[-1]!r}"
        tools = f", tools from {self.tools!r}" if self.tools else ""
        left_out = f"; not used: {listed(self.unused)}" if self.unused else ""
        return f"{said}{tools} ({self.reason}){left_out}"


def is_language(table: Table, recipe: Recipe) -> bool:
    """Whether a table holds chats or answers to prompts; texts alone where nothing else stands beside them."""
    if recipe.label_column or recipe.do_regression or recipe.several_labels == "on" or recipe.fine_labels:
        return False
    if recipe.text_column:
        (name, *more) = recipe.text_column
        return not more and name in table.columns and _holds_chats(table, name)
    try:
        form = find_form(table, recipe)
    except PippinError:
        return False
    named = {name.lower() for name in table.columns}
    return form.kind == "chat" or not (named & set(_LABELS)) and (form.kind != "text" or len(table.columns) == 1)


def find_form(table: Table, recipe: Recipe) -> Form:
    """What the columns mean, or a stop that says what could be named."""
    asked = (*recipe.text_column, *([recipe.label_column] if recipe.label_column else []))
    for name in asked:
        if name not in table.columns:
            flag = "--text_column" if name in recipe.text_column else "--label_column"
            raise PippinError(
                f"{table.origin} has no column {name!r} ({flag}); it has {listed(table.columns)}."
                + nearest(name, list(table.columns))
            )
    found = _form_of(asked, table) if asked else next((form for find in _WAYS if (form := find(table))), None)
    if found is None:
        raise PippinError(
            f"{table.origin}: which column is to be learnt? It has {listed(table.columns)}. Pippin knows messages, "
            "prompt and completion, question and answer, instruction and output, and text. "
            "Name others: --text_column PROMPT --label_column ANSWER, or --text_column TEXT."
        )
    tools = TOOLS if TOOLS in table.columns and found.kind != "text" else ""
    unused = tuple(name for name in table.columns if name not in (*found.columns, tools))
    return Form(found.kind, found.columns, found.reason, tools, unused)


def _form_of(names: tuple[str, ...], table: Table) -> Form:
    if len(names) > 1:
        return Form("prompt and answer", names, "named by flag")
    return Form("chat" if _holds_chats(table, names[0]) else "text", names, "named by flag")


def find_chats(table: Table) -> Form | None:
    named = by_name(table, _CHATS)
    if named and _holds_chats(table, named):
        return Form("chat", (named,), "by its name")
    found = [name for name in table.columns if _holds_chats(table, name) and name != TOOLS]
    return Form("chat", (found[0],), "the only column of messages") if len(found) == 1 else None


def _pairs(table: Table) -> Form | None:
    for pair in PAIRS:
        prompt, answer = (by_name(table, (name,)) for name in pair)
        if prompt and answer and (pair in _SURE or _differ(table.columns[answer])):
            context = by_name(table, CONTEXTS) if pair[0] == "instruction" else None
            return Form("prompt and answer", (prompt, *([context] if context else []), answer), "by their names")
    return None


def _texts(table: Table) -> Form | None:
    named = by_name(table, TEXTS)
    if named and all(isinstance(cell, str) for cell in _start(table, named)):
        return Form("text", (named,), "by its name")
    if len(table.columns) == 1 and all(isinstance(cell, str) for cell in _start(table, *table.columns)):
        return Form("text", tuple(table.columns), "the only column")
    return None


_WAYS: tuple[Callable[[Table], Form | None], ...] = (find_chats, _pairs, _texts)


def by_name(table: Table, names: tuple[str, ...]) -> str | None:
    lower = {name.lower(): name for name in reversed(table.columns)}
    return next((lower[name] for name in names if name in lower), None)


def _start(table: Table, name: str) -> list[Any]:
    return [cell for cell in islice(table.columns[name], _ENOUGH) if cell is not None]


def _holds_chats(table: Table, name: str) -> bool:
    cells = _start(table, name)
    return any(cells) and all(
        isinstance(cell, (list, tuple))
        and all(isinstance(each, Mapping) and {"role", "from"} & each.keys() for each in cell)
        for cell in cells
    )


def _differ(cells: list[Any]) -> bool:
    """Whether most of the first cells are different, as answers in words are and classes are not."""
    start = [str(cell) for cell in islice(cells, _ENOUGH)]
    return len(set(start)) > len(start) / 2
