"""The table of settings is whole, and the page that is made from it keeps up."""

from __future__ import annotations

import dataclasses
import runpy
from pathlib import Path

import pytest
import transformers

from pippin.drop_in.fields import ENGINE, GROUPS, HONOURED, IDLE, REFUSED, REMOVED, SINCE, TODAY
from pippin.machine.check import release

ROOT = Path(__file__).parents[2]
INSTALLED = release(transformers.__version__)


def installed() -> set[str]:
    classes = (transformers.TrainingArguments, transformers.Seq2SeqTrainingArguments)
    return {field.name for cls in classes for field in dataclasses.fields(cls) if field.init}


def of_this_release() -> set[str]:
    today = {name for name in TODAY if release(SINCE.get(name, "0.0")) <= INSTALLED}
    return today | {name for name, removed in REMOVED.items() if release(removed.gone) > INSTALLED}


def test_every_installed_field_is_in_the_table():
    assert installed() - set(TODAY) - set(REMOVED) == set()


def test_every_name_of_the_table_is_a_field_of_some_release():
    # Of releases before 5.0 the table knows when names went, not when they came.
    unknown = {name for name in of_this_release() - installed() if name in TODAY}
    assert unknown == set()
    assert installed() - of_this_release() == set()


def test_each_name_stands_in_one_place():
    assert sum(len(group) for group in GROUPS.values()) == len(TODAY)
    assert set(TODAY) & set(REMOVED) == set()
    assert set(SINCE) <= set(TODAY)


@pytest.mark.parametrize("name", [*TODAY, *REMOVED])
def test_words_say_something(name):
    treatment = TODAY.get(name) or REMOVED[name].treatment
    assert treatment.status in (HONOURED, ENGINE, IDLE, REFUSED)
    assert treatment.words.endswith(".")
    assert bool(treatment.when) == (treatment.status == REFUSED)
    assert "|" not in treatment.words + treatment.when, "it would end a column of the page"
    assert "--" not in treatment.words, "scripts give settings in Python as often as on the command line"


def test_page_is_up_to_date():
    made = runpy.run_path(str(ROOT / "docs" / "make_trainer.py"))["page"]()
    assert (ROOT / "docs" / "trainer_arguments.md").read_text() == made, "run docs/make_trainer.py"


def test_page_names_every_setting():
    page = (ROOT / "docs" / "trainer_arguments.md").read_text()
    assert [name for name in [*TODAY, *REMOVED] if f"| `{name}` |" not in page] == []
