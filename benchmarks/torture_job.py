"""The job that is tortured: a tiny BERT with dropout that saves every other step, run by `pippin train`."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from torture_child import Child, preload

#: Name of a trial's run; unlike any other part of a path, so that faults can be aimed at it.
RUN = "tortured-run"
WORDS = {
    "animal": "cat dog horse cow sheep goat hen duck fox wolf bear deer".split(),
    "food": "bread cheese apple pear soup rice plum cake honey butter salt bean".split(),
    "tool": "hammer saw drill nail rope axe file chisel wrench ladder spade pump".split(),
}
FILLER = "the a my your old new big small red green near under over with and of is was in on".split()
#: Figures of an event that differ from run to run.
_OF_THE_CLOCK = re.compile(r"time|.*per_second|memory|seconds.*|.*runtime|path")


@dataclass(frozen=True)
class Result:
    """What must not differ: the final weights, and every loss and score on the way."""

    weights: str
    history: tuple[str, ...]


class Tool(Protocol):
    """A trainer under test; folders are those of trials."""

    name: str
    damageable: tuple[str, ...]
    """Files of a checkpoint."""
    save_points: list[int]
    """Steps after which it saves, but for the last."""

    def start(self, folder: Path, resume: bool = False, before: Callable[[], Any] | None = None) -> Child: ...

    def save_has_begun(self, folder: Path, step: int) -> bool: ...

    def save_was_cut(self, folder: Path, step: int) -> bool:
        """Whether a process that is now dead left this save unfinished."""

    def checkpoints(self, folder: Path) -> list[Path]:
        """Whole checkpoints, oldest first."""

    def result(self, folder: Path) -> Result | None:
        """Of a finished run."""


@dataclass(frozen=True)
class PippinJob:
    """`pippin train` with a save every few steps."""

    model: Path
    rows: Path
    steps: int
    save_steps: int
    forked: bool = True
    """Whether a trial is a fork that has all imports done, or a program of its own."""
    name: str = "pippin"
    settings: tuple[str, ...] = ()
    """More flags."""
    damageable: tuple[str, ...] = (
        "model.safetensors", "optimizer.safetensors", "state.json", "manifest.json", "config.json", "tokenizer.json",
        "tokenizer_config.json",
    )  # fmt: skip

    @property
    def save_points(self) -> list[int]:
        return list(range(self.save_steps, self.steps, self.save_steps))

    def command(self, *extra: str) -> list[str]:
        return [
            "train", str(self.rows), "--model_name_or_path", str(self.model), "--output_dir", RUN, "--use_cpu",
            "--max_steps", str(self.steps), "--save_steps", str(self.save_steps), "--save_total_limit", "2",
            "--logging_steps", "1", "--per_device_train_batch_size", "8", "--learning_rate", "1e-3", *self.settings,
            *extra,
        ]  # fmt: skip

    def start(self, folder: Path, resume: bool = False, before: Callable[[], Any] | None = None) -> Child:
        return self.call(
            folder, self.command(*(["--resume"] if resume else [])), "again" if resume else "first", before
        )

    def call(self, folder: Path, arguments: list[str], name: str, before: Callable[[], Any] | None = None) -> Child:
        """Any command of Pippin's in a trial's folder; ``before`` is called in the child first."""

        def work() -> int:
            from pippin.cli.main import main

            if before is not None:
                before()
            if not self.forked:
                os.execv(sys.executable, [sys.executable, "-m", "pippin", *arguments])
            return main(arguments)

        return Child(work, folder, name)

    def save_has_begun(self, folder: Path, step: int) -> bool:
        return self._is_staged(folder, step) or self._whole(folder, step).exists()

    def save_was_cut(self, folder: Path, step: int) -> bool:
        return self._is_staged(folder, step) and not self._whole(folder, step).exists()

    def checkpoints(self, folder: Path) -> list[Path]:
        found = (folder / RUN / "checkpoints").glob("step-*")
        return sorted(found, key=lambda path: int(path.name.removeprefix("step-")))

    def result(self, folder: Path) -> Result | None:
        weights = folder / RUN / "model.safetensors"
        record = folder / RUN / "run.json"
        if not weights.exists() or json.loads(record.read_text())["status"] != "finished":
            return None
        return Result(sha256(weights), self._history(folder))

    def _history(self, folder: Path) -> tuple[str, ...]:
        """Losses and scores as they were recorded, without what the clock decides."""
        try:
            events = [json.loads(line) for line in (folder / RUN / "events.jsonl").read_text().splitlines()]
        except ValueError as error:
            return (f"events.jsonl is broken: {error}",)
        kept = [event for event in events if event["event"] in ("log", "evaluation")]
        return tuple(
            json.dumps({key: value for key, value in event.items() if not _OF_THE_CLOCK.fullmatch(key)}, sort_keys=True)
            for event in kept
        )

    def last_step(self, folder: Path) -> int:
        """The last step that was finished, as the record of events has it; 0 before the first."""
        try:
            lines = (folder / RUN / "events.jsonl").read_text().splitlines()
            return max(json.loads(line).get("step", 0) for line in lines)
        except (OSError, ValueError):  # not there yet, or its last line is being written
            return 0

    def _is_staged(self, folder: Path, step: int) -> bool:
        return any((folder / RUN / "checkpoints").glob(f".pippin-step-{step}-*.partial"))

    def _whole(self, folder: Path, step: int) -> Path:
        return folder / RUN / "checkpoints" / f"step-{step}"


def fault_of(checkpoint: Path) -> str | None:
    """What contradicts a checkpoint's manifest, worked out without Pippin's own code."""
    try:
        files = json.loads((checkpoint / "manifest.json").read_text())["files"]
        for name, facts in files.items():
            path = checkpoint / name
            if path.stat().st_size != facts["bytes"] or sha256(path) != facts["sha256"]:
                return name
    except (OSError, ValueError, KeyError) as error:
        return repr(error)
    return None


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def make_inputs(folder: Path, rows: int, hidden: int, layers: int = 2, vocabulary: int = 0) -> tuple[Path, Path]:
    """A model with dropout, made from a configuration, and a file of rows whose class one word tells."""
    inputs, model = folder / "rows.jsonl", folder / "model"
    draw = random.Random(0)
    with inputs.open("w") as file:
        for number in range(rows):
            label = list(WORDS)[number % len(WORDS)]
            words = draw.choices(FILLER, k=draw.randint(2, 12)) + [draw.choice(WORDS[label])]
            draw.shuffle(words)
            file.write(json.dumps({"text": " ".join(words), "label": label}) + "\n")
    preload(["pippin.commands.train", "transformers.models.bert.modeling_bert", "safetensors.torch"])
    # In a child, since saving starts threads, and a process with threads must not be forked.
    maker = Child(lambda: _save_model(model, hidden, layers, vocabulary), folder, "making")
    if maker.wait():
        raise RuntimeError(maker.said)
    _load_once(model)
    return model, inputs


def _load_once(model: Path) -> None:
    """What transformers works out once a process, the children then inherit."""
    from tqdm import tqdm
    from transformers import AutoModelForSequenceClassification, logging

    tqdm.monitor_interval = 0  # no thread to watch over bars
    logging.set_verbosity_error()
    AutoModelForSequenceClassification.from_pretrained(model)
    logging.set_verbosity_warning()


def _save_model(folder: Path, hidden: int, layers: int, vocabulary: int) -> int:
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertModel

    folder.mkdir()
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *(word for group in WORDS.values() for word in group), *FILLER]
    tokenizer = Tokenizer(models.WordLevel({word: place for place, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 64, **special}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=max(vocabulary, len(words)), hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=2,
        intermediate_size=2 * hidden, max_position_embeddings=64, hidden_dropout_prob=0.1,
        attention_probs_dropout_prob=0.1,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    return 0
