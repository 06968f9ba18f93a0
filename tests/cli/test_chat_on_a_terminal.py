"""`pippin chat` as somebody at a terminal sees it: lines can be edited, answers come piece by piece, Ctrl-C stops."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lively_chat import save_lively

from pippin.commands.generator import Generator
from pippin.text import visible

SOURCE = Path(__file__).parents[2] / "src"
#: `pippin` with a model that falls silent after three tokens of an answer to a question with this in it.
PROGRAM = """
import signal, sys
from pippin.commands.generation import streamer
taken = streamer.Streamer.put
def put(self, tokens):
    taken(self, tokens)
    if "slowly" in self.tokenizer.decode(getattr(self, "asked", [])) and len(self.tokens) == 3:
        signal.pause()
    self.asked = getattr(self, "asked", tokens.flatten().tolist())
streamer.Streamer.put = put
from pippin.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
CTRL_C, CTRL_D, LEFT = "\x03", "\x04", "\x1b[D"
#: What a terminal acts on: colours, and whether pasted text is marked.
_ESCAPES = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")


class Screen:
    """A process at the other end of a pseudo terminal."""

    def __init__(self, *words: object):
        self.master, slave = pty.openpty()
        environment = {**os.environ, "PYTHONPATH": str(SOURCE), "TERM": "dumb"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, "chat", *map(str, words)], stdin=slave, stdout=slave, stderr=slave,
            env=environment, start_new_session=True,
            preexec_fn=_own_terminal,
        )  # fmt: skip
        os.close(slave)
        self.shown = ""

    def until(self, words: str) -> str:
        """What is shown from the last time on, up to these words."""
        while words not in self.shown:
            ready, _, _ = select.select([self.master], [], [], 100)
            assert ready, f"never seen: {words!r} in {self.shown!r}"
            try:
                block = os.read(self.master, 4096)
            except OSError:  # the process is gone
                block = b""
            assert block, f"never seen: {words!r} in {self.shown!r}"
            self.shown = _ESCAPES.sub("", self.shown + block.decode()).replace("\r\n", "\n")
        seen, _, self.shown = self.shown.partition(words)
        return seen

    def type(self, words: str) -> None:
        os.write(self.master, words.encode())

    def ends(self) -> int:
        try:
            while os.read(self.master, 4096):
                pass
        except OSError:
            pass
        return self.process.wait(100)


def _own_terminal() -> None:
    """The pseudo terminal is the process's own, so that Ctrl-C reaches it."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return save_lively(tmp_path_factory.mktemp("chat") / "model")


@pytest.fixture
def terminal(model) -> Iterator:
    opened: list[Screen] = []

    def open_one(*flags: object) -> Screen:
        opened.append(Screen(model, "--max_new_tokens", 9, *flags))
        return opened[-1]

    yield open_one
    for screen in opened:
        screen.process.kill()
        screen.process.wait()
        os.close(screen.master)


def test_a_chat_of_some_turns(terminal, model):
    screen = terminal("--device", "cpu")
    greeting = screen.until("> ")
    assert f"{model}: llama, 0.0442 million weights, reads 256 tokens, on cpu. /help lists commands" in greeting
    generator = Generator.load(str(model), "cpu")
    screen.type("the old ct?" + LEFT + LEFT + "a\n")  # a letter is put in where the cursor went
    asked = {"role": "user", "content": "the old cat?"}
    first = generator.answer([asked], max_new_tokens=9)
    assert visible(first) in screen.until("\n> ")
    screen.type("slowly, my bread?\n")
    chat = [asked, {"role": "assistant", "content": first}, {"role": "user", "content": "slowly, my bread?"}]
    second = visible(generator.answer(chat, max_new_tokens=9))
    screen.until("bread?\n")
    assert screen.until(second[:2]) == ""
    screen.type(CTRL_C)
    said = second[:2] + screen.until("\n(stopped)\n> ").removesuffix("^C")
    assert second.startswith(said)
    assert said != second
    screen.type("/help\n")
    assert "begin a new chat" in screen.until("\n> ")
    screen.type(CTRL_C)
    screen.until("To leave, press Ctrl-C again")
    screen.until("> ")
    screen.type(CTRL_D)
    assert screen.ends() == 0


def test_answers_cannot_steer_the_terminal(model, monkeypatch, run_cli):
    """Neither in a chat nor as the only answer."""
    from pippin.cli.chat import _show

    monkeypatch.setattr(
        Generator, "answer", lambda self, asked, on_text, **settings: on_text("a\x1b[31m\tb\nשלום") or ""
    )
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    code, out, _ = run_cli("chat", model, "--text", "x")
    assert (code, out) == (0, "a\\x1b[31m\tb\nשלום\n")
    _show("\x07ding")
    assert "\\x07ding" in run_cli("version")[1]
