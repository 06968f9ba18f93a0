"""Known tasks in their publishers' layout: GLUE's nine folders and TREC's files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from data_helpers import load, refusal, text, write
from glue_layouts import GLUE, ROWS, START, cell_text, write_glue

from pippin.errors import PippinError
from pippin.recipe.reading import recipe_from
from pippin.tasks.registry import find_task


@pytest.mark.parametrize("by_root", [True, False], ids=["root", "folder"])
@pytest.mark.parametrize("name", GLUE)
def test_glue_task(name, by_root):
    task = GLUE[name]
    folder = write_glue(name)
    write_glue("sst2" if name != "sst2" else "rte")
    data = load(task_name=name, data_dir="glue" if by_root else folder)
    splits = {"train": data.train, **data.validation, **data.test}
    assert set(splits) == {"train", *task.splits}
    for split, file in {"train": "train", **task.splits}.items():
        found, kind = splits[split], file.split("_")[0]
        start = START.get(file, 2500)
        assert found.texts == [cell_text(0, start + row) for row in range(ROWS[kind])]
        if len(task.texts) == 2:
            assert found.pairs == [cell_text(1, start + row) for row in range(ROWS[kind])]
        else:
            assert found.pairs is None
        if kind == "test":
            assert found.labels is None
        elif name == "stsb":
            np.testing.assert_allclose(found.labels[:3], [3.8, 0.0, 5.0])
        else:
            names = [data.labels.names[label] for label in found.labels]
            assert names == [task.classes[row % len(task.classes)] for row in range(ROWS[kind])]
    assert data.labels.regression == (name == "stsb")
    assert (data.notes, data.warnings) == ([], [])


@pytest.mark.parametrize("spelt", ["SST-2", "sst-2", "sst2", "STS-B", "MNLI"])
def test_names_in_glue_s_own_spelling(spelt):
    write_glue(spelt.lower().replace("-", ""))
    assert len(load(task_name=spelt, data_dir="glue").train) == 30


def test_class_numbers_are_those_of_the_hub():
    """A model trained on GLUE's files must give the same numbers as one trained on the Hub's."""
    order = {name: load(task_name=name, data_dir=str(Path(write_glue(name)).parent)).labels.names for name in GLUE}
    assert order == {
        "cola": ("unacceptable", "acceptable"),
        "mnli": ("entailment", "neutral", "contradiction"),
        "mrpc": ("not_equivalent", "equivalent"),
        "qnli": ("entailment", "not_entailment"),
        "qqp": ("not_duplicate", "duplicate"),
        "rte": ("entailment", "not_entailment"),
        "sst2": ("negative", "positive"),
        "stsb": (),
        "wnli": ("not_entailment", "entailment"),
    }


def broken_qqp(*lines: str) -> None:
    folder = write_glue("qqp")
    with Path(folder, "train.tsv").open("a") as file:
        file.write("".join(line + "\n" for line in lines))


def test_qqp_with_broken_lines():
    broken_qqp("133273\t213221\t213222\tHow can I", "7\t8\t9\tHow can I make an app?\t\t0", "", "1\t2\t3\ta b\tc d\t1")
    data = load(task_name="qqp", data_dir="glue")
    assert len(data.train) == 31
    assert data.notes == ["glue/QQP/train.tsv: 2 broken or unlabelled rows left out, the first being line 32."]


def test_file_with_many_broken_lines_is_not_the_published_one():
    broken_qqp(*["half a row\twithout the rest"] * 11)
    refusal("glue/QQP/train.tsv, line 32: fields are missing (as in 11 of 41 rows)", task_name="qqp", data_dir="glue")


def test_broken_line_in_a_test_file_stops_the_run():
    """Left out, it would shift every prediction below it."""
    folder = write_glue("qqp")
    with Path(folder, "test.tsv").open("a") as file:
        file.write("9\tonly one question\n")
    refusal("glue/QQP/test.tsv, line 11: fields are missing", task_name="qqp", data_dir="glue")


def test_mnli_rows_without_agreement_are_left_out():
    folder = write_glue("mnli")
    path = Path(folder, "dev_matched.tsv")
    path.write_text(path.read_text().replace("\tentailment\n", "\t-\n", 1))
    data = load(task_name="mnli", data_dir="glue")
    assert len(data.validation["validation_matched"]) == 11
    assert len(data.validation["validation_mismatched"]) == 12
    assert "1 broken or unlabelled rows left out, the first being line 3" in data.notes[0]


def test_wrong_label_is_named_with_its_line():
    folder = write_glue("sst2")
    path = Path(folder, "dev.tsv")
    path.write_text(path.read_text().replace("\t1\n", "\t7\n", 1))
    refusal(
        "glue/SST-2/dev.tsv, row 2 (line 3), column 'label': the label '7' is none of sst2's classes",
        "negative, positive",
        task_name="sst2",
        data_dir="glue",
    )


def test_single_class_in_a_task_s_file():
    folder = write_glue("sst2")
    path = Path(folder, "train.tsv")
    path.write_text(path.read_text().replace("\t1\n", "\t0\n"))
    refusal("train.tsv, column 'label': every row has the label '0'", task_name="sst2", data_dir="glue")


def test_folder_of_another_task():
    write_glue("rte")
    refusal("--data_dir glue/RTE is rte's folder, but --task_name is wnli", task_name="wnli", data_dir="glue/RTE")
    refusal("glue: no training file", "found RTE", task_name="wnli", data_dir="glue")
    Path("glue/RTE").rename("glue/mine")
    refusal("expected a column 'score' in its first line", "sentence1", task_name="stsb", data_dir="glue/mine")


def test_missing_pieces():
    folder = write_glue("rte")
    Path(folder, "dev.tsv").unlink()
    refusal("glue/RTE/dev.tsv: there is no such file, and rte needs it", task_name="rte", data_dir="glue")
    refusal("--data_dir nowhere: there is no such folder", task_name="rte", data_dir="nowhere")
    with pytest.raises(PippinError, match=r"--task_name rto: there is no such task.* Did you mean rte\?"):
        find_task(recipe_from({"task_name": "rto"}).recipe)
    refusal("data_dir goes with --task_name", "pippin train FOLDER", data_dir="glue")
    refusal("--do_regression: rte has classes", task_name="rte", data_dir="glue", do_regression=True)
    refusal("fine_labels belongs to --task_name trec", task_name="rte", data_dir="glue", fine_labels=True)
    refusal("fine_labels belongs to --task_name trec", fine_labels=True)


TREC_LABELS = ["DESC:manner", "ENTY:cremat", "ABBR:exp", "HUM:ind", "LOC:city", "NUM:date"]


def write_trec(root: str, encoding: str = "latin-1") -> None:
    train = [f"{TREC_LABELS[row % 6]} {text(row)} ?" for row in range(60)]
    train[7] = "ENTY:cremat What is the smörgåsbord of Malmö ?"
    write(f"{root}/train_5500.label", train, encoding=encoding)
    write(f"{root}/TREC_10.label", [f"{TREC_LABELS[row % 6]} {text(1000 + row)} ?" for row in range(12)])


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
@pytest.mark.parametrize("data_dir", ["sets", "sets/trec"])
def test_trec_files(data_dir, encoding):
    write_trec("sets/trec", encoding)
    data = load(task_name="trec", data_dir=data_dir, validation_split=0)
    assert data.labels.names == ("ABBR", "ENTY", "DESC", "HUM", "LOC", "NUM")
    assert data.train.texts[7] == "What is the smörgåsbord of Malmö ?"
    assert [data.labels.names[label] for label in data.train.labels[:6]] == [
        "DESC",
        "ENTY",
        "ABBR",
        "HUM",
        "LOC",
        "NUM",
    ]
    assert len(data.test["test"]) == 12
    assert data.test["test"].labels is not None


def test_trec_fine_labels():
    write_trec("trec")
    data = load(task_name="trec", data_dir="trec", fine_labels=True)
    assert data.labels.names == tuple(sorted(TREC_LABELS))
    assert len(data.train) + len(data.validation["validation"]) == 60


def test_trec_is_evaluated_on_its_test_set_by_a_classic_command():
    write_trec("trec")
    data = load(task_name="trec", data_dir="trec", do_train=True, do_eval=True)
    assert len(data.train) == 60
    assert data.validation["validation"] is data.test["test"]
    assert "trec has no validation set: evaluation is on its test set." in data.notes


def test_broken_trec_line():
    write_trec("trec")
    with Path("trec/train_5500.label").open("a") as file:
        file.write("What has no label ?\n")
    refusal("trec/train_5500.label, line 61: expected `COARSE:fine question`", task_name="trec", data_dir="trec")


def test_built_in_questions():
    data = load()
    splits = [data.train, data.validation["validation"], data.test["test"]]
    assert [len(split) for split in splits] == [660, 120, 120]
    assert data.labels.names == ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
    texts = [words for split in splits for words in split.texts]
    assert len({" ".join(words.lower().split()) for words in texts}) == 900
    assert min(len(words) for words in texts) > 10
    for split in splits:
        assert set(split.labels) == set(range(6))
    assert data.warnings == []
