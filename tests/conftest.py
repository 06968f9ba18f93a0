"""Shared by all tests: no network, a tiny BERT made on the spot, and small files of rows."""

from __future__ import annotations

import csv
import gc
import io
import json
import os
import random
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest

if TYPE_CHECKING:
    from pippin.plan.plan import Plan
    from pippin.tasks.parts import Part

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
# What a terminal says of itself is each test's own matter, not the matter of where the tests run.
for name in ("CI", "NO_COLOR", "FORCE_COLOR", "COLORTERM", "COLUMNS", "LINES", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
    os.environ.pop(name, None)
os.environ["TERM"] = "xterm"
os.environ["PIPPIN_CACHE"] = "off"  # for fixtures of a session; each test has a cache of its own
# Two threads on a model this small only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

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


def pytest_collection_finish() -> None:
    """What the imports have made stays: accelerate collects garbage often, and would go through all of it each time."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without the emulated GPU, as on a Mac, its tests run on the real one, but for those that steer it."""
    items.sort(key=lambda item: "torture" not in item.nodeid)  # the longest first, so that no process waits for it
    if config.pluginmanager.hasplugin("emulated_mps"):
        return
    import torch

    for item in items:
        steers = "mps" in getattr(item, "fixturenames", ())
        if item.get_closest_marker("emulated_mps") and (steers or not torch.backends.mps.is_available()):
            item.add_marker(pytest.mark.skip(reason="needs the emulated Apple GPU: see `make test`"))


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any attempt to leave this computer fails at once."""

    def refuse(*arguments: object, **keywords: object) -> None:
        raise AssertionError(f"a test tried to reach the network: {arguments}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIPPIN_CACHE", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def compared_first() -> None:
    """For tests of the comparison that training on the Apple GPU begins with; all others save the time."""


@pytest.fixture(autouse=True)
def _not_compared_first(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    from pippin.machine.drivers.mps import MpsBackend

    if "compared_first" not in request.fixturenames:
        with_traits(monkeypatch, MpsBackend, verifies_first=False)


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


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


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


@pytest.fixture
def write_rows(tmp_path: Path) -> Callable[..., Path]:
    """Write rows as a file; the suffix decides the format."""

    def write(name: str, rows: list[dict]) -> Path:
        import pyarrow as pa
        import pyarrow.csv
        import pyarrow.parquet

        path = tmp_path / name
        table = pa.Table.from_pylist(rows)
        if path.suffix == ".csv":
            pyarrow.csv.write_csv(table, path)
        elif path.suffix == ".tsv":
            pyarrow.csv.write_csv(table, path, pyarrow.csv.WriteOptions(delimiter="\t"))
        elif path.suffix == ".parquet":
            pyarrow.parquet.write_table(table, path)
        elif path.suffix == ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        else:
            path.write_text(json.dumps(rows))
        return path

    return write


@pytest.fixture
def word_file(write_rows: Callable[..., Path]) -> Path:
    return write_rows("words.csv", make_rows(120))


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of two layers and 32 columns with a word-level WordPiece tokenizer, saved as on the Hub."""
    import torch
    from transformers import BertConfig, BertModel

    folder = tmp_path_factory.mktemp("models") / "tiny-bert"
    vocabulary = save_tiny_tokenizer(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=vocabulary,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
    )
    BertModel(config).save_pretrained(folder)
    return folder


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


@pytest.fixture
def run_cli(capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[..., tuple[int, str, str]]]:
    """Run a command in this process; returns exit code, output and error output."""
    from pippin.cli.main import main

    def call(*arguments: object) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def train(run_cli, tiny_model):
    """`pippin train` with the tiny model; asserts success and returns the output and all results."""

    def call(*arguments: object, folder: str = "run", steps: int = 4) -> tuple[str, dict]:
        extra = [] if "--num_train_epochs" in arguments or "--max_steps" in arguments else ["--max_steps", steps]
        code, out, err = run_cli(
            "train", *arguments, "--model_name_or_path", tiny_model, "--output_dir", folder, *extra
        )
        assert code == 0, err
        return out, json.loads(Path(folder, "all_results.json").read_text())

    return call


@pytest.fixture
def command(run_cli, word_file, tiny_model):
    """`pippin train` on the words, eight rows a batch: 14 steps an epoch, three epochs."""

    def call(folder: str, *flags: object) -> tuple[int, str, str]:
        return run_cli(
            "train", word_file, "--model_name_or_path", tiny_model, "--num_train_epochs", 3, "--learning_rate", "3e-3",
            "--per_device_train_batch_size", 8, "--logging_steps", 3, "--output_dir", folder, *flags,
        )  # fmt: skip

    return call


@pytest.fixture
def interrupt(monkeypatch):
    """Send this process a signal when a run has logged a step."""
    from pippin.report.progress import TrainingProgress

    shown = TrainingProgress.on_event

    def at(step: int, number: signal.Signals = signal.SIGTERM) -> None:
        waiting = [step]

        def on_event(self, name, figures):
            shown(self, name, figures)
            if name == "log" and figures["step"] in waiting:
                waiting.clear()
                os.kill(os.getpid(), number)

        monkeypatch.setattr(TrainingProgress, "on_event", on_event)

    return at


@pytest.fixture
def screen():
    """A terminal that keeps what it shows."""
    from rich.console import Console

    from pippin.report.terminal import Terminal

    def make(width: int = 100, tty: bool = False, **settings) -> tuple[Terminal, io.StringIO]:
        out = io.StringIO()
        out.isatty = lambda: tty  # type: ignore[method-assign]
        console = Console(file=out, width=width, force_terminal=tty, highlight=False, color_system=None)
        return Terminal(console=console, **settings), out

    return make


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
        Matrix(tuple(classes), tuple(map(tuple, counts)), "True classes down, predicted classes across."),
        in_brief=True,
    )
    return replace(part, **changes)
