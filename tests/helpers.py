"""Rows, plans and records that tests make or look at; fixtures are in conftest.py."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import MISSING, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

if TYPE_CHECKING:
    import pytest

    from pippin.plan.plan import Plan
    from pippin.tasks.parts import Part

WORDS = {
    "animal": ["cat", "dog", "horse", "cow", "sheep", "goat", "hen", "duck", "fox", "wolf", "bear", "deer"],
    "food": ["bread", "cheese", "apple", "pear", "soup", "rice", "plum", "cake", "honey", "butter", "salt", "bean"],
    "tool": ["hammer", "saw", "drill", "nail", "rope", "axe", "file", "chisel", "wrench", "ladder", "spade", "pump"],
}


FILLER = [
    "the",
    "a",
    "my",
    "your",
    "old",
    "new",
    "big",
    "small",
    "red",
    "green",
    "near",
    "under",
    "over",
    "with",
    "and",
    "of",
    "is",
    "was",
    "in",
    "on",
]


def some_plan(because: str = "so it is", **values: Any) -> Plan:
    """A plan with these values, and plain ones for the rest; reasons may hold the choice's {name}."""
    from pippin.plan import plan as module
    from pippin.plan.plan import Choice, Plan, plan_fields

    def some(kind: str) -> Any:
        return plain[kind] if kind in plain else get_args(getattr(module, kind))[0]

    plain = {"str": "some", "int": 3, "float": 0.5, "tuple[int, ...]": (), "tuple[str, ...]": ()}
    kinds = {
        name: str(item.type).removeprefix("Choice[").removesuffix("]")
        for name, item in plan_fields().items()
        if item.default is MISSING
    }
    choices = {
        name: Choice(values.pop(name) if name in values else some(kind), because.format(name=name))
        for name, kind in kinds.items()
    }
    return Plan.of(**choices, **values)


def with_traits(monkeypatch: pytest.MonkeyPatch, driver: Any, **changes: Any) -> None:
    """A device of this kind, with other traits."""
    monkeypatch.setattr(driver, "traits", replace(driver.traits, **changes))


def make_rows(count: int, seed: int = 0, classes: tuple[str, ...] = tuple(WORDS)) -> list[dict[str, str]]:
    """Sentences whose class can be told by one word, in varying lengths."""
    draw = random.Random(seed)
    rows = []
    for number in range(count):
        label = classes[number % len(classes)]
        words = draw.choices(FILLER, k=draw.randint(2, 12)) + [draw.choice(WORDS[label])]
        draw.shuffle(words)
        rows.append({"text": " ".join(words), "label": label})
    return rows


def save_tiny_tokenizer(folder: Path) -> int:
    """Write tokenizer.json and its configuration; returns the number of words."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    folder.mkdir(parents=True, exist_ok=True)
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)] + list("0123456789.,?!'-")
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *("##" + letter for letter in letters)]
    pieces += sorted({word for words in WORDS.values() for word in words} | set(FILLER) - set(letters))
    tokenizer = Tokenizer(models.WordPiece({piece: place for place, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    (folder / "tokenizer_config.json").write_text(
        json.dumps(
            {
                "tokenizer_class": "PreTrainedTokenizerFast",
                "model_max_length": 64,
                "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
                **special,
            }
        )
    )
    return len(pieces)


def edit_record(folder: Path | str, edit: Callable[[dict], object]) -> None:
    """Change a run's record as if Pippin had written it so."""
    from pippin.runs import record

    path = Path(folder, record.NAME)
    data = json.loads(path.read_text())
    edit(data)
    path.write_text(sealed(data))


def sealed(data: object) -> str:
    """A record as JSON, with the right checksum."""
    from pippin.runs import record

    if not isinstance(data, dict):
        return json.dumps(data)
    plain = {key: value for key, value in data.items() if key != "sha256"}
    plain = json.loads(json.dumps(plain))  # as it will be read
    return json.dumps({**plain, "sha256": record._checksum(plain)})


def events(folder: str, name: str) -> list[dict]:
    lines = [json.loads(line) for line in Path(folder, "events.jsonl").read_text().splitlines()]
    return [line for line in lines if line["event"] == name]


def labels_of(out: str) -> list[str]:
    """The labels in what `pippin predict` printed."""
    return [row["label"] for row in csv.DictReader(io.StringIO(out))]


def staged() -> list[Path]:
    """Files here that were begun and have no name yet."""
    from pippin.files import is_staging

    return [path for path in Path().iterdir() if is_staging(path.name)]


def read_csv(path: str) -> list[dict]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def by_class_part(
    classes: Sequence[str],
    figures: tuple[Any, ...] = (0.9, 0.8, 0.85, 5),
    counts: Sequence[Sequence[int]] | None = None,
    **changes: Any,
) -> Part:
    """Figures by class, as the task for one class a text makes them."""
    from pippin.tasks.parts import Matrix, Part, TablePart

    heads, formats = ("class", "precision", "recall", "F1", "rows"), ("", ".3f", ".3f", ".3f", "d")
    size = range(len(classes))
    counts = counts or [[4 * (down == across) + 1 for across in size] for down in size]
    part = Part(
        "By class, on the validation rows",
        TablePart(heads, tuple((name, *figures) for name in classes), formats, "classes"),
        Matrix(tuple(classes), tuple(map(tuple, counts)), "Actual classes down, predicted classes across."),
        in_brief=True,
    )
    return replace(part, **changes)
