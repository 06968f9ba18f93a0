"""The guide as data: its pages, and the commands and programs in them."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LANGUAGES = ("zh", "ko", "ar")
_BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
_DOCUMENT = re.compile(r"^cat > (\S+) <<'END'\n(.*?)^END$\n?", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced piece of a page."""

    page: str
    language: str
    text: str


@dataclass(frozen=True)
class Document:
    """A file that a reader is told to write."""

    name: str
    text: str


@dataclass(frozen=True)
class Line:
    """A line for the shell: words, what stands before them, and where the output goes."""

    words: tuple[str, ...]
    variables: tuple[tuple[str, str], ...] = ()
    input: str = ""
    """A file that is piped into it."""
    output: str = ""

    def __str__(self) -> str:
        return shlex.join(self.words)


def blocks(page: Path) -> list[Block]:
    """In their order, without the indentation that tabs give them."""
    found = []
    for indent, language, text in _BLOCK.findall(page.read_text()):
        plain = "\n".join(line.removeprefix(indent) for line in text.split("\n"))
        found.append(Block(page.name, language, plain))
    return found


def typed(text: str) -> list[Document | Line]:
    """What a block for the shell does, in order."""
    found: list[Document | Line] = []
    while match := _DOCUMENT.search(text):
        found += _lines(text[: match.start()])
        found.append(Document(match[1], match[2]))
        text = text[match.end() :]
    return found + list(_lines(text))


def _lines(text: str) -> list[Line]:
    lines = text.replace("\\\n", " ").splitlines()
    return [_line(part) for line in lines for part in _split(line)]


def _split(line: str) -> list[list[str]]:
    """The words of each command in a line; comments are left out."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|>&;")
    lexer.whitespace_split, lexer.commenters = True, "#"
    parts: list[list[str]] = [[]]
    for word in lexer:
        if word == "&&":
            parts.append([])
        else:
            parts[-1].append(word)
    return [part for part in parts if part]


def _line(words: list[str]) -> Line:
    source, target, variables = "", "", []
    if words[0] == "cat" and words[2] == "|":
        source, words = words[1], words[3:]
    for mark in (">", ">>"):
        if mark in words:
            place = words.index(mark)
            target, words = words[place + 1], words[:place]
    while re.match(r"[A-Z_]+=", words[0]):
        name, _, value = words[0].partition("=")
        variables.append((name, value))
        words = words[1:]
    return Line(tuple(words), tuple(variables), source, target)
