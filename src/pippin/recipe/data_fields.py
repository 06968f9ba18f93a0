"""Which rows, columns and labels."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class DataFields:
    data: str | None = None
    """The positional FILE or FOLDER of `pippin train`: CSV, TSV (or .txt), JSON, JSONL, Parquet, or a folder of such.
    Default: the built-in questions."""

    task_name: str | None = None
    """A known task: cola, mnli, mrpc, qnli, qqp, rte, sst2, stsb, wnli (GLUE) or trec."""

    data_dir: str | None = None
    """Folder with the task's files in their publisher's layout. Default: the task is taken from the Hub."""

    dataset_name: str | None = None
    """A data set on the Hub, read through the package `datasets`."""

    dataset_config_name: str | None = None
    """The configuration of the Hub data set."""

    train_file: str | None = None
    """File with the training rows."""

    validation_file: str | None = None
    """File with the validation rows. Default: a stratified part of the training rows."""

    test_file: str | None = None
    """File with rows to predict (labels are optional and used for a test score)."""

    text_column: tuple[str, ...] = ()
    """One or two columns that hold the text. Default: found by name and content, and said."""

    label_column: str | None = None
    """The column that holds the label. Default: found by name and content, and said."""

    do_regression: bool | None = None
    """Treat labels as numbers to predict rather than classes. Default: only where the task says so (stsb)."""

    fine_labels: bool = False
    """For trec: the fine classes (about 50) instead of the six coarse ones."""

    validation_split: float | None = None
    """Share of training rows held out when there is no validation file, 0 to 0.5. Default: 0.1; 0 holds none out."""

    encoding: str = "utf-8"
    """Character encoding of CSV, TSV and JSON files."""

    skip_bad_rows: bool = False
    """Leave out rows without text or label instead of stopping; how many is said."""

    max_seq_length: int = 128
    """Longest input in tokens; longer texts are cut, and how many is said."""

    pad_to_max_length: bool = False
    """Pad every batch to max_seq_length. Off by default: it changes no result and costs work."""

    overwrite_cache: bool = False
    """Make the tokens of large files, and what a frozen part of the model gives for each row, anew instead of taking
    them from the cache (its folder: PIPPIN_CACHE, or off)."""

    max_train_samples: int | None = None
    """Use only the first N training rows."""

    max_eval_samples: int | None = None
    """Use only the first N validation rows."""

    max_predict_samples: int | None = None
    """Use only the first N test rows."""
