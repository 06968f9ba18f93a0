"""A row of a chat in one form, whatever its file calls things: messages with role and content, and tools.

Rows are kept as JSON, which makes them texts like those of any other task.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pippin.errors import shown

USER, ASSISTANT, SYSTEM, TOOL = "user", "assistant", "system", "tool"
#: What roles are called elsewhere.
_ROLES = {
    **dict.fromkeys(("user", "human", "prompter"), USER),
    **dict.fromkeys(("assistant", "gpt", "chatgpt", "bing", "bard", "model", "bot"), ASSISTANT),
    **dict.fromkeys(("system", "developer"), SYSTEM),
    **dict.fromkeys(("tool", "function", "function_response", "observation", "ipython"), TOOL),
}


@dataclass(frozen=True)
class Chat:
    messages: tuple[dict[str, Any], ...]
    tools: tuple[dict[str, Any], ...] = ()
    first_learnt: int = 0
    """The message from which on answers may be learnt: those before it are a prompt."""

    @property
    def answers(self) -> list[int]:
        """The places of the messages that may be learnt: nothing asks for one that comes first."""
        places = range(max(self.first_learnt, 1), len(self.messages))
        return [place for place in places if self.messages[place]["role"] == ASSISTANT]

    def to_text(self) -> str:
        parts: dict[str, Any] = {"messages": self.messages}
        if self.tools:
            parts["tools"] = self.tools
        if self.first_learnt:
            parts["first_learnt"] = self.first_learnt
        return json.dumps(parts, ensure_ascii=False)

    @classmethod
    def from_text(cls, text: str) -> Chat:
        parts = json.loads(text)
        return cls(tuple(parts["messages"]), tuple(parts.get("tools", ())), parts.get("first_learnt", 0))


class NoChat(ValueError):
    """What is wrong with a row, to be said after the name of its column."""


def chat_of(messages: Any, tools: Any = None) -> Chat:
    """A chat out of a list of messages, in the manner of OpenAI or of ShareGPT."""
    return _checked(Chat(_messages(messages), _tools(tools)))


def prompt_and_answer(prompt: Any, answer: Any, tools: Any = None) -> Chat:
    """A chat of which only the answer is learnt. Both may be texts or lists of messages."""
    asked = _messages(prompt) if _is_list(prompt) else (_message(USER, prompt),)
    given = _messages(answer) if _is_list(answer) else (_message(ASSISTANT, answer),)
    return _checked(Chat((*asked, *given), _tools(tools), len(asked)))


def chat_to_answer(messages: Any, tools: Any = None) -> Chat:
    """A chat as somebody who is to answer it sees it."""
    return Chat(_messages(messages), _tools(tools))


def _checked(chat: Chat) -> Chat:
    if not chat.answers:
        raise NoChat("has no answer of the assistant, so there is nothing to learn")
    return chat


def _messages(cell: Any) -> tuple[dict[str, Any], ...]:
    if not _is_list(cell) or not len(cell):
        raise NoChat(f"holds {shown(cell)}, not a list of messages")
    return tuple(_read_message(each) for each in cell)


def _read_message(message: Any) -> dict[str, Any]:
    if not isinstance(message, Mapping):
        raise NoChat(f"holds {shown(message)} in its list, which is no message: write role and content")
    role = message.get("role", message.get("from"))
    content = message.get("content", message.get("value"))
    if not isinstance(role, str) or role.lower() not in _ROLES:
        raise NoChat(f"has a message of the role {shown(role)}; known are {', '.join(dict.fromkeys(_ROLES.values()))}")
    calls = message.get("tool_calls")
    beside = {
        name: value
        for name, value in message.items()
        if name not in ("role", "from", "content", "value", "tool_calls", "weight") and value is not None
    }
    if calls:
        beside["tool_calls"] = [_call(call) for call in calls] if _is_list(calls) else calls
    return _message(_ROLES[role.lower()], "" if content is None and calls else content) | beside


def _message(role: str, content: Any) -> dict[str, Any]:
    if _is_list(content):  # parts, as of messages that may hold pictures
        parts = [
            part.get("text") if isinstance(part, Mapping) and part.get("type") == "text" else None for part in content
        ]
        if None in parts:
            raise NoChat("has a message with a part that is no text, and Pippin learns texts alone")
        content = "".join(map(str, parts))
    if not isinstance(content, str):
        raise NoChat(f"has a message of the {role} that is {shown(content)}, not a text")
    return {"role": role, "content": content}


def _call(call: Any) -> Any:
    """A call of a tool with its arguments as data: templates write them out themselves."""
    if not isinstance(call, Mapping) or not isinstance(call.get("function"), Mapping):
        return call
    function = dict(call["function"])
    if isinstance(function.get("arguments"), str):
        try:
            function["arguments"] = json.loads(function["arguments"])
        except ValueError:
            raise NoChat(f"calls a tool with {shown(function['arguments'])}, which is not JSON") from None
    return {name: value for name, value in call.items() if value is not None} | {"function": function}


def _tools(cell: Any) -> tuple[dict[str, Any], ...]:
    if isinstance(cell, str) and cell.strip():  # Parquet has no place for schemas, so they come as JSON
        try:
            cell = json.loads(cell)
        except ValueError:
            raise NoChat(f"has tools that are not JSON: {shown(cell)}") from None
    if not cell:
        return ()
    if not _is_list(cell) or not all(isinstance(tool, Mapping) for tool in cell):
        raise NoChat(f"has tools that are {shown(cell)}, not a list of objects")
    return tuple(cell)


def _is_list(cell: Any) -> bool:
    return isinstance(cell, Sequence) and not isinstance(cell, str)
