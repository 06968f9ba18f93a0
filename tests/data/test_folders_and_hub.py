"""Folders of splits, files of mixed types, and the Hub's cache: all without a network."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from data_helpers import changed, lines, load, refusal, text, write

NAMES = ["not_equivalent", "equivalent"]
SIZES = {"train": 30, "validation": 12, "test": 9}
START = {"train": 0, "validation": 1000, "test": 2000}


def write_mrpc_shard(path: str, split: str, rows: range | None = None, carries_names: bool = True) -> None:
    rows = rows or range(SIZES[split])
    first = [text(START[split] + row) for row in rows]
    table = pa.table(
        {
            "sentence1": first,
            "sentence2": [words + " once more" for words in first],
            "label": pa.array([-1 if split == "test" else row % 2 for row in rows], pa.int64()),
            "idx": pa.array(list(rows), pa.int32()),
        }
    )
    if carries_names:
        features = {"label": {"names": NAMES, "_type": "ClassLabel"}}
        table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(table, path)


def write_mrpc(folder: str, carries_names: bool = True) -> None:
    for split in SIZES:
        write_mrpc_shard(f"{folder}/{split}-00000-of-00001.parquet", split, carries_names=carries_names)


def check_mrpc(data) -> None:
    assert len(data.train) == 30
    assert len(data.validation["validation"]) == 12
    assert data.test["test"].labels is None
    assert data.labels.names == tuple(NAMES)
    assert data.train.labels[:4].tolist() == [0, 1, 0, 1]
    assert data.train.pairs[0] == text(0) + " once more"


@pytest.mark.parametrize("carries_names", [True, False])
@pytest.mark.parametrize("data_dir", ["clone", "clone/mrpc"])
def test_clone_of_the_hub_s_glue(data_dir, carries_names):
    write_mrpc("clone/mrpc", carries_names)
    check_mrpc(load(task_name="mrpc", data_dir=data_dir))


def cache(repository: str, revision: str, files: dict[str, str]) -> Path:
    """A folder as huggingface_hub keeps it: refs/REVISION names the snapshot. Returns the snapshot."""
    root = Path("cache") / f"datasets--{repository.replace('/', '--')}"
    commit = "0123456789abcdef0123456789abcdef01234567"
    reference = root / "refs" / revision
    reference.parent.mkdir(parents=True, exist_ok=True)
    reference.write_text(commit)
    for name, split in files.items():
        write_mrpc_shard(str(root / "snapshots" / commit / name), split)
    return root / "snapshots" / commit


def test_task_from_the_hub_s_cache():
    cache("nyu-mll/glue", "main", {f"mrpc/{split}-00000-of-00001.parquet": split for split in SIZES})
    check_mrpc(load(task_name="mrpc", cache_dir="cache"))
    refusal("--task_name sst2", "has other parts of nyu-mll/glue, but not sst2", task_name="sst2", cache_dir="cache")


def test_task_that_is_not_in_the_cache():
    refusal("--task_name mrpc: nyu-mll/glue could not be downloaded", "--data_dir", task_name="mrpc", cache_dir="cache")


@pytest.mark.parametrize("carries_names", [True, False])
def test_trec_from_the_hub_s_cache(carries_names):
    snapshot = cache("CogComp/trec", "refs/convert/parquet", {})
    coarse = ["ABBR", "ENTY", "DESC", "HUM", "LOC", "NUM"]
    fine = [f"{name}:x" for name in coarse]
    features = {
        "coarse_label": {"names": coarse, "_type": "ClassLabel"},
        "fine_label": {"names": fine, "_type": "ClassLabel"},
    }
    for split, count in (("train", 60), ("test", 12)):
        numbers = [row % 6 for row in range(count)]
        texts = [text(START[split] + row) for row in range(count)]
        table = pa.table({"text": texts, "coarse_label": numbers, "fine_label": numbers})
        if carries_names:
            table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
        folder = snapshot / "default" / split
        folder.mkdir(parents=True)
        parquet.write_table(table, folder / "0000.parquet")
    data = load(task_name="trec", cache_dir="cache", validation_split=0)
    assert [data.labels.names[label] for label in data.train.labels[:6]] == coarse
    assert len(data.test["test"]) == 12
    if carries_names:
        data = load(task_name="trec", cache_dir="cache", fine_labels=True, validation_split=0)
        assert [data.labels.names[label] for label in data.train.labels[:6]] == fine


def test_shards_are_joined_and_rows_named_by_their_own_file():
    write_mrpc_shard("clone/train-00000-of-00002.parquet", "train", range(20))
    write_mrpc_shard("clone/train-00001-of-00002.parquet", "train", range(20, 30))
    data = load(data="clone", validation_split=0)
    assert data.train.texts == [text(row) for row in range(30)]
    broken = pa.table({"sentence1": ["a", ""], "sentence2": ["b", "c"], "label": [0, 1], "idx": [0, 1]})
    shard = parquet.read_table("clone/train-00001-of-00002.parquet").schema.metadata
    parquet.write_table(broken.replace_schema_metadata(shard), "clone/train-00001-of-00002.parquet")
    refusal("train-00001-of-00002.parquet, row 2: column 'sentence1' is empty", data="clone")


def test_missing_shard():
    """A download that was cut short would train on a part of the rows in silence."""
    write_mrpc_shard("clone/train-00000-of-00002.parquet", "train", range(20))
    refusal("clone: 1 of 2 files of the train split are there", "cut short", data="clone")


def test_shards_that_do_not_agree():
    write("rows/train-1.csv", "text,label", lines(20))
    write("rows/train-2.csv", "text,class", lines(20, start=20))
    refusal("train-2.csv has the columns text, class, but rows/train-1.csv has text, label", data="rows")


@pytest.mark.parametrize("other", ["train.jsonl", "training.csv", "train/part.csv", "train-1.csv"])
def test_two_files_for_one_split(other):
    """Often the same rows in two formats: joined, each row would count twice."""
    write("rows/train.csv", "text,label", lines(20))
    write(f"rows/{other}", "text,label", lines(20))
    refusal("rows: ", "train.csv", other, "are all for train", data="rows")


def test_folder_of_mixed_formats():
    write("rows/train.csv", "text,label", lines(40))
    write("rows/dev.jsonl", [json.dumps({"text": text(1000 + row), "label": "pos"}) for row in range(6)])
    write("rows/test.tsv", "text\tlabel", lines(4, start=2000, separator="\t"))
    write("rows/README.md", "not data")
    write("rows/train_notes.csv", "not data either")
    data = load(data="rows")
    assert data.name == "rows"
    assert (len(data.train), len(data.validation["validation"]), len(data.test["test"])) == (40, 6, 4)
    assert data.validation["validation"].labels.tolist() == [1] * 6


def test_folder_uses_the_encoding_and_the_files_named_beside_it():
    write("rows/train.csv", "text,label", changed(lines(40), 1, "café,pos"), encoding="latin-1")
    write("own.csv", "text,label", lines(5, start=3000))
    data = load(data="rows", encoding="latin-1", validation_file="own.csv", test_file="own.csv")
    assert data.train.texts[0] == "café"
    assert len(data.validation["validation"]) == len(data.test["test"]) == 5


@pytest.mark.parametrize("below", ["data", "plain_text", "default"])
def test_files_one_level_down_as_in_many_clones(below):
    write_mrpc(f"clone/{below}")
    check_mrpc(load(data="clone"))


def test_folder_of_several_data_sets():
    write_mrpc("clone/mrpc")
    write_mrpc("clone/other")
    refusal("clone holds several data sets (mrpc, other)", "such as clone/mrpc", data="clone")


def test_files_of_mixed_types():
    table = pa.table({"text": [text(row) for row in range(40)], "label": ["pos", "neg"] * 20})
    parquet.write_table(table, "a.parquet")
    data = load(
        train_file="a.parquet",
        validation_file=write("b.csv", "label;text", [f"neg;{text(1000 + row)}" for row in range(5)]),
        test_file=write("c.json", json.dumps([{"text": text(2000)}, {"text": text(2001)}])),
    )
    assert data.validation["validation"].labels.tolist() == [0] * 5
    assert data.test["test"].texts == [text(2000), text(2001)]
    assert data.test["test"].labels is None


def test_data_set_through_the_package_datasets():
    write_mrpc("set")
    data = load(dataset_name="./set", cache_dir="cache")
    assert data.name == "set"
    check_mrpc(data)
    refusal("--dataset_name nobody/nothing: cannot be loaded", dataset_name="nobody/nothing", cache_dir="cache")


def test_splits_of_other_names_on_the_hub(monkeypatch):
    import datasets

    def rows(start: int) -> datasets.Dataset:
        labels = datasets.ClassLabel(names=["zero", "one"])
        features = datasets.Features({"text": datasets.Value("string"), "label": labels})
        return datasets.Dataset.from_dict(
            {"text": [text(start + row) for row in range(20)], "label": [0, 1] * 10}, features
        )

    splits = datasets.DatasetDict({"train": rows(0), "dev": rows(100), "unsupervised": rows(200)})
    monkeypatch.setattr(datasets, "load_dataset", lambda *arguments, **keywords: splits)
    data = load(dataset_name="some/set")
    assert len(data.validation["validation"]) == 20
    assert data.labels.names == ("zero", "one")
    assert data.notes == ["set: not used: the split unsupervised."]


def test_own_test_file_beside_a_task():
    write_mrpc("clone/mrpc")
    own = write("own.csv", "sentence1,sentence2", ["one text,another text"])
    assert load(task_name="mrpc", data_dir="clone", test_file=own).test["test"].texts == ["one text"]


def test_no_training_rows():
    test = write("test.csv", "text,label", lines(20))
    refusal("there are no training rows", "--train_file", test_file=test)


@pytest.mark.parametrize("header", ["text", "text,label"])
def test_only_rows_to_predict(header):
    """Without training the classes must come from somewhere."""
    test = write("test.csv", header, [f"{text(row)}{',' if 'label' in header else ''}" for row in range(9)])
    refusal("test.csv", "pippin predict RUN --file", test_file=test, do_predict=True)
    labelled = write("test.csv", "text,label", lines(9))
    assert load(test_file=labelled, do_predict=True).labels.names == ("neg", "pos")
