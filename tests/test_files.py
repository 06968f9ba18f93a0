"""The one way that Pippin writes: whole, under the right name, and through nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pippin import files
from pippin.errors import PippinError


@pytest.fixture
def precious(tmp_path) -> Path:
    path = tmp_path / "precious"
    path.write_text("mine")
    return path


def plant(path: Path, kind: str, precious: Path) -> None:
    """Something under a name, behind which nothing may change."""
    if kind == "symbolic link":
        path.symlink_to(precious)
    elif kind == "hard link":
        path.hardlink_to(precious)
    else:
        os.mkfifo(path)


KINDS = pytest.mark.parametrize("kind", ["symbolic link", "hard link", "FIFO"])


@KINDS
def test_a_file_replaces_what_stands_under_its_name(tmp_path, precious, kind):
    plant(tmp_path / "run.json", kind, precious)
    files.write_text(tmp_path / "run.json", "ours")
    assert (tmp_path / "run.json").read_text() == "ours"
    assert precious.read_text() == "mine"


@KINDS
def test_a_file_that_grows_is_refused_where_it_leads_elsewhere(tmp_path, precious, kind):
    plant(tmp_path / "events.jsonl", kind, precious)
    with pytest.raises(PippinError, match="writes only into files of its own. Remove it"):
        files.open_to_append(tmp_path / "events.jsonl")
    assert precious.read_text() == "mine"


def test_staging_names_cannot_be_foreseen_and_are_made_exclusively(tmp_path, precious, monkeypatch):
    assert files.staging_path(tmp_path) != files.staging_path(tmp_path)
    monkeypatch.setattr("secrets.token_hex", lambda count: "0" * 2 * count)
    files.staging_path(tmp_path).symlink_to(precious)
    with pytest.raises(FileExistsError):
        files.write_text(tmp_path / "run.json", "ours")
    with pytest.raises(FileExistsError):
        files.staging_folder(tmp_path)
    assert precious.read_text() == "mine"


def test_leftovers_go_and_nothing_else(tmp_path, precious):
    folder = tmp_path / "run"
    folder.mkdir()
    files.staging_path(folder).write_text("half")
    staged = files.staging_folder(folder)
    (staged / "link").symlink_to(precious)
    (staged / "inner").mkdir()
    for name in ("mine.partial", ".pippin-mine.partial", ".report.html.partial"):
        (folder / name).write_text("mine")
    (folder / ".pippin-new-0123456789abcdef.partial").symlink_to(precious)
    files.remove_leftovers(folder)
    assert precious.read_text() == "mine"
    assert sorted(path.name for path in folder.iterdir()) == [
        ".pippin-mine.partial", ".pippin-new-0123456789abcdef.partial", ".report.html.partial", "mine.partial"
    ]  # fmt: skip


@pytest.mark.parametrize("links", [True, False])
def test_a_new_name_replaces_nothing(tmp_path, precious, monkeypatch, links):
    if not links:  # as on exFAT

        def refuse(*_: object) -> None:
            raise PermissionError

        monkeypatch.setattr(os, "link", refuse)
    (tmp_path / "a.md").symlink_to(tmp_path / "nowhere")
    assert [files.write_new_text(tmp_path / "a.md", "x").name for _ in range(2)] == ["a-2.md", "a-3.md"]
    assert not (tmp_path / "nowhere").exists()


def test_permissions_are_those_of_a_plain_new_file(tmp_path):
    (tmp_path / "plain").write_text("")
    files.write_text(tmp_path / "ours", "")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode
