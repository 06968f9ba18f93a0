"""Labels, columns and texts of hostile rows are shown, and do nothing: in CSV, on the terminal, in the model card."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
import yaml
from security_helpers import ACTIVE, HOSTILE_LABELS

from helpers import by_class_part
from pippin.report.card import as_words
from pippin.report.report import Report
from pippin.runs.predictions import inert
from pippin.text import visible

TEXT_COLUMN = "=te\x1b[1mxt"
FORMULAS = ["=1+1", "+1+1", "-1+1", "@A1", "\t=1", "\r=1", "\n=1", "'=1+1", "hi\r=1+1", 'x,"=1', "- no"]


@pytest.fixture
def hostile_rows(tmp_path) -> Path:
    words = ["the dog", *FORMULAS]
    rows = [
        {TEXT_COLUMN: f"{words[number % len(words)]}\u202e {number}", "label": label}
        for number, label in enumerate(HOSTILE_LABELS * 4)
    ]
    path = tmp_path / "ro\x1b[31mws.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def hostile_run(run_cli, hostile_rows, tiny_model) -> tuple[Path, str]:
    """A run on such rows, and all that it said."""
    code, out, err = run_cli(
        "train", hostile_rows, "--test_file", hostile_rows, "--text_column", TEXT_COLUMN, "--label_column", "label",
        "--model_name_or_path", tiny_model, "--max_steps", 2, "--output_dir", "run", "--run_name", "<b>x</b>\n\n# y",
    )  # fmt: skip
    assert code == 0, err
    return Path("run"), out + err


def test_terminal(hostile_run):
    said = hostile_run[1]
    assert not set(ACTIVE) & set(said)
    assert "\\x1b[31m" in said, "shown as it is written"
    assert "[bold]:bomb: `x`" in said, "neither style nor emoji"


def test_errors(run_cli, hostile_rows):
    hostile_rows.write_text('{"a": "x", "b\\u001b[2J": "y"}\n')
    code, _, err = run_cli("train", hostile_rows, "--text_column", "c\x9b\u202e")
    assert code == 2
    assert not set(ACTIVE) & set(err)
    assert "\\x1b[31mws.jsonl" in err
    assert not set(ACTIVE) & set(run_cli("tra\x1b[31min")[2])


def test_bars_and_tables_of_a_live_terminal(screen):
    terminal, out = screen(tty=True)
    with terminal.rows_bar(2, "predicting {task.total.__class__} [red]\x1b]0;x\x07") as advance:
        advance(2)
    for label in HOSTILE_LABELS:
        terminal.show_report(Report(label, {}, "accuracy", parts=(by_class_part([label], (0, 0, 0, 4), [[4]]),)))
        terminal.say(label)
        terminal.note(label)
        terminal.warn(label)
        terminal.line(label.replace("[", "\\["))
    shown = out.getvalue()
    assert "predicting {task.total.__class__} [red]\\x1b]0;x\\x07" in shown
    for active in ("\x1b[31m", "\x1b]", "\x9b", "\x07", "\x08", "\u202e"):
        assert active not in shown


def test_every_character_that_steers():
    steers = [
        *map(chr, range(32)),
        *map(chr, range(127, 160)),
        *"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
    ]
    for character in set(steers) - {"\n", "\t"}:
        assert visible(f"a{character}b") == f"a\\x{ord(character):02x}b".replace("\\x0d", "\\r") or ord(character) > 255
        assert character not in visible(f"a{character}b")
    assert visible("naïve 日本語 👩‍🚒 ع \n\t") == "naïve 日本語 👩‍🚒 ع \n\t"


@pytest.mark.parametrize("terminal", [True, False])
def test_predictions_on_standard_output(run_cli, hostile_run, monkeypatch, terminal):
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal, raising=False)
    code, out, err = run_cli("predict", hostile_run[0], "--text", "dog \x1b[31m\u202e")
    assert code == 0, err
    assert ("\x1b" in out.splitlines()[1]) is not terminal, "a pipe gets the text unchanged"
    assert ("\\x1b[31m" in out) is terminal


def first_cells(path: Path) -> list[str]:
    """What a spreadsheet takes for the beginning of a cell: it also ends a row at a lone carriage return."""
    with path.open(encoding="utf-8", newline="") as file:
        return [cell for row in csv.reader(file) for cell in row]


def test_predictions_of_a_run(hostile_run, hostile_rows):
    cells = first_cells(hostile_run[0] / "predictions.csv")
    assert not [cell for cell in cells if cell[:1] in tuple("=+-@\t\r\n")]
    with (hostile_run[0] / "predictions.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    given = [json.loads(line) for line in hostile_rows.read_text().splitlines()]
    assert [row["true_label"] for row in rows] == [inert(row["label"]) for row in given]
    assert [row["'" + TEXT_COLUMN] for row in rows] == [inert(row[TEXT_COLUMN]) for row in given]
    # The true classes stay as they are wherever a program reads them.
    assert set(json.loads((hostile_run[0] / "config.json").read_text())["label2id"]) == set(HOSTILE_LABELS)


def test_predictions_of_a_file(run_cli, hostile_run, tmp_path):
    rows = [{TEXT_COLUMN: text, "number": "-1.5", "n": -2, "list": ["=1"]} for text in FORMULAS]
    source = tmp_path / "new.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for output in ("out.csv", "out.jsonl"):
        assert run_cli("predict", hostile_run[0], "--file", source, "--output", output)[0] == 0
    with open("out.csv", encoding="utf-8", newline="") as file:
        guarded = list(csv.DictReader(file))
    assert [row["'" + TEXT_COLUMN] for row in guarded] == [inert(text) for text in FORMULAS]
    assert {(row["number"], row["n"]) for row in guarded} == {("-1.5", "-2")}
    assert not [cell for cell in first_cells(Path("out.csv")) if cell[:1] in tuple("=+@\t\r\n")]
    plain = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [row[TEXT_COLUMN] for row in plain] == FORMULAS
    assert {row["label"] for row in plain} <= set(HOSTILE_LABELS)
    assert [inert(row["label"]) for row in plain] == [row["label"] for row in guarded]


def test_guarded_cells_read_back_alike(run_cli, hostile_run, tmp_path):
    """In pandas, in csv and in Pippin a guarded cell is the text with one apostrophe in front."""
    import pandas

    from pippin.data.tables import read_table

    source = tmp_path / "new.jsonl"
    source.write_text("".join(json.dumps({TEXT_COLUMN: text}) + "\n" for text in FORMULAS))
    run_cli("predict", hostile_run[0], "--file", source, "--output", "out.csv")
    expected = [inert(text) for text in FORMULAS]
    column = "'" + TEXT_COLUMN
    assert list(pandas.read_csv("out.csv")[column]) == expected
    assert read_table(Path("out.csv")).columns[column] == expected


@pytest.mark.parametrize("text", [*FORMULAS, *HOSTILE_LABELS, "plain", "it's", "''", "'"])
def test_the_guard_can_be_taken_off(text):
    guarded = inert(text)
    assert guarded in (text, "'" + text)
    assert len({inert(text), inert("'" + text)}) == 2, "different texts stay different"


@pytest.mark.parametrize("number", ["-1", "+1", "-1.5", "-1e-05", "-.5", -1, -1.5, None])
def test_numbers_stay_numbers(number):
    assert inert(number) == number


def test_model_card(hostile_run):
    from markdown_it import MarkdownIt

    card = (hostile_run[0] / "README.md").read_text()
    _, front, body = card.split("---\n", 2)
    assert yaml.safe_load(front) == {
        "library_name": "transformers", "pipeline_tag": "text-classification", "tags": ["pippin"],
        "metrics": ["accuracy", "f1"],
    }  # fmt: skip
    kinds = set()
    for token in MarkdownIt("commonmark", {"html": True}).enable("table").parse(body):
        kinds |= {token.type, *(child.type for child in token.children or [])}
    assert not kinds & {"html_block", "html_inline", "link_open", "image", "hr", "softbreak"}
    assert {"heading_open", "table_open", "fence", "code_inline"} <= kinds
    assert not set(ACTIVE) & set(card)
    assert body.count("\n# ") == 1


@pytest.mark.parametrize(
    "text", [*HOSTILE_LABELS, "`", "``a`", "", " ", "a\n\n<b>", "\\`<i>`", "https://x.test", "www.x.test"]
)
def test_words_in_the_card(text):
    from markdown_it import MarkdownIt

    (paragraph,) = [token for token in MarkdownIt("commonmark").parse(f"x {as_words(text)} y") if token.children]
    assert [child.type for child in paragraph.children] == ["text", "code_inline", "text"]
    assert paragraph.children[1].content.strip() == " ".join(visible(text).split())


def test_plain_words_stay_plain_in_the_card():
    for text in ("animal", "google-bert/bert-base-cased", "very good", "naïve", "all-MiniLM-L6-v2 (built in)"):
        assert as_words(text) == text


def test_report_on_a_screen_keeps_its_columns(screen):
    terminal, out = screen(width=160)
    names = ["\x1b[31mred", "ok"]
    part = by_class_part(names, (0.5, 0.5, 0.5, 4), [[3, 1], [0, 4]])
    terminal.show_report(Report("run", {}, "accuracy", parts=(part,)))
    assert isinstance(out, io.StringIO)
    assert "\\x1b[31mred  " in out.getvalue()
