"""Rows from the Hugging Face Hub: known tasks as Parquet files, any other data set through the package `datasets`."""

from __future__ import annotations

from pathlib import Path

from pippin.data.folders import read_split_folder, split_name
from pippin.data.tables import Table
from pippin.errors import PippinError
from pippin.machine.hub_access import NO_NETWORK, is_cut_off, without_waiting
from pippin.redact import remember_secret, without_secrets

#: Where the Hub has the known tasks.
GLUE, TREC = "nyu-mll/glue", "CogComp/trec"


def task_from_hub(task: str, cache_dir: str | None, token: str | None) -> dict[str, Table]:
    """The splits of a known task, from the Hub's cache or the Hub itself."""
    from huggingface_hub import snapshot_download

    remember_secret(token)
    if task == "trec":
        repository, revision, folder = TREC, "refs/convert/parquet", "default"
    else:
        repository, revision, folder = GLUE, "main", task
    try:
        with without_waiting():
            snapshot = snapshot_download(
                repository,
                repo_type="dataset",
                revision=revision,
                allow_patterns=[f"{folder}/*.parquet", f"{folder}/*/*.parquet"],
                cache_dir=cache_dir,
                token=token,
            )
    except Exception as error:  # the Hub's client raises many kinds; each means that it cannot be had
        why = NO_NETWORK if is_cut_off() else _first_line(error)
        raise PippinError(
            f"--task_name {task}: {repository} could not be downloaded from the Hub: {why}. "
            "Check the network, or give a local folder with --data_dir."
        ) from None
    if not (Path(snapshot) / folder).is_dir():
        raise PippinError(
            f"--task_name {task}: the Hub's cache ({snapshot}) has other parts of {repository}, but not {folder}. "
            "Go online once, or give a local folder with --data_dir."
        )
    return read_split_folder(Path(snapshot) / folder)


def dataset_from_hub(name: str, config: str | None, cache_dir: str | None, token: str | None) -> dict[str, Table]:
    """The splits of any data set that `datasets` can load."""
    try:
        from datasets import ClassLabel, load_dataset
    except ImportError:
        raise PippinError("--dataset_name needs the package datasets: pip install 'pippin[hub]'") from None
    remember_secret(token)
    try:
        loaded = load_dataset(name, config, cache_dir=cache_dir, token=token)
    except Exception as error:  # likewise many kinds
        raise PippinError(f"--dataset_name {name}: cannot be loaded ({_first_line(error)}).") from None
    tables = {}
    for split, rows in loaded.items():
        classes = {column: tuple(kind.names) for column, kind in rows.features.items() if isinstance(kind, ClassLabel)}
        columns = {column: list(rows[column]) for column in rows.column_names}
        tables[split_name(str(split)) or str(split)] = Table(columns, f"{name} ({split})", classes)
    return tables


def _first_line(error: Exception) -> str:
    return without_secrets(str(error).strip().split("\n")[0]) or type(error).__name__
