"""The small job that the scripts of this folder run in several processes, and how its result is judged."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path

from transformers import BertConfig, BertModel

sys.path[:0] = [str(Path(__file__).parents[1])]
from recording import record  # noqa: E402, F401 (for the other scripts)

WORDS = [f"{first}{second}" for first in "bdfgklmnprst" for second in ("a", "e", "i", "o", "u")]
TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--standalone")


def make_inputs(folder: Path, rows: int = 240, width: int = 64, layers: int = 2) -> None:
    """A BERT with dropout and a file of rows whose class is plain to see."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    (folder / "model").mkdir(parents=True)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    vocabulary = {word: place for place, word in enumerate([*special, *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(folder / "model" / "tokenizer.json"))
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    (folder / "model" / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 128, **names})
    )
    BertModel(
        BertConfig(
            vocab_size=len(vocabulary), hidden_size=width, num_hidden_layers=layers, num_attention_heads=width // 32,
            intermediate_size=4 * width, max_position_embeddings=128,
        )
    ).save_pretrained(folder / "model")  # fmt: skip
    draw = random.Random(0)
    lines = ["text,label"]
    for _ in range(rows):
        words = draw.choices(WORDS, k=draw.randint(8, 60))
        lines.append(f"{' '.join(words)},{'early' if words[0] < 'k' else 'late'}")
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")


def words(folder: Path, run: str, *flags: object) -> list[str]:
    """`-m pippin train …`, to be put behind a launcher."""
    own = ["-m", "pippin", "train", folder / "rows.csv", "--model", folder / "model", "--output_dir", folder / run]
    return list(map(str, [*own, *flags]))


def start(command: list[str], threads: int = 1) -> subprocess.Popen[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "HF_HUB_OFFLINE": "1", "PYTHONUNBUFFERED": "1"}
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.Popen(command, env=environment, text=True, **pipe)


def weights_of(run: Path) -> str:
    return hashlib.sha256((run / "model.safetensors").read_bytes()).hexdigest()
