"""Runs of language models are used with `pippin chat`, which every place that says how to use one says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from small_chat import chat_rows, save_small_chat, write_chats

import pippin
from pippin.commands.generator import Generator
from pippin.report.report import read_report

ASKED = "the old cat?"


@pytest.fixture
def train(run_cli, tmp_path):
    """`pippin train` of a few steps; what it printed."""
    base = save_small_chat(tmp_path / "base")

    def run(*words: object) -> str:
        code, out, err = run_cli("train", *words, "--model", base, "--output", "run", "--max_steps", 3, "--lr", 0.01)
        assert code == 0, err
        return out

    return run


def python_of(card: str) -> str:
    return re.search(r"```python\n(.*?)```", card, re.DOTALL)[1]


def last_value(program: str) -> object:
    """What the last line of a program gives."""
    *lines, last = program.strip().splitlines()
    scope: dict = {}
    exec("\n".join(lines), scope)
    return eval(last, scope)


@pytest.mark.parametrize("how", ["lora", "all"])
def test_a_run_of_chats(train, run_cli, how):
    out = train(write_chats("chats.jsonl", chat_rows(30)), "--train", how)
    assert out.splitlines()[-1] == "try it: pippin chat run"
    card, page = Path("run/README.md").read_text(), Path("run/report.html").read_text()
    assert "pippin chat run\n" in card
    assert "It answers the messages of a chat." in card
    assert ("peft" in card) is (how == "lora")
    assert "<p>Chat</p>" in page
    assert "pippin chat run<" in page
    assert "pippin predict run" not in card + page
    model = pippin.load("run")
    assert isinstance(model, Generator)
    assert ("and adapters" in repr(model)) is (how == "lora")
    asked = [{"role": "user", "content": "Your question"}]
    theirs = last_value(python_of(card).replace("max_new_tokens=256", "max_new_tokens=8, do_sample=False"))
    assert model.answer(asked, max_new_tokens=8) == theirs.lstrip()
    code, out, err = run_cli("chat", "run", "--text", ASKED, "--max_new_tokens", 8)
    assert (code, out) == (0, model.answer(ASKED, max_new_tokens=8) + "\n")
    assert "note:" not in err
    code, _, err = run_cli("predict", "run", "--text", ASKED)
    assert (code, "Use: pippin chat run" in err) == (2, True)


def test_a_run_of_texts(train, run_cli):
    rows = [{"text": row["messages"][1]["content"]} for row in chat_rows(30)]
    out = train(write_chats("texts.jsonl", rows))
    assert out.splitlines()[-1] == "try it: pippin chat run --complete"
    card = Path("run/README.md").read_text()
    assert "pippin chat run --complete\n" in card
    assert "It goes on from a text." in card
    theirs = last_value(python_of(card).replace("max_new_tokens=256", "max_new_tokens=8, do_sample=False"))
    code, out, err = run_cli("chat", "run", "--complete", "--text", "Your text", "--max_new_tokens", 8)
    assert (code, f"Your text{out}") == (0, theirs + "\n")
    assert "note:" not in err
    err = run_cli("chat", "run", "--text", "Your text", "--max_new_tokens", 2)[2]
    assert "note: this model was trained on plain texts; --complete goes on from them." in err


def test_what_is_wrong_with_a_run_is_said(train, run_cli):
    train(write_chats("chats.jsonl", chat_rows(30)))
    assert read_report(Path("run")).command == "chat"
    with open("run/config.json", "a") as file:
        file.write(" ")
    with pytest.raises(pippin.PippinError, match="config.json was changed or damaged since training finished"):
        pippin.load("run")
    code, _, err = run_cli("chat", "run", "--text", ASKED)
    assert (code, "was changed or damaged" in err) == (2, True)
