"""What is compared of two runs."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path


def weights(folder: str) -> str:
    return hashlib.sha256(Path(folder, "model.safetensors").read_bytes()).hexdigest()


def story(folder: str) -> list[tuple]:
    """What was logged and scored, without times."""
    lines = [json.loads(line) for line in Path(folder, "events.jsonl").read_text().splitlines()]
    return [
        (line["event"], line["step"], line.get("loss"), line.get("grad_norm"), line.get("eval_accuracy"))
        for line in lines
        if line["event"] in ("log", "evaluation")
    ]


def flip(path: Path, bit: int = 0) -> None:
    """Change one bit of a file."""
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)


def tree(folder: str) -> dict[str, bytes]:
    """All files of a folder and what they hold."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}
