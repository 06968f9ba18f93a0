"""Names that Pippin makes up from names it was given stay in the output root."""

from __future__ import annotations

from pathlib import Path

import pytest

from pippin.errors import PippinError
from pippin.recipe import Recipe
from pippin.runs.names import checked_path, plain_name
from pippin.runs.opening import open_folder

HOSTILE = [
    "../x", "..", ".", "", "/", "/etc", "/etc/passwd", "a/../../b", "~", "~root/x", "a\0b", "CON", "con.txt", "nul",
    "LPT1", "x" * 300, "я" * 300, "\u2024\u2024/x", "\u2026", "\uff0e\uff0e\uff0fx", "over\u202etxt", "\u200f", "a\nb",
    "a\r\nb", "-rf", "--output_dir=x", ".hidden", "...", "a:b", "a\\..\\b", "C:\\x", "$HOME", "`id`", " ", "x. . .",
    "\x1b[31m", "\ud800",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_hostile_names_end_plain(name, tmp_path):
    plain = plain_name(name)
    assert Path(plain).name == plain
    assert plain[0] not in ".-~"
    assert plain[-1] not in ". "
    assert len(plain.encode()) <= 200
    assert plain.isprintable()
    assert not {"/", "\\", "\0", ":"} & set(plain)
    assert plain.split(".")[0].upper() not in ("CON", "NUL", "LPT1")
    folder = open_folder(Recipe(), name).path
    assert folder.parent == Path("runs")
    folder.mkdir(parents=True)
    assert folder.resolve().parent == tmp_path / "runs"
    again = open_folder(Recipe(), name).path
    assert again.name == f"{folder.name}-2"
    again.mkdir()


def test_plain_names_stay():
    for name in ("reviews", "my.reviews-v2_final", "отзывы", "レビュー", "naïve"):
        assert plain_name(name) == name


def test_folder_that_no_file_system_has():
    with pytest.raises(PippinError, match="holds a NUL"):
        open_folder(Recipe(output_dir="a\0b"), "x")
    assert checked_path("../elsewhere") == Path("../elsewhere"), "the user may name any folder"


@pytest.mark.parametrize("name", ["..csv.csv", "-rf.csv", "a\nb.csv", "over\u202etxt.csv", "x" * 240 + ".csv", "~.csv"])
def test_files_with_hostile_names_train(run_cli, tiny_model, tmp_path, write_rows, name):
    from helpers import make_rows

    rows = write_rows("train.csv", make_rows(24))
    inside = tmp_path / "inside"
    inside.mkdir()
    before = set(tmp_path.iterdir())
    data = rows.rename(inside / name)
    code, out, err = run_cli(
        "train", data, "--test_file", data, "--model_name_or_path", tiny_model, "--max_steps", 1
    )  # fmt: skip
    assert code == 0, err
    assert set(tmp_path.iterdir()) - before - {tmp_path / "runs"} == set()
    (run,) = (tmp_path / "runs").iterdir()
    assert run.name == plain_name(data.stem)
    assert (run / f"predict_results_{plain_name(data.stem)}.txt").is_file()
    assert "\u202e" not in out + err


def test_output_folder_that_is_too_long_is_one_message(run_cli, tiny_model, word_file):
    code, _, err = run_cli("train", word_file, "--model_name_or_path", tiny_model, "--output_dir", "x" * 300)
    assert code == 2
    assert err.count("\n") == 1
