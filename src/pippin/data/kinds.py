"""What kind of file a name promises, also under the .gz of an archive."""

from __future__ import annotations

from pathlib import Path

TEXT_KINDS = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson")
#: Files of a word and its tags on each line.
CONLL_KINDS = (".conll", ".conllu", ".bio", ".iob", ".iob2", ".iobes", ".bioes", ".ner")
#: Every kind that is read; the kinds of text also when they are packed, as in reviews.csv.gz.
KINDS = (*TEXT_KINDS, ".parquet", ".xlsx", ".conll")


def is_packed(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


def kind_of(path: Path) -> str:
    """The suffix in lower case, of a packed file the one below its .gz; "" where there is none.

    >>> kind_of(Path("a/reviews.CSV")), kind_of(Path("reviews.csv.gz"))
    ('.csv', '.csv')
    """
    return (path.with_suffix("") if is_packed(path) else path).suffix.lower()


def stem_of(path: Path) -> str:
    """The name without these suffixes: `reviews` of reviews.csv.gz."""
    return Path(path.stem).stem if is_packed(path) else path.stem


def is_rows(path: Path) -> bool:
    """Whether a file of this name is read."""
    return kind_of(path) in (*(TEXT_KINDS if is_packed(path) else KINDS), *CONLL_KINDS)
