"""A chat on a terminal: lines are sent to the model, and those that begin with a slash are commands."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from pippin.commands.chat.conversation import Conversation
from pippin.commands.generator import TooLong
from pippin.errors import PippinError, nearest

#: What can be typed besides messages.
COMMANDS = {
    "/system TEXT": "set the system message; without TEXT, take it away",
    "/reset": "begin a new chat",
    "/help": "show this list",
    "/exit": "leave (or press Ctrl-D)",
}
_COMMAND = re.compile(r"/\w*")
_CUT = "(cut off at the limit of tokens; --max_new_tokens N allows more)"
_HOW_TO_LEAVE = "To leave, press Ctrl-C again, or Ctrl-D, or type /exit."


@dataclass
class Loop:
    conversation: Conversation
    read: Callable[[], str]
    """A line that was typed. EOFError and KeyboardInterrupt mean Ctrl-D and Ctrl-C."""
    show: Callable[[str], None]
    """Hears the answer, piece by piece."""
    say: Callable[[str], None]
    """Hears remarks."""
    guard: Callable[[], AbstractContextManager[None]] = nullcontext
    """Turns errors of the device into messages."""

    def run(self) -> None:
        while (line := self._line()) is not None:
            word, _, rest = line.rstrip().partition(" ")
            if word == "/exit":
                return
            if _COMMAND.fullmatch(word):
                self._obey(word, rest.strip())
            elif line.strip():
                self._answer(line.strip())

    def _line(self) -> str | None:
        """The next line; None to leave, as Ctrl-C twice in a row does."""
        try:
            return self.read()
        except EOFError:
            return None
        except KeyboardInterrupt:
            self.say(_HOW_TO_LEAVE)
        try:
            return self.read()
        except (EOFError, KeyboardInterrupt):
            return None

    def _answer(self, text: str) -> None:
        shown = list[str]()

        def show(piece: str) -> None:
            shown.append(piece)
            self.show(piece)

        try:
            remark = self._asked(text, show)
        except KeyboardInterrupt:
            shown.append("^C")  # which the terminal has shown
            remark = "(stopped)"
        if shown and not shown[-1].endswith("\n"):
            self.show("\n")
        if remark:
            self.say(remark)

    def _asked(self, text: str, show: Callable[[str], None]) -> str:
        """Let the model answer; what there is to say of it afterwards."""
        try:
            with self.guard():
                self.conversation.ask(text, show)
        except TooLong as error:
            way = "/reset begins a new one." if self.conversation.turns else "Send less at once."
            return f"The chat has {error.tokens} tokens, and the model reads {error.longest}. {way}"
        except PippinError as error:
            return str(error)
        return _CUT if self.conversation.generator.was_cut else ""

    def _obey(self, word: str, rest: str) -> None:
        if word == "/help":
            width = max(map(len, COMMANDS))
            self.say("\n".join(f"{name:{width}}  {what}" for name, what in COMMANDS.items()))
        elif word == "/reset":
            self.conversation.reset()
            self.say("A new chat.")
        elif word == "/system" and self.conversation.completes:
            self.say("With --complete there is no system message.")
        elif word == "/system":
            self.conversation.system = rest
            self.say("The system message is set." if rest else "No system message.")
        else:
            known = [name.split()[0] for name in COMMANDS]
            self.say(
                f"{word}: there is no such command.{nearest(word, known)} /help lists them. To send it to the model, "
                "put a space in front."
            )
