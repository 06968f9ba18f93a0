"""`pippin predict` on files of a thousand rows to a million: does the time grow with the rows, and the memory not?

python benchmarks/predict_stream.py --rows 1000 10000 100000              a tiny model, trained on the spot
python benchmarks/predict_stream.py --model runs/trec --texts FOLDER --rows 1000000

Each file is labelled by a child process of its own, whose wall and CPU seconds and largest resident memory are
recorded. Texts are questions put together from the words below, or those of the .txt files of a folder, a line each,
over and over. --flags hands on flags of `pippin predict`, such as --flags=--int8.
"""

from __future__ import annotations

import argparse
import csv
import multiprocessing
import os
import random
import resource
import shlex
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from recording import record

ASKED = {
    "place": ["where is", "in which town lies", "what country holds"],
    "time": ["when was", "in which year came", "how long lasts"],
    "person": ["who made", "whose idea was", "what man found"],
}
THINGS = "the bridge,a river,the first train,this old song,paper,the north sea,a glass of tea,bread,the wheel".split(
    ","
)
MORE = "of all,in the mountains,before the war,near the lake,without a name,that nobody saw,on a winter day".split(",")
#: Rows that the tiny model is trained on.
TRAINING_ROWS = 300


def questions(seed: int = 0) -> Iterator[tuple[str, str]]:
    """Questions and their classes, without end: six to thirty words."""
    draw = random.Random(seed)
    while True:
        kind = draw.choice(list(ASKED))
        rest = [draw.choice(THINGS), *draw.choices(MORE, k=draw.randint(0, 6))]
        yield f"{draw.choice(ASKED[kind])} {' '.join(rest)}?", kind


def texts_of(folder: Path) -> Iterator[str]:
    """The lines of a folder's .txt files, over and over."""
    lines = [line for path in sorted(folder.glob("*.txt")) for line in path.read_text("utf-8").splitlines()]
    return cycle([line for line in lines if line.strip()])


def write_rows(path: Path, texts: Iterator[str], count: int) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "text"])
        rows.writerows(enumerate(islice(texts, count), 1))


def train_tiny_model(folder: Path) -> None:
    """A BERT of two layers, trained for a moment on the same kind of questions, into the folder's run."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    import pippin

    words = sorted({word for text, _ in islice(questions(), 2000) for word in text[:-1].split()})
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "?"]
    tokenizer = Tokenizer(
        models.WordPiece({word: place for place, word in enumerate([*special, *words])}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=64, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]"
    )
    base = folder / "base"
    fast.save_pretrained(base)
    config = BertConfig(
        vocab_size=len(special) + len(words),
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=128,
        max_position_embeddings=64,
    )
    BertModel(config).save_pretrained(base)
    rows = folder / "train.csv"
    with rows.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *islice(questions(seed=1), TRAINING_ROWS)])
    pippin.train(rows, model_name_or_path=str(base), output_dir=str(folder / "run"), max_steps=60, quiet=True)


def tiny_model(folder: Path) -> Path:
    """The same in a process of its own, so that this one stays small: see `measure`."""
    process = multiprocessing.get_context("spawn").Process(target=train_tiny_model, args=(folder,))
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit("the tiny model could not be trained")
    return folder / "run"


def measure(model: str, rows: Path, output: Path, flags: list[str]) -> dict[str, Any]:
    """Label one file in a child process.

    Linux counts what this process held when the child was started as the child's, so a peak that is not well above
    ours would be ours.
    """
    command = [sys.executable, "-m", "pippin", "predict", model, "--file", str(rows), "--output", str(output), *flags]
    start = time.perf_counter()
    child = os.posix_spawn(sys.executable, command, os.environ)
    _, status, usage = os.wait4(child, 0)
    seconds = time.perf_counter() - start
    if status:
        raise SystemExit(f"failed: {shlex.join(command)}")
    if usage.ru_maxrss < 2 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss:
        raise SystemExit("the child's peak cannot be told from this process's own memory")
    return {
        "wall_seconds": round(seconds, 2),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 2),
        "peak_mib": round(usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 10_000, 100_000], help="sizes of the files")
    parser.add_argument("--model", help="a trained run; default: a tiny model, trained on the spot")
    parser.add_argument(
        "--texts", type=Path, help="a folder of .txt files with a text a line; default: made-up questions"
    )
    parser.add_argument("--flags", default="", help="flags for pippin predict")
    parser.add_argument("--name", default="predict_stream", help="name of the record")
    arguments = parser.parse_args()
    figures: dict[str, Any] = {"model": arguments.model or "tiny", "flags": arguments.flags, "files": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = arguments.model or str(tiny_model(folder))
        for count in arguments.rows:
            rows, output = folder / "rows.csv", folder / "labelled.csv"
            texts = texts_of(arguments.texts) if arguments.texts else (text for text, _ in questions())
            write_rows(rows, texts, count)
            found = {"rows": count, "file_mib": round(rows.stat().st_size / 2**20, 1)}
            found |= measure(model, rows, output, shlex.split(arguments.flags))
            with output.open(newline="") as file:
                assert sum(1 for _ in csv.reader(file)) == count + 1
            figures["files"].append(found)
            print("  ".join(f"{key} {value}" for key, value in found.items()), flush=True)
    print(record(arguments.name, figures))


if __name__ == "__main__":
    main()
