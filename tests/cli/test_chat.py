"""`pippin chat` without a terminal: answers to --text, files and standard input, and what is refused."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from lively_chat import save_lively
from small_chat import TEMPLATE

from helpers import read_csv, staged
from pippin.commands.generation.kept import Kept
from pippin.commands.generator import Generator

ASKED = ["the old cat?", "my bread and cheese?", "near the hammer?"]
FEW = ("--max_new_tokens", 6, "--quiet")


@pytest.fixture(scope="session")
def model(tmp_path_factory) -> Path:
    """Its own configuration has tokens drawn at random."""
    return save_lively(tmp_path_factory.mktemp("chat") / "model", do_sample=True, temperature=1.5)


@pytest.fixture(scope="session")
def expected(model) -> list[str]:
    """The likeliest answers."""
    generator = Generator.load(str(model))
    return [generator.answer(asked, max_new_tokens=6) for asked in ASKED]


@pytest.fixture
def chat(run_cli, model) -> Callable[..., tuple[str, str]]:
    """`pippin chat`, which goes well: what it printed on both streams."""

    def call(*flags: object) -> tuple[str, str]:
        code, out, err = run_cli("chat", model, *flags)
        assert code == 0, err
        return out, err

    return call


@pytest.fixture
def type_in(monkeypatch) -> Callable[[str], None]:
    return lambda text: monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def rows_of(path: str) -> list[dict]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_the_answer_and_nothing_else(chat, expected):
    assert chat("--text", ASKED[0], *FEW) == (f"{expected[0]}\n", "")
    out, err = chat("--text", ASKED[0], "--text", ASKED[1], "--max_new_tokens", 6)
    assert out == f"{expected[0]}\n\n{expected[1]}\n"
    assert err == "2 answers were cut off at the limit of tokens. For longer ones: --max_new_tokens N\n"


def test_settings_reach_the_model(chat, model, expected):
    generator = Generator.load(str(model))
    system = [{"role": "system", "content": "Be short."}, {"role": "user", "content": ASKED[0]}]
    assert (
        chat("--text", ASKED[0], "--system", "Be short.", *FEW)[0] == generator.answer(system, max_new_tokens=6) + "\n"
    )
    beams = generator.answer(ASKED[0], max_new_tokens=6, num_beams=3, repetition_penalty=1.4)
    flags = ("--generate", '{"num_beams": 3}', "--repetition_penalty", 1.4)
    assert chat("--text", ASKED[0], *flags, *FEW)[0] == beams + "\n"
    drawn = generator.answer(ASKED[0], max_new_tokens=6, temperature=2.0, top_k=90, top_p=0.9, seed=5)
    flags = ("--temperature", 2, "--top_k", 90, "--top_p", 0.9, "--seed", 5)
    assert chat("--text", ASKED[0], *flags, *FEW)[0] == drawn + "\n" != expected[0] + "\n"
    assert chat("--complete", "--text", "the old", *FEW)[0] == generator.complete("the old", max_new_tokens=6) + "\n"


def test_a_seed_repeats_and_without_one_answers_differ(chat):
    drawing = ("--temperature", 2, *FEW)
    twice = ("--text", ASKED[0], "--text", ASKED[0])
    first, second = chat(*twice, *drawing, "--seed", 1)[0].split("\n\n")
    assert first + "\n" == chat("--text", ASKED[0], *drawing, "--seed", 1)[0]
    assert first != second.strip(), "each place has numbers of its own"
    answers = set()
    for _ in range(3):
        torch.manual_seed(0)  # as torch begins
        answers.add(chat("--text", ASKED[0], *drawing)[0])
    assert len(answers) > 1


@pytest.mark.parametrize("suffix", ["csv", "tsv", "json", "jsonl", "parquet"])
def test_every_row_of_a_file_in_its_place(chat, write_rows, expected, suffix):
    path = write_rows(f"rows.{suffix}", [{"id": place, "prompt": asked} for place, asked in enumerate(ASKED)])
    out, err = chat("--file", path, "--output", "out.jsonl", "--max_new_tokens", 6)
    found = rows_of("out.jsonl")
    assert [row["answer"] for row in found] == expected
    assert [row["prompt"] for row in found] == ASKED
    assert [int(row["id"]) for row in found] == [0, 1, 2]
    assert out == ""
    assert "prompts from 'prompt' (by its name)" in err
    assert "3 rows written to out.jsonl" in err
    printed = chat("--file", path, *FEW)[0]
    if suffix in ("csv", "tsv"):
        assert [row["answer"] for row in csv.DictReader(io.StringIO(printed))] == expected
    else:
        assert [json.loads(line) for line in printed.splitlines()] == found


def test_no_row_has_a_part_in_the_next(chat, write_rows, monkeypatch):
    hand_over, known = Kept.hand_over, []

    def noting(self, prompt):
        found = hand_over(self, prompt)
        known.append(found["past_key_values"].get_seq_length())
        return found

    monkeypatch.setattr(Kept, "hand_over", noting)
    chat("--file", write_rows("rows.jsonl", [{"prompt": asked} for asked in ASKED]), *FEW)
    assert known == [0] * len(ASKED)


def test_lines_of_a_text_file(chat, expected):
    Path("prompts.txt").write_text("\n".join(ASKED) + "\n")
    chat("--file", "prompts.txt", "--output", "out.csv", *FEW)
    assert [(row["text"], row["answer"]) for row in read_csv("out.csv")] == list(zip(ASKED, expected, strict=True))


def test_rows_without_an_answer_are_named(chat, write_rows, expected):
    asked = ["", ASKED[0], "word " * 300, None, ASKED[1]]
    path = write_rows("rows.jsonl", [{"prompt": each, "answer": "known"} for each in asked])
    _, err = chat("--file", path, "--output", "out.jsonl", "--max_new_tokens", 6)
    found = rows_of("out.jsonl")
    assert [row["predicted_answer"] for row in found] == ["", expected[0], "", "", expected[1]]
    assert {row["answer"] for row in found} == {"known"}
    assert "no answer, because the prompt is empty: rows.jsonl, row 1 (line 1), row 4 (line 4)" in err.replace(
        str(path), "rows.jsonl"
    )
    assert "no room for an answer in the model's 256 tokens: " in err
    assert "row 3 (line 3)\n" in err
    assert "2 answers were cut off" in err


def test_chats_of_a_file(chat, model, write_rows):
    system = {"role": "system", "content": "Be short."}
    asked, answered = {"role": "user", "content": ASKED[0]}, {"role": "assistant", "content": "So."}
    path = write_rows("rows.parquet", [{"messages": [asked]}, {"messages": [system, asked, answered, asked, answered]}])
    chat("--file", path, "--output", "out.csv", "--system", "Be long.", *FEW)
    generator = Generator.load(str(model))
    long = {"role": "system", "content": "Be long."}
    chats = [[long, asked], [system, asked, answered, asked]]
    rows = read_csv("out.csv")
    assert [row["answer"] for row in rows] == [generator.answer(each, max_new_tokens=6) for each in chats]
    assert json.loads(rows[0]["messages"]) == [asked], "lists are JSON in CSV"


def test_standard_input(chat, type_in, expected):
    type_in(f"{ASKED[0]}\r\n\n{ASKED[1]}\n")
    assert chat(*FEW)[0] == f"{expected[0]}\n\n{expected[1]}\n"
    type_in(f"{ASKED[0]}\n\n{ASKED[1]}\n")
    chat("--output", "out.csv", *FEW)
    assert [row["answer"] for row in read_csv("out.csv")] == [expected[0], "", expected[1]]


def test_going_on_from_the_texts_of_a_file(chat, write_rows, model):
    path = write_rows("rows.jsonl", [{"text": "the old"}, {"text": ""}])
    chat("--complete", "--file", path, "--output", "out.jsonl", *FEW)
    assert [row["answer"] for row in rows_of("out.jsonl")] == [
        Generator.load(str(model)).complete("the old", max_new_tokens=6), ""
    ]  # fmt: skip


def test_ctrl_c_leaves_no_half_file(run_cli, model, write_rows, monkeypatch):
    path = write_rows("rows.jsonl", [{"prompt": asked} for asked in ASKED])
    answer, answered = Generator.answer, []

    def interrupted(self, *arguments, **settings):
        if answered:
            raise KeyboardInterrupt
        answered.append(answer(self, *arguments, **settings))
        return answered[0]

    monkeypatch.setattr(Generator, "answer", interrupted)
    code, _, err = run_cli("chat", model, "--file", path, "--output", "out.jsonl", *FEW)
    assert (code, err) == (130, "pippin: interrupted.\n")
    assert answered
    assert not Path("out.jsonl").exists()
    assert staged() == []


def test_nothing_is_replaced_unasked(run_cli, chat, model):
    Path("out.csv").write_text("mine")
    code, _, err = run_cli("chat", model, "--text", ASKED[0], "--output", "out.csv")
    assert (code, Path("out.csv").read_text()) == (2, "mine")
    assert "out.csv is there already" in err
    chat("--text", ASKED[0], "--output", "out.csv", "--overwrite", *FEW)
    assert "answer" in Path("out.csv").read_text()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--text", "a", "--file", "b.csv"], "--text and --file exclude each other"),
        (["--text", " "], "--text is empty"),
        (["--text", "a", "--text_column", "b"], "--text_column goes with --file"),
        (["--text", "a", "--complete", "--system", "b"], "--complete and --system exclude each other"),
        (["--text", "a", "--temperature", -1], "--temperature -1.0 must be 0 or more"),
        (["--text", "a", "--top_p", 2], "--top_p 2.0 must be between 0 and 1"),
        (["--text", "a", "--max_new_tokens", 0], "--max_new_tokens 0 must be at least 1"),
        (["--text", "a", "--repetition_penalty", 0], "--repetition_penalty 0.0 must be more than 0"),
        (["--text", "a", "--seed", -1], "--seed -1 must be"),
        (["--text", "a", "--top_k", 1, "--generate", '{"top_k": 2}'], "--top_k stands in --generate too"),
        (["--text", "a", "--generate", "num_beams=4"], "--generate: 'num_beams=4' is not a JSON object"),
        (["--text", "a", "--generate", '{"num_beam": 4}'], "num_beam: transformers' generate has no such setting"),
        (["--text", "a", "--generate", '{"early_stopping": 7}'], "refuses these settings: `early_stopping`"),
        (["--text", "a", "--generate", '{"trust_remote_code": true}'], "it runs code from elsewhere"),
        (["--text", "a", "--output", "b.txt"], "must end in .csv or .jsonl"),
        (["--text", "a", "--overwrite"], "--overwrite goes with --output"),
        (["--text", "a", "--device", "gpu"], "--device gpu"),
        (["--file", "none.csv"], "none.csv"),
        (["--text", "word " * 300], "no room for an answer in the model's 256 tokens: --text, row 1. Shorten"),
        (["--text", "a", "--epochs", 3], "--epochs belongs to"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)  # fmt: skip
def test_what_is_refused(run_cli, model, flags, words):
    code, out, err = run_cli("chat", model, *flags)
    assert (code, out) == (2, "")
    assert words in err
    assert "Traceback" not in err


def test_rows_that_cannot_be_read_are_refused_before_the_model_is_loaded(run_cli, write_rows):
    path = write_rows("rows.jsonl", [{"messages": [{"role": "nobody", "content": "x"}]}])
    code, _, err = run_cli("chat", "no/model", "--file", path, "--text_column", "messages")
    assert code == 2
    assert "row 1 has a message of the role 'nobody'" in err


def test_rows_that_the_template_refuses_are_refused_before_any_is_answered(run_cli, write_rows, tmp_path):
    no_system = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + TEMPLATE
    model = save_lively(tmp_path / "model", template=no_system)
    path = write_rows("rows.jsonl", [{"prompt": asked} for asked in ASKED])
    code, out, err = run_cli("chat", model, "--file", path, "--system", "Be short.")
    assert (code, out) == (2, "")
    assert "row 1 (line 1): the model's chat template refuses it: no system role; row 2" in err


def test_models_that_cannot_answer(run_cli, trained, model):
    code, _, err = run_cli("chat", trained, "--text", "a")
    assert (code, "is no language model" in err) == (2, True)
    code, _, err = run_cli("predict", model, "--text", "a")
    assert (code, f"is a language model: it answers, and gives no labels. Use: pippin chat {model}" in err) == (2, True)
    code, _, err = run_cli("chat", "runs/chast", "--text", "a")
    assert (code, "runs/chast: there is no such folder." in err) == (2, True)


def test_a_model_without_a_template(run_cli, tmp_path):
    model = save_lively(tmp_path / "plain", template=None)
    code, _, err = run_cli("chat", model, "--text", "cat?", "--max_new_tokens", 3)
    assert code == 0
    assert "note: the model has no chat template, so it gets a plain one: User: …, Assistant: …" in err
    assert "chat template" not in run_cli("chat", model, "--complete", "--text", "cat", "--max_new_tokens", 3)[2]


def test_a_model_that_transformers_calls_a_head(run_cli, tmp_path):
    """GPT-2's class is called GPT2LMHeadModel."""
    model = save_lively(tmp_path / "gpt2", "gpt2")
    code, out, err = run_cli("chat", model, "--text", "cat?", *FEW)
    assert code == 0, err
    assert out.strip()
