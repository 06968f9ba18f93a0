"""Which column of a file holds what a model is to answer, or is to go on from: by flag, by name and by content."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pippin.data.tables import Table, listed
from pippin.errors import PippinError, nearest
from pippin.tasks.language.chats import ASSISTANT, SYSTEM, USER, Chat, NoChat, chat_to_answer
from pippin.tasks.language.columns import CONTEXTS, PAIRS, TEXTS, TOOLS, by_name, find_chats

#: A chat up to the answer that is wanted, or a text to go on from; None for a row without either.
Question = Chat | str | None
#: Rows that a message names.
_MOST_NAMED = 5
#: What prompts are called that have no answer beside them.
_ALONE = ("prompt", "question", "instruction", "query")
#: Between a prompt and what belongs to it.
_BETWEEN = "\n\n"


@dataclass(frozen=True)
class Prompts:
    """Where the prompts of a table stand."""

    columns: tuple[str, ...]
    """More than one where parts of a prompt stand beside each other."""
    reason: str
    tools: str = ""

    def words(self) -> str:
        return f"prompts from {' and '.join(map(repr, self.columns))} ({self.reason})"

    def text(self, cells: Mapping[str, Any]) -> str:
        """A row's text, "" where it has none; NoChat where it is something else."""
        return _BETWEEN.join(filter(None, (_text(cells[name]) for name in self.columns)))

    def chat(self, cells: Mapping[str, Any], system: str = "") -> Chat | None:
        """A row's chat up to the answer that is wanted; None where it has none.

        ``system`` comes first where the chat has no such message of its own.
        """
        first = cells[self.columns[0]]
        is_chat = isinstance(first, (list, tuple)) and len(self.columns) == 1
        messages = first if is_chat else [{"role": USER, "content": self.text(cells)}]
        if not messages or not (is_chat or messages[0]["content"]):
            return None
        chat = chat_to_answer(messages, cells.get(self.tools) if self.tools else None)
        asked = chat.messages
        while asked and asked[-1]["role"] == ASSISTANT:  # what is known already is not what is asked
            asked = asked[:-1]
        if not asked:
            raise NoChat("holds nothing to be answered")
        if system and asked[0]["role"] != SYSTEM:
            asked = ({"role": SYSTEM, "content": system}, *asked)
        return Chat(asked, chat.tools)


def find_prompts(table: Table, named: tuple[str, ...] = ()) -> Prompts:
    """What to answer in a table, or a stop that says what could be named."""
    for name in named:
        if name not in table.columns:
            raise PippinError(
                f"{table.origin} has no column {name!r} (--text_column); it has {listed(table.columns)}."
                + nearest(name, list(table.columns))
            )
    columns, reason = (named, "named by flag") if named else _found(table)
    return Prompts(columns, reason, TOOLS if TOOLS in table.columns and TOOLS not in columns else "")


def questions_in(table: Table, prompts: Prompts, system: str = "", completes: bool = False) -> list[Question]:
    """What each row asks; ``completes``: what is to be gone on from. Rows that cannot be read are named."""

    def read(place: int) -> Question:
        cells = {name: column[place] for name, column in table.columns.items()}
        return prompts.text(cells) or None if completes else prompts.chat(cells, system)

    return of_each_row(table, read)


def of_each_row(table: Table, work: Callable[[int], Any]) -> list[Any]:
    """What the work gives for each place; all rows that it refuses are told in one message."""
    found, problems = [], list[str]()
    for place in range(len(table)):
        try:
            found.append(work(place))
        except NoChat as error:
            problems.append(f"{table.row_name(place)} {error}")
        except PippinError as error:
            problems.append(f"{table.row_name(place)}: {str(error).rstrip('.')}")
    if problems:
        more = f"; and {len(problems) - _MOST_NAMED} rows more" if len(problems) > _MOST_NAMED else ""
        raise PippinError(f"{table.origin}, {'; '.join(problems[:_MOST_NAMED])}{more}.")
    return found


def rows_named(table: Table, places: Sequence[int]) -> str:
    """`row 3 (line 4), row 9 (line 10)`: the first of them."""
    return listed([table.row_name(place) for place in places], _MOST_NAMED)


def _found(table: Table) -> tuple[tuple[str, ...], str]:
    if chats := find_chats(table):
        return chats.columns, chats.reason
    pairs = (prompt for prompt, answer in PAIRS if by_name(table, (answer,)))
    for name in (*pairs, *_ALONE, *TEXTS, "input"):
        if column := by_name(table, (name,)):
            context = by_name(table, CONTEXTS) if name == "instruction" else None
            return ((column, context) if context else (column,)), "by its name"
    if len(table.columns) == 1:
        return tuple(table.columns), "the only column"
    raise PippinError(
        f"{table.origin}: which column is the prompt? It has {listed(table.columns)}. Pippin knows messages, prompt, "
        "question, instruction, and text. Name another: --text_column NAME"
    )


def _text(cell: Any) -> str:
    if cell is None or cell != cell:  # a number that is none
        return ""
    if isinstance(cell, (list, tuple, dict, bytes)):
        raise NoChat("holds something else than a text")
    return str(cell) if str(cell).strip() else ""
