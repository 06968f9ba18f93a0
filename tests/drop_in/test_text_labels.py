"""Labels that are still text when they reach the Trainer."""

from __future__ import annotations

import pytest
from small_trainer import Rows, arguments, small_model

datasets = pytest.importorskip("datasets")
pytest.importorskip("accelerate")

from pippin.drop_in.labels import with_numbers  # noqa: E402
from pippin.drop_in.trainer import Trainer  # noqa: E402
from pippin.errors import PippinError  # noqa: E402


def rows(labels, kind="string"):
    features = datasets.Features({"text": datasets.Value("string"), "label": datasets.Value(kind)})
    return datasets.Dataset.from_dict({"text": ["a"] * len(labels), "label": labels}, features=features)


@pytest.mark.parametrize("kind", ["string", "large_string"])
def test_numbers_that_became_text_and_the_models_own_names(kind):
    config = small_model(id2label={0: "no", 1: "yes", 2: "5"}, label2id={"no": 0, "yes": 1, "5": 2}).config
    assert with_numbers(rows(["2", "0", "1"], kind), config)["label"][:] == [2, 0, 1]
    assert with_numbers(rows(["yes", "no", "5"], kind), config)["label"][:] == [1, 0, 2]
    assert with_numbers(rows(["yes", "no", "5"], kind).select([2, 0]), config)["label"][:] == [2, 1]


def test_a_models_one_number():
    config = small_model(num_labels=1).config
    assert with_numbers(rows(["0.5", "3"]), config)["label"][:] == [0.5, 3.0]


def test_numbers_stay_as_they_are():
    numbers = rows([1, 2], "int64")
    assert with_numbers(numbers, small_model().config) is numbers


def test_an_unknown_label_is_named():
    with pytest.raises(PippinError, match=r"no label 'maybe'.*label2id"):
        with_numbers(rows(["0", "maybe"]), small_model().config)


def test_a_collator_of_the_scripts_own_gets_the_text(tmp_path):
    trainer = Trainer(
        model=small_model(),
        args=arguments(tmp_path, remove_unused_columns=False, eval_strategy="no"),
        data_collator=lambda rows: {"texts": [row["label"] for row in rows]},
        train_dataset=rows(["good", "bad"]),
    )
    assert set(next(iter(trainer.get_train_dataloader()))["texts"]) == {"good", "bad"}


def test_the_trainer_takes_rows_of_a_csv_file(tmp_path):
    given = [{**row, "label": str(row["labels"])} for row in Rows(8)]
    columns = {name: [row[name].tolist() for row in given] for name in ("input_ids", "attention_mask")}
    table = datasets.Dataset.from_dict({**columns, "label": [row["label"] for row in given]})
    trainer = Trainer(
        model=small_model(), args=arguments(tmp_path, max_steps=1), train_dataset=table, eval_dataset=table
    )
    assert trainer.train().global_step == 1
