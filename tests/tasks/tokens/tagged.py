"""Rows of words and tags that a tiny model learns."""

from __future__ import annotations

import json
import random
from pathlib import Path

from helpers import FILLER, WORDS

KINDS = tuple(WORDS)[:2]


def tagged_rows(count: int, seed: int = 0) -> list[dict[str, list[str]]]:
    """Words of two classes are entities, of one word or two, among others that are none."""
    draw = random.Random(seed)
    rows = []
    for _ in range(count):
        words, tags = [], []
        for _ in range(draw.randint(2, 4)):
            plain = draw.choices(FILLER, k=draw.randint(1, 3))
            words, tags = [*words, *plain], [*tags, *["O"] * len(plain)]
            if draw.random() < 0.6:
                kind, length = draw.choice(KINDS), draw.randint(1, 2)
                middle = len(WORDS[kind]) // 2  # other words go on than begin, so that few rows teach it
                words += [draw.choice(WORDS[kind][:middle]), draw.choice(WORDS[kind][middle:])][:length]
                tags += [f"B-{kind}", f"I-{kind}"][:length]
        rows.append({"tokens": [*words, "."], "tags": [*tags, "O"]})
    return rows


def write_jsonl(name: str, rows: list[dict[str, list[str]]]) -> Path:
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Path(name)


def write_conll(name: str, rows: list[dict[str, list[str]]]) -> Path:
    lines = ("\n".join(map("\t".join, zip(row["tokens"], row["tags"], strict=True))) for row in rows)
    Path(name).write_text("\n\n".join(lines) + "\n")
    return Path(name)
