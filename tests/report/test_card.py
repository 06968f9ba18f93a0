"""The model card: what stands above it for the Hub, what a reader learns, and examples that run as they stand."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import ModelCard

import pippin
from helpers import make_rows
from pippin.report.card import model_card
from pippin.report.page.run_page import read_records
from pippin.report.report import Report
from pippin.runs.record import Run

PAIRS = [{"sentence1": row["text"], "sentence2": "a word", "label": row["label"]} for row in make_rows(60)]
NUMBERS = [{"text": row["text"], "score": 3.0 + place % 5} for place, row in enumerate(make_rows(60))]


@pytest.mark.parametrize(
    ("rows", "flags"),
    [(make_rows(60), []), (PAIRS, []), (NUMBERS, ["--do_regression"])],
    ids=["text", "pair", "number"],
)
def test_the_examples_run(rows, flags, train, write_rows, run_cli):
    train(write_rows("rows.jsonl", rows), *flags, folder="my runs/it's one", steps=2)
    card = ModelCard.load("my runs/it's one/README.md")
    shell, python = re.findall(r"```\w+\n(.*?)\n```", card.text, re.DOTALL)
    code, out, error = run_cli(*shlex.split(shell)[1:])
    assert code == 0, error
    *lines, last = python.splitlines()
    scope: dict[str, Any] = {}
    exec("\n".join(lines), scope)
    answer = eval(last, scope)
    model = pippin.load("my runs/it's one")
    is_pair = "sentence1" in rows[0]
    ours = model.predict("Your text", "Your second text") if is_pair else model.predict("Your text")
    if flags:
        assert answer == pytest.approx(ours.value, abs=1e-5), "the number itself, not what a sigmoid makes of it"
    else:
        (found,) = [answer] if is_pair else answer
        assert (found["label"], found["score"]) == (ours.label, pytest.approx(ours.score, abs=1e-6))


@pytest.fixture
def records(trained) -> tuple[Run, Report]:
    run, _, report = read_records(trained)
    assert report is not None
    return run, report


def front(run: Run, report: Report) -> dict[str, Any]:
    """What the Hub reads; ModelCard refuses results that are not whole."""
    return ModelCard(model_card(run, report)).data.to_dict()


def test_nothing_is_made_up_where_nothing_is_known(records):
    assert front(*records) == {
        "library_name": "transformers", "pipeline_tag": "text-classification", "tags": ["pippin"],
        "metrics": ["accuracy", "f1"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("card", "expected"),
    [
        ("---\nlicense: mit\nlanguage: [de]\nbase_model: org/first\n---\n# A model\n", ("mit", "org/first")),
        ("---\nlicense: [a, b]\nlanguage: [de, en]\nbase_model: [x]\n---\n", (None, None)),
        ('---\nlicense: "<b>"\nlanguage: "<b>"\nbase_model: ../../x\n---\n', (None, None)),
        ("---\n: : {\n---\n", (None, None)),
        ("--- no front matter", (None, None)),
    ],
)
def test_what_the_base_models_own_card_says(records, tmp_path, card, expected):
    run, report = records
    Path("base").mkdir()
    Path("base/README.md").write_text(card)
    run = replace(run, recipe=replace(run.recipe, model_name_or_path="base"), directory=str(tmp_path))
    found = front(run, report)
    assert tuple(map(found.get, ("license", "base_model"))) == expected
    assert "language" not in found, "the rows may be in another language than the base model's"


def test_names_on_the_hub(records, tmp_path):
    run, report = records

    def base(name: str | None) -> object:
        recipe = replace(run.recipe, model_name_or_path=name)
        return front(replace(run, recipe=recipe, directory=str(tmp_path)), report).get("base_model")

    snapshot = Path("models--google-bert--bert-base-cased/snapshots/abc")
    snapshot.mkdir(parents=True)
    assert base(str(snapshot)) == "google-bert/bert-base-cased"
    assert base("google-bert/bert-base-cased") == "google-bert/bert-base-cased"
    assert base(None) == "sentence-transformers/all-MiniLM-L6-v2"


def test_results_on_data_that_others_have(records):
    run, report = records
    results = {"eval_accuracy": 0.75, "eval_accuracy_mm": 0.5, "eval_loss": 0.3, "epoch": 1.0, "train_runtime": 2.0}
    rows = {"train": 9, "validation_matched": 4, "validation_mismatched": 4}
    glue = replace(run, data=replace(run.data, task="mnli", rows=rows))
    report = replace(report, results=results)
    found = ModelCard(model_card(glue, report)).data
    assert (found.datasets, found.language) == (["nyu-mll/glue"], "en")
    told = [
        (each.dataset_config, each.dataset_split, each.metric_type, each.metric_value) for each in found.eval_results
    ]
    assert told == [
        ("mnli", "validation_matched", "accuracy", 0.75),
        ("mnli", "validation_mismatched", "accuracy", 0.5),
    ]
    few = replace(glue, recipe=replace(glue.recipe, max_eval_samples=2))
    assert "model-index" not in front(few, report), "a part of the split is not the split"
    trec = replace(run, data=replace(run.data, task="trec", rows=rows))
    assert front(trec, report)["datasets"] == ["CogComp/trec"]
    assert "model-index" not in front(trec, report), "its validation rows were taken from the training rows"


def test_what_a_reader_learns(records):
    run, report = records
    warned = replace(report, baseline_answer='always answering "tool"', remarks=("the model says tool to all rows.",))
    text = model_card(run, replace(warned, baselines={"eval_accuracy": 0.5}))
    assert "It gives each text one of 3 classes: animal, food, tool." in text
    assert '|  | score | always answering "tool" |' in text
    assert re.search(r"\| Accuracy, validation rows \| [01]\.\d{4} \| 0\.5000 \|", text)
    assert "> **Warning:** the model says tool to all rows." in text
    assert re.search(r"\| animal \| \d\.\d{3} \|", text), "figures of each class"
    for words in ("| trained for | 20 epochs in ", "| batch size | 16 |", "| learning rate | 2.00e-03 |"):
        assert words in text
    for internal in ("pad_lengths", "capacities", "guards", "budget", "()", str(Path(run.model).parent)):
        assert internal not in text


def test_a_bar_in_a_class_is_no_cell(records):
    from markdown_it import MarkdownIt

    run, report = records
    (part,) = [part for part in report.parts if part.in_brief]
    named = replace(part.table, rows=tuple(("a|b", *row[1:]) for row in part.table.rows))
    text = model_card(run, replace(report, parts=(replace(part, table=named),)))
    tokens = MarkdownIt().enable("table").parse(text)
    assert sum(token.content == "`a|b`" for token in tokens) == 3
