"""`pippin predict`: label texts from the command line, a file or standard input."""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from pippin.errors import Mistakes, PippinError, nearest

if TYPE_CHECKING:
    from pippin.predictor import Prediction, Predictor

HELP = """
Usage: pippin predict RUN [--text TEXT ...] [--file FILE] [--output FILE] [--device NAME]

Label texts with a trained model: a run of Pippin's, or any folder of a transformers classifier.

  pippin predict runs/reviews --text "What a lovely film" --text "Dull."
  pippin predict runs/reviews --file new.csv --output labelled.csv
  cat lines.txt | pippin predict runs/reviews > labelled.csv

  --text TEXT        A text to label; may be given several times. For a model of text pairs give
                     --text FIRST --text2 SECOND.
  --text2 TEXT       The second text of each pair.
  --file FILE        CSV, TSV, JSON, JSONL or Parquet. The text columns are those of the training.
  --text_column NAME[,NAME]
                     The text columns of FILE, when they have other names than in training.
  --output FILE      Where to write: .csv or .jsonl. Default: CSV on standard output.
  --encoding NAME    Encoding of FILE. Default: utf-8.
  --device NAME      cpu, cuda or mps. Default: the best one here.
Without --text and --file, each line of standard input is a text.
Every row of the input comes back in its place, with the columns label and score added.
"""

_FLAGS = {"text", "text2", "file", "text_column", "output", "encoding", "device"}


@dataclass
class _Request:
    run: str
    flags: dict[str, list[str]]

    def one(self, name: str) -> str | None:
        return self.flags[name][-1] if name in self.flags else None


def run(arguments: list[str]) -> int:
    """Run the command; returns the exit code."""
    if any(word in ("-h", "--help") for word in arguments):
        print(HELP.strip())
        return 0
    request = _read(arguments)
    rows = _rows(request) if "file" in request.flags or "text" in request.flags else _standard_input()
    from pippin.api import load

    predictor = load(request.run, request.one("device"))
    texts, pairs = _texts(rows, request, predictor)
    from rich.console import Console

    from pippin.report.terminal import Terminal

    with Terminal(console=Console(stderr=True)).rows_bar(len(texts), "predicting") as advance:
        predictions = predictor.predict(texts, pairs, advance)
    _write(rows, predictions, request.one("output"))
    return 0


def _read(arguments: list[str]) -> _Request:
    positional, flags, mistakes = [], dict[str, list[str]](), []
    words = iter(arguments)
    for word in words:
        if not word.startswith("--"):
            positional.append(word)
            continue
        typed, equals, value = word.partition("=")
        name = typed[2:].replace("-", "_")
        if name not in _FLAGS:
            mistakes.append(f"{typed}: there is no such flag.{nearest(name, sorted(_FLAGS), '--')}")
        following = value if equals else next(words, None)
        if following is None:
            mistakes.append(f"{typed} needs a value after it.")
        else:
            flags.setdefault(name, []).append(following)
    if len(positional) != 1:
        named = f"but {len(positional)} were named: {', '.join(positional)}" if positional else "but none was named"
        mistakes.append(f'name one RUN folder, {named}. Example: pippin predict runs/reviews --text "…"')
    if "text" in flags and "file" in flags:
        mistakes.append("--text and --file exclude each other.")
    if "text2" in flags and len(flags["text2"]) != len(flags.get("text", [])):
        mistakes.append("--text2 goes with --text: give as many of one as of the other.")
    output = flags.get("output", [""])[-1]
    if output and Path(output).suffix.lower() not in (".csv", ".jsonl"):
        mistakes.append(f"--output {output}: the name must end in .csv or .jsonl.")
    if output and not Path(output).parent.is_dir():
        mistakes.append(f"--output {output}: there is no folder {Path(output).parent}.")
    if "device" in flags:
        from pippin.machine.backends import check_device_name

        try:
            check_device_name(flags["device"][-1])
        except PippinError as error:
            mistakes.append(str(error))
    if mistakes:
        raise Mistakes(mistakes)
    return _Request(positional[0], flags)


def _rows(request: _Request) -> dict[str, list[Any]]:
    """The input as columns."""
    if "text" in request.flags:
        columns = {"text": request.flags["text"]}
        return columns | ({"text2": request.flags["text2"]} if "text2" in request.flags else {})
    from pippin.data.tables import read_table

    return read_table(Path(request.flags["file"][-1]), request.one("encoding") or "utf-8").columns


def _standard_input() -> dict[str, list[Any]]:
    if sys.stdin.isatty():
        print("Type one text a line; end with Ctrl-D.", file=sys.stderr)
    lines = [line.rstrip("\n") for line in sys.stdin if line.strip()]
    if not lines:
        raise PippinError("standard input is empty: give --text, --file, or one text a line.")
    return {"text": lines}


def _texts(rows: dict[str, list[Any]], request: _Request, predictor: Predictor) -> tuple[list[str], list[str] | None]:
    trained_on = predictor.run.data.text_columns if predictor.run else ()
    asked = request.one("text_column")
    if asked:
        names: tuple[str, ...] = tuple(part.strip() for part in asked.split(","))
    elif "file" not in request.flags:
        names = tuple(rows)
        if trained_on and len(trained_on) != len(names):
            raise PippinError(
                f"{request.run} was trained on {len(trained_on)} text(s) a row ({', '.join(trained_on)}), "
                f"but {len(names)} came. Give --text {'and --text2 ' if len(trained_on) == 2 else ''}accordingly."
            )
    else:
        names = trained_on or (("text",) if "text" in rows else tuple(rows)[:1])
    missing = [name for name in names if name not in rows]
    if missing or not 1 <= len(names) <= 2:
        raise PippinError(
            f"{request.one('file')} has no column {', '.join(missing)}; it has {', '.join(rows)}. "
            "Add --text_column NAME."
        )
    cells = [["" if cell is None else str(cell) for cell in rows[name]] for name in names]
    return cells[0], cells[1] if len(cells) == 2 else None


def _write(rows: dict[str, list[Any]], predictions: list[Prediction], output: str | None) -> None:
    if output is None:
        _write_csv(sys.stdout, rows, predictions)
        return
    path = Path(output)
    partial = path.with_name(path.name + ".partial")
    with partial.open("w", encoding="utf-8", newline="") as file:
        (_write_csv if path.suffix.lower() == ".csv" else _write_jsonl)(file, rows, predictions)
    partial.replace(path)
    print(f"{len(predictions)} rows written to {path}", file=sys.stderr)


def _names(rows: dict[str, list[Any]]) -> tuple[str, str]:
    """Names for the two new columns that the input does not use already."""
    return (
        "predicted_label" if "label" in rows else "label",
        "predicted_score" if "score" in rows else "score",
    )


def _write_csv(file: TextIO, rows: dict[str, list[Any]], predictions: list[Prediction]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*rows, *_names(rows)])
    for cells, prediction in zip(zip(*rows.values(), strict=True), predictions, strict=True):
        writer.writerow([*cells, prediction.label, "" if prediction.score is None else f"{prediction.score:.6f}"])


def _write_jsonl(file: TextIO, rows: dict[str, list[Any]], predictions: list[Prediction]) -> None:
    label, score = _names(rows)
    for cells, prediction in zip(zip(*rows.values(), strict=True), predictions, strict=True):
        line = dict(zip(rows, cells, strict=True)) | {label: prediction.label, score: prediction.score}
        file.write(json.dumps(line, ensure_ascii=False, default=str) + "\n")
