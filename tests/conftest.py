"""Shared by all tests: no network, a tiny BERT made on the spot, and small files of rows."""

from __future__ import annotations

import gc
import io
import json
import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from helpers import make_rows, save_tiny_tokenizer, with_traits

if TYPE_CHECKING:
    pass

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
# What a terminal says of itself is each test's own matter, not the matter of where the tests run.
for name in ("CI", "NO_COLOR", "FORCE_COLOR", "COLORTERM", "COLUMNS", "LINES", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
    os.environ.pop(name, None)
os.environ["TERM"] = "xterm"
os.environ["PIPPIN_CACHE"] = "off"  # for fixtures of a session; each test has a cache of its own
# Two threads on a model this small only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")


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


@pytest.fixture
def garbage_waits() -> Iterator[None]:
    """For tests that go to the end of the stack: what earlier tests left behind is not taken away there, but after."""
    gc.disable()
    yield
    gc.enable()


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


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


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


@pytest.fixture(scope="session")
def trained(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has learnt the words."""
    import pippin

    folder = tmp_path_factory.mktemp("trained")
    rows = folder / "words.jsonl"
    rows.write_text("".join(json.dumps(row) + "\n" for row in make_rows(300)))
    pippin.train(rows, model_name_or_path=tiny_model, output_dir=folder / "run", learning_rate=2e-3, seed=1,
                 num_train_epochs=20, per_device_train_batch_size=16, quiet=True)  # fmt: skip
    return folder / "run"


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
