"""Text out of tokens, as they are generated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from threading import Event
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

#: Hears an answer as it comes, some characters at a time.
OnText = Callable[[str], None]


class Streamer:
    """Takes tokens from transformers' generate, and hands on the text that no later token will change.

    The space that some models put before an answer is left out.
    """

    def __init__(self, tokenizer: Any, on_text: OnText | None, is_answer: bool = False):
        self.tokenizer, self.on_text, self.is_answer = tokenizer, on_text, is_answer
        self.has_prompt, self.tokens, self.text = False, list[int](), ""

    def put(self, tokens: torch.Tensor) -> None:
        if not self.has_prompt:  # it comes first
            self.has_prompt = True
            return
        self.tokens += tokens.flatten().tolist()
        self._hand_on(is_over=False)

    def end(self) -> None:
        self._hand_on(is_over=True)

    def whole(self, tokens: list[int]) -> None:
        """All tokens of an answer that did not come one by one."""
        if tokens != self.tokens:
            self.tokens = tokens
            self.end()

    def _hand_on(self, is_over: bool) -> None:
        found = self.tokenizer.decode(self.tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        found = found.lstrip() if self.is_answer else found
        if found.endswith("\ufffd") and not is_over:  # a character of several tokens is not whole yet
            return
        new, self.text = found[len(self.text) :], found
        if new and self.on_text:
            self.on_text(new)


class _Closed(Exception):
    """Nobody hears the rest."""


def pieces_of(work: Callable[[OnText], object]) -> Iterator[str]:
    """What ``work`` says, piece by piece, while it goes on in a thread. It ends when the iterator is closed."""
    queue: SimpleQueue[str | None] = SimpleQueue()
    closed = Event()

    def say(piece: str) -> None:
        if closed.is_set():
            raise _Closed
        queue.put(piece)

    def run() -> None:
        try:
            work(say)
        finally:
            queue.put(None)

    with ThreadPoolExecutor(1, thread_name_prefix="pippin-answer") as thread:
        done = thread.submit(run)
        try:
            while (piece := queue.get()) is not None:
                yield piece
        finally:
            closed.set()
    done.result()  # what went wrong there is raised here
