"""What the written model and the run's own are both asked: chats and texts as tokens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pippin.data.tables import read_table
from pippin.errors import PippinError
from pippin.tasks.language.chats import ASSISTANT, USER, Chat, NoChat
from pippin.tasks.language.prompts import find_prompts
from pippin.tasks.language.templates import NotLearnable, has_template, prompt_of

#: Rows of a file that are asked, and tokens that are read of each.
MOST_ROWS, _MOST_TOKENS = 200, 256
#: Messages by turns, the user's first.
_CHATS = (
    ("What is the capital of France?",),
    ("Write a short poem about the sea at night.",),
    ("Translate into German: Good morning, how are you today?",),
    ("Add 17 and 25. Explain each step.",),
    ("My name is Ada.", "Hello Ada! How can I help you?", "What is my name, and which letter does it begin with?"),
)


@dataclass(frozen=True)
class Prompt:
    text: str
    ids: tuple[int, ...]
    chat: Chat | None = None
    """Of which the text was made."""

    @property
    def read(self) -> list[int]:
        """The tokens that are read: of a long prompt its end, where the answer begins."""
        return list(self.ids[-_MOST_TOKENS:])


def prompts_for(tokenizer: Any, file: str | None, columns: tuple[str, ...] = ()) -> list[Prompt]:
    """Of the rows in a file, else some of our own: chats where the model has a template, else texts."""
    if file is not None:
        return list(_of_file(Path(file), columns, tokenizer))
    if not has_template(tokenizer):
        return [_text(chat[0], tokenizer) for chat in _CHATS]
    return [_chat(Chat(_turns(chat)), tokenizer) for chat in _CHATS]


def as_read(prompt: Prompt, tokenizer: Any) -> tuple[str, list[int]]:
    """A prompt as a tokenizer writes and cuts it; what comes before and after a text is the reader's own affair."""
    text = _chat(prompt.chat, tokenizer).text if prompt.chat else prompt.text
    return text, tokenizer(text, add_special_tokens=False)["input_ids"]


def _of_file(path: Path, columns: tuple[str, ...], tokenizer: Any) -> Iterator[Prompt]:
    table = read_table(path, lines_are_texts=True).head(MOST_ROWS)
    found = find_prompts(table, columns)
    for place in range(len(table)):
        cells = {name: cells[place] for name, cells in table.columns.items()}
        try:
            if not has_template(tokenizer):
                yield _text(found.text(cells), tokenizer)
            elif chat := found.chat(cells):
                yield _chat(chat, tokenizer)
        except NoChat as problem:
            raise PippinError(f"--file {table.origin}: {table.row_name(place)} {problem}.") from None


def _turns(texts: tuple[str, ...]) -> tuple[dict[str, Any], ...]:
    return tuple({"role": (USER, ASSISTANT)[place % 2], "content": text} for place, text in enumerate(texts))


def _chat(chat: Chat, tokenizer: Any) -> Prompt:
    try:
        text = prompt_of(chat.messages, chat.tools, tokenizer)
    except NotLearnable as error:
        raise PippinError(f"{error}. Give rows that it takes: --file FILE") from None
    return Prompt(text, tuple(tokenizer(text, add_special_tokens=False)["input_ids"]), chat)


def _text(text: str, tokenizer: Any) -> Prompt:
    return Prompt(text, tuple(tokenizer(text)["input_ids"]))
