"""Which rows, columns and labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: Names of tasks that are about the user's own rows, as run_ner.py has them.
TAGGING_TASKS = ("ner", "pos", "chunk")


@dataclass(frozen=True, kw_only=True)
class DataFields:
    data: str | None = None
    """The positional FILE or FOLDER of `pippin train`: CSV, TSV, TXT, JSON, JSONL, Parquet, XLSX or CoNLL (also .gz),
    or a folder of them. Default: the built-in questions."""

    task: Literal["text-classification", "token-classification", "text-generation"] | None = None
    """What to learn: a label for each text, a tag for each word, or the answers of a language model. Default: found in
    the rows; Pippin says what it found."""

    task_name: str | None = None
    """A known task: cola, mnli, mrpc, qnli, qqp, rte, sst2, stsb, wnli (GLUE) or trec; or ner, pos or chunk, which tag
    the words of your own rows."""

    data_dir: str | None = None
    """Folder with the task's original files. Default: download the task from the Hub."""

    dataset_name: str | None = None
    """A data set on the Hub, read with the `datasets` package."""

    dataset_config_name: str | None = None
    """The configuration of the Hub data set."""

    train_file: str | None = None
    """File with the training rows."""

    validation_file: str | None = None
    """File with the validation rows. Default: a stratified part of the training rows."""

    test_file: str | None = None
    """File with rows to predict (labels are optional and used for a test score)."""

    text_column: tuple[str, ...] = ()
    """The columns that hold the text: one, two, or more, which are joined by the tokenizer's separator. Default: found
    by name and content; Pippin says which."""

    label_column: str | None = None
    """The column that holds the label, or several columns of 0 and 1, one for each label: toxic,insult. Default: found
    by name and content; Pippin says which."""

    learn: Literal["all", "answers", "last"] | None = None
    """Language models: what is learnt of a chat. `answers`: all that the assistant says; `last`: its last answer;
    `all`: everything, prompts included. Default: answers; all of plain texts."""

    several_labels: Literal["on", "off"] | None = None
    """Whether a row may have several labels: lists, or a cell such as a|c. Default: found in the rows; Pippin says what
    it found."""

    do_regression: bool | None = None
    """Treat labels as numbers to predict rather than classes. Default: only for the task stsb."""

    fine_labels: bool = False
    """For trec: use the fine classes (about 50) instead of the six coarse ones."""

    validation_split: float | None = None
    """Share of training rows held out when there is no validation file, 0 to 0.5. Default: 0.1; 0 for none."""

    encoding: str = "utf-8"
    """Character encoding of CSV, TSV and JSON files."""

    column_names: tuple[str, ...] = ()
    """Names for the columns of CSV and TSV files whose first line doesn't name them, such as text,label."""

    no_header: bool = False
    """The first line of CSV and TSV files is a row, too. The columns are column1, column2 and so on, unless
    column_names names them."""

    skip_bad_rows: bool = False
    """Leave out rows without text or label instead of stopping. Pippin reports how many."""

    max_seq_length: int | None = None
    """Longest input in tokens. Longer texts are cut, and Pippin reports how many. Default: as long as the longest text,
    at least 128, at most 2048 and what the model can read; 128 with --do_train."""

    pad_to_max_length: bool = False
    """Pad every batch to max_seq_length. Off by default: slower, with the same results."""

    overwrite_cache: bool = False
    """Recompute cached tokens and outputs of frozen layers. The variable PIPPIN_CACHE sets the cache's folder, or
    `off`."""

    max_train_samples: int | None = None
    """Use only N training rows, drawn at random by the seed; the first ones with --do_train."""

    max_eval_samples: int | None = None
    """Use only N validation rows, drawn in the same way."""

    first_rows: bool = False
    """With max_train_samples and max_eval_samples: use the first rows instead of random ones."""

    max_predict_samples: int | None = None
    """Use only the first N test rows."""
