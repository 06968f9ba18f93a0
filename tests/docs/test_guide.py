"""The guide keeps up with the code, and its translations with the guide."""

from __future__ import annotations

import ast
import hashlib
import re
import runpy
from pathlib import Path

import pytest
from guide import LANGUAGES, PAGES, ROOT, Document, blocks, typed

from pippin.cli.commands import COMMANDS
from pippin.machine.faults import HAZARDS
from pippin.recipe.foreign import ALIASES, NOT_NEEDED, REFUSED
from train_words import read_command

#: What every translated guide holds.
TRANSLATED = ("index", "install", "tutorial", "train", "language_models", "apple_gpu", "troubleshooting")
TRANSLATIONS = [ROOT / "docs" / f"{name}.{language}.md" for name in TRANSLATED for language in LANGUAGES]
#: Of pip, conda, uv, tensorboard, launchers and mlx-lm.
FLAGS_OF_OTHERS = {
    "editable", "no", "upgrade", "name", "python", "logdir", "index",
    "nproc_per_node", "max_restarts", "multi_gpu", "num_processes", "nodes", "ntasks", "gpus", "signal",
    "adapter", "prompt",
}  # fmt: skip


def test_pages_made_from_the_code_are_up_to_date():
    made = runpy.run_path(str(ROOT / "tools" / "make_docs.py"))["made_pages"]()
    behind = [path.name for path, text in made.items() if path.read_text() != text]
    assert behind == [], "run tools/make_docs.py"
    assert {"commands.md", "python.md", "hugging_face.md", "trainer_arguments.md"} <= {path.name for path in made}


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "commands.md"], ids=lambda page: page.name)
def test_flags_named_in_the_guide_exist(page):
    known = {name for command in COMMANDS.values() for name in command.fields}
    known |= {*ALIASES, *NOT_NEEDED, *REFUSED, "help", "version"}
    named = set(re.findall(r"--([a-z][a-z0-9_]+)", page.read_text()))
    assert named - known - FLAGS_OF_OTHERS - {"seeds"} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_train_commands_in_plain_blocks_are_understood(page):
    text = re.sub(r"^( *)```bash.*?^\1```", "", page.read_text(), flags=re.S | re.M).replace("\\\n", " ")
    for command in re.findall(r"^pippin train(.*)$", text, re.MULTILINE):
        words = command.split("#")[0].split()
        if not any(word.startswith("[") for word in words):
            assert read_command(words).recipe


def test_every_command_stands_in_the_readme():
    text = (ROOT / "README.md").read_text()
    assert [name for name in COMMANDS if f"`pippin {name}" not in text] == []


@pytest.mark.parametrize("hazard", HAZARDS, ids=lambda hazard: hazard.name)
def test_every_known_fault_stands_in_the_guide(hazard):
    text = (ROOT / "docs" / "apple_gpu_faults.md").read_text()
    assert f"- *{hazard.name}*: {hazard.wrong} ({hazard.source};" in text
    assert hazard.remedy.value[1:] in text
    assert f"{hazard.evidence[1:]}." in text


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("troubleshooting*.md")), ids=lambda page: page.name)
def test_messages_that_are_explained_exist(page):
    quoted = {
        words for line in re.findall(r"^\*\*.*", page.read_text(), re.M) for words in re.findall("`([^`]+)`", line)
    }
    assert len(quoted) > 15
    said = "\n".join(_sentences())
    others = {"pippin: command not found", "pippin verify", "is not utf-8"}  # the last one names the encoding
    assert sorted(words for words in quoted - others if words not in said) == []


def _sentences() -> list[str]:
    """Every string of the source, with … in the place of what is filled in."""
    found = []
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
            elif isinstance(node, ast.JoinedStr):
                found.append(
                    "".join(str(each.value) if isinstance(each, ast.Constant) else "…" for each in node.values)
                )
    return found


@pytest.mark.parametrize("page", TRANSLATIONS, ids=lambda page: page.name)
def test_translations_are_up_to_date(page):
    """Each names the digest of the English page that it was made from: change it when the page is up to date again."""
    source = ROOT / "docs" / f"{page.name.partition('.')[0]}.md"
    now = hashlib.sha256(source.read_bytes()).hexdigest()[:12]
    named = re.match(r"---\nsource: (\w+)\n---\n", page.read_text())
    assert named, f"{page.name} does not say which {source.name} it translates"
    assert named[1] == now, f"{page.name} is behind {source.name}; when it is up to date, write `source: {now}`"


@pytest.mark.parametrize("page", TRANSLATIONS, ids=lambda page: page.name)
def test_translations_have_the_commands_pictures_and_places_of_their_source(page):
    source = ROOT / "docs" / f"{page.name.partition('.')[0]}.md"
    for pattern in (r"\{#[\w-]+\}", r"\]\(([\w./#-]+)\)", r"^#+ ", r"^=== "):
        found, wanted = (sorted(re.findall(pattern, path.read_text(), re.M)) for path in (page, source))
        assert found == wanted
    assert _commands(page) == _commands(source)


def _commands(page: Path) -> list[str]:
    """Flags and programs, without the texts of the examples, which may be in the reader's language."""
    found = []
    for block in blocks(page):
        if block.language == "bash":
            found += [
                "<file>" if isinstance(each, Document) else _without_texts(each.words) for each in typed(block.text)
            ]
        else:
            found.append(block.language)
    return found


def _without_texts(words: tuple[str, ...]) -> str:
    return " ".join(
        "…" if before in ("--text", "--text2") else word for before, word in zip(("", *words), words, strict=False)
    )


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
