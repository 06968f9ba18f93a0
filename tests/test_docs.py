"""The guide keeps up with the code."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from pippin.cli.commands import COMMANDS
from pippin.machine.faults import HAZARDS
from pippin.recipe.foreign import ALIASES, NOT_NEEDED, REFUSED
from train_words import read_command

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_hugging_face_page_is_up_to_date():
    made = runpy.run_path(str(ROOT / "docs" / "make_hugging_face.py"))["page"]()
    assert (ROOT / "docs" / "hugging_face.md").read_text() == made, "run docs/make_hugging_face.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_flags_named_in_the_guide_exist(page):
    known = {name for command in COMMANDS.values() for name in command.fields}
    known |= {*ALIASES, *NOT_NEEDED, *REFUSED, "help", "version"}
    named = set(re.findall(r"--([a-z][a-z0-9_]+)", page.read_text()))
    assert named - known - {"editable", "processes", "seeds"} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_train_commands_of_the_guide_are_understood(page):
    text = page.read_text().replace("\\\n", " ")
    for command in re.findall(r"^pippin train(.*)$", text, re.MULTILINE):
        words = command.split("#")[0].split()
        assert read_command(words).recipe


def test_every_command_stands_in_the_readme():
    text = (ROOT / "README.md").read_text()
    assert [name for name in COMMANDS if f"`pippin {name}" not in text] == []


@pytest.mark.parametrize("hazard", HAZARDS, ids=lambda hazard: hazard.name)
def test_every_known_fault_stands_in_the_guide(hazard):
    text = (ROOT / "docs" / "apple_gpu.md").read_text()
    assert f"- *{hazard.name}*: {hazard.wrong} ({hazard.source};" in text
    assert hazard.remedy.value[1:] in text
    assert f"{hazard.evidence[1:]}." in text


def test_every_hop_of_the_walk_is_there():
    text = (ROOT / "docs" / "design.md").read_text()
    walk = text[text.index("## From the command line") : text.index("## Files of a run")]
    hops = re.findall(r"^(\d+)\. (.*)$", walk, re.MULTILINE)
    assert [int(number) for number, _ in hops] == list(range(1, len(hops) + 1))
    assert 20 < len(hops) <= 35
    for path, name in re.findall(r"`((?:\w+/)+\w+)\.(\w+)", "\n".join(line for _, line in hops)):
        source = ROOT / "src" / "pippin" / path
        files = [source.with_suffix(".py")] if not source.is_dir() else [source / "__init__.py"]
        assert re.search(rf"(def|class) {name}\b", files[0].read_text()), f"{path}.{name}"
