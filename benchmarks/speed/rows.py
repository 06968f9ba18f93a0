"""Rows for the comparisons: TREC and MRPC from their publishers' files, and made-up texts of a given length."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path

WORDS = "the film was slow and long but its music made me stay until the end of a warm night in town".split()


@dataclass(frozen=True)
class Rows:
    """Texts, or pairs of texts, with their labels."""

    texts: list[str]
    pairs: list[str] | None
    labels: list[str]

    def __len__(self) -> int:
        return len(self.texts)

    def at(self, places: list[int]) -> Rows:
        """The rows at these places, in this order."""
        pairs = None if self.pairs is None else [self.pairs[place] for place in places]
        return Rows([self.texts[place] for place in places], pairs, [self.labels[place] for place in places])

    def sample(self, count: int, seed: int = 0) -> Rows:
        """So many rows drawn once at random, so that lengths and classes are spread as in the whole; all if too few."""
        return self.at(random.Random(seed).sample(range(len(self)), min(count, len(self))))

    def repeated(self, count: int) -> Rows:
        """So many rows, beginning again where they end."""
        return self.at([place % len(self) for place in range(count)])

    def write(self, path: Path) -> Path:
        """As JSON lines with the columns text, pair (where there is one) and label."""
        pairs = self.pairs or [None] * len(self)
        with path.open("w", encoding="utf-8") as file:
            for text, pair, label in zip(self.texts, pairs, self.labels, strict=True):
                row = {"text": text} | ({} if pair is None else {"pair": pair}) | {"label": label}
                file.write(json.dumps(row) + "\n")
        return path


def read(path: Path) -> Rows:
    """What `Rows.write` wrote."""
    with path.open(encoding="utf-8") as file:
        found = [json.loads(line) for line in file]
    pairs = [row["pair"] for row in found] if "pair" in found[0] else None
    return Rows([row["text"] for row in found], pairs, [row["label"] for row in found])


def trec(folder: Path) -> tuple[Rows, Rows]:
    """The 5452 training and 500 test questions with their six coarse classes."""
    return _trec_file(folder / "train_5500.label"), _trec_file(folder / "TREC_10.label")


def mrpc(folder: Path) -> tuple[Rows, Rows]:
    """The 3668 training and 408 development pairs, from GLUE's folder or MRPC's own."""
    own = folder / "MRPC" if (folder / "MRPC").is_dir() else folder
    return _mrpc_file(own / "train.tsv"), _mrpc_file(own / "dev.tsv")


def find(data: Path, names: str) -> dict[str, tuple[Rows, Rows]]:
    """Training and test rows of the named sets (`trec`, `mrpc`) in a folder that holds `trec/` and `glue/MRPC/`."""
    readers = {"trec": lambda: trec(data / "trec"), "mrpc": lambda: mrpc(data / "glue")}
    return {name: readers[name]() for name in names.split(",")}


def made_up(count: int, words: int, seed: int = 0) -> Rows:
    """Texts of so many common words, each of which is one token of most vocabularies; classes 0 and 1."""
    draw = random.Random(seed)
    texts = [" ".join(draw.choices(WORDS, k=words)) for _ in range(count)]
    return Rows(texts, None, [str(place % 2) for place in range(count)])


def _trec_file(path: Path) -> Rows:
    lines = [line.strip() for line in path.read_text(encoding="latin-1").split("\n") if line.strip()]
    parts = [line.partition(" ") for line in lines]
    return Rows([text for _, _, text in parts], None, [label.partition(":")[0] for label, _, _ in parts])


def _mrpc_file(path: Path) -> Rows:
    lines = path.read_text(encoding="utf-8-sig").split("\n")[1:]
    cells = [line.rstrip("\r").split("\t") for line in lines if line.strip()]
    return Rows([row[3] for row in cells], [row[4] for row in cells], [row[0] for row in cells])
