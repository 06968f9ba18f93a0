"""Checkpoints on disk: whole or not there, the newest good one found, nothing of anybody else's deleted."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from pippin import files
from pippin.errors import PippinError
from pippin.runs.checkpoints import manifest
from pippin.runs.checkpoints.store import Store


def fill(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(os.urandom(3000))
    (folder / "state.json").write_text('{"step": 1}')


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "checkpoints", "mine", keep=2)


def save(store: Store, *steps: int, best: int | None = None) -> None:
    for step in steps:
        store.save(step, fill, needed=0, best_step=best)


def test_newest_that_verifies(store):
    assert store.newest().path is None
    save(store, 3, 10)
    found = store.newest()
    assert (found.path, found.step, found.passed_over) == (store.path(10), 10, ())


DAMAGES = {
    "delete": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "cut half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "cut a byte": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "flip a bit": lambda path: path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:]),
    "add a byte": lambda path: path.write_bytes(path.read_bytes() + b" "),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", ["model.safetensors", "state.json", manifest.NAME])
def test_damaged_ones_are_passed_over_and_named(store, name, damage):
    save(store, 3, 10)
    DAMAGES[damage](store.path(10) / name)
    found = store.newest()
    if name == manifest.NAME and damage in ("add a byte", "cut a byte"):
        assert found.step == 10, "a blank or a line's end more or less says nothing else"
        return
    assert found.step == 3
    assert [passed for passed, _ in found.passed_over] == ["step-10"]
    assert name in found.passed_over[0][1]


def test_oldest_go_and_the_best_stays(store):
    save(store, 1, 2, 3, 4, 5, best=2)
    assert store.steps() == [2, 4, 5]


def test_keeping_one(tmp_path):
    store = Store(tmp_path / "checkpoints", "mine", keep=1)
    save(store, 1, 2, 3)
    assert store.steps() == [3]
    save(store, 4, 5, best=4)
    assert store.steps() == [4, 5]


def test_same_step_again_replaces_it(store):
    save(store, 3)
    before = (store.path(3) / "model.safetensors").read_bytes()
    save(store, 3)
    assert manifest.problem_of(store.path(3)) is None
    assert (store.path(3) / "model.safetensors").read_bytes() != before


def test_nothing_of_others_is_deleted(store, tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "diary.txt").write_text("mine")
    save(store, 1)
    (store.folder / "step-notes").mkdir()
    (store.folder / "step-7").mkdir()  # looks like one of ours and has no manifest
    (store.folder / "step-7" / "a.txt").write_text("mine")
    (store.folder / "step-8").symlink_to(precious)
    (store.folder / ".step-9.partial").symlink_to(precious)
    (store.folder / ".pippin-step-9-0123456789abcdef.partial").symlink_to(precious)
    (store.path(1) / "note.txt").write_text("mine")
    (store.path(1) / "link").symlink_to(precious / "diary.txt")
    save(store, 20, 30, 40)
    store.drop_all()
    assert (precious / "diary.txt").read_text() == "mine"
    assert (store.folder / "step-notes").is_dir()
    assert (store.folder / "step-7" / "a.txt").read_text() == "mine"
    assert (store.path(1) / "note.txt").read_text() == "mine"
    assert (store.path(1) / "link").is_symlink()
    assert not (store.path(1) / "model.safetensors").exists()
    assert not store.path(30).exists()


def test_a_linked_folder_is_used_only_where_it_holds_checkpoints_of_this_run(tmp_path):
    elsewhere = Store(tmp_path / "elsewhere", "mine", keep=2)
    save(elsewhere, 1)
    (tmp_path / "checkpoints").symlink_to(elsewhere.folder)
    linked = Store(tmp_path / "checkpoints", "mine", keep=2)
    assert linked.newest().step == 1
    save(linked, 2)
    assert elsewhere.steps() == [1, 2]
    other = Store(tmp_path / "checkpoints", "other")
    with pytest.raises(PippinError, match="is a link to .*elsewhere, where this run has no checkpoint"):
        save(other, 3)
    other.drop_all()
    assert elsewhere.steps() == [1, 2]
    linked.drop_all()
    assert elsewhere.steps() == []
    assert linked.folder.is_symlink()


def test_checkpoints_of_other_runs_are_neither_used_nor_deleted(store):
    other = Store(store.folder, "other")
    save(other, 5)
    save(store, 3)
    assert store.newest().step == 3
    assert store.newest().passed_over == (("step-5", "it belongs to another run"),)
    save(store, 5)
    assert (store.folder / "step-5.aside").is_dir()
    store.drop_all()
    assert manifest.problem_of(store.folder / "step-5.aside") is None


def test_a_renamed_checkpoint_is_not_taken_for_another_step(store):
    save(store, 3)
    store.path(3).rename(store.path(30))
    found = store.newest()
    assert found.path is None
    assert found.passed_over == (("step-30", "it is the checkpoint of step 3"),)


def test_files_that_the_manifest_does_not_name_are_not_read(store):
    """As macOS leaves beside each file on a foreign disk."""
    save(store, 3)
    (store.path(3) / "._model.safetensors").write_bytes(b"x")
    assert store.newest().step == 3


def test_leftovers_of_a_killed_save_are_ignored_and_removed(store):
    save(store, 1)
    partial = files.staging_folder(store.folder, "step-2")
    fill(partial)
    assert store.newest().step == 1
    save(store, 3)
    assert not partial.exists()


@pytest.mark.parametrize("stop", range(4))
def test_a_crash_while_one_is_dropped_leaves_nothing_for_good(store, monkeypatch, stop):
    """At each deletion, the folder's own included: what is half gone is never taken for whole, and goes later."""
    save(store, 1)
    done = []

    def crash_at(delete):
        def call(self, **keywords):
            if len(done) == stop:
                raise KeyboardInterrupt
            done.append(self.name)
            delete(self, **keywords)

        return call

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", crash_at(Path.unlink))
        patched.setattr(Path, "rmdir", crash_at(Path.rmdir))
        with pytest.raises(KeyboardInterrupt):
            manifest.drop(store.path(1))
    assert len(done) == stop
    assert (store.newest().path is None) == (stop > 0)
    store.drop_all()
    assert not store.folder.exists()


def test_what_stands_in_the_way_is_moved_aside(store):
    save(store, 1)
    (store.path(1) / manifest.NAME).write_text("{}")
    (store.path(1) / "note.txt").write_text("mine")
    save(store, 1)
    assert store.newest().step == 1
    assert (store.folder / "step-1.aside" / "note.txt").read_text() == "mine"


def test_a_manifest_that_names_files_elsewhere_is_none(store):
    save(store, 1)
    text = (store.path(1) / manifest.NAME).read_text().replace("state.json", "../state.json")
    (store.path(1) / manifest.NAME).write_text(text)
    assert store.newest().path is None


def test_other_formats_are_passed_over(store):
    save(store, 1, 2)
    path = store.path(2) / manifest.NAME
    path.write_text(path.read_text().replace(f'"format": {manifest.FORMAT}', '"format": 99'))
    assert store.newest().step == 1
    assert "it has format 99" in store.newest().passed_over[0][1]


def test_no_room_is_said_before_anything_is_written(store, monkeypatch):
    save(store, 1)
    monkeypatch.setattr("pippin.runs.checkpoints.store.free_bytes", lambda path: 10)
    with pytest.raises(PippinError, match="not enough room.*are needed.*--resume"):
        store.save(2, fill, needed=2**30)
    assert store.newest().step == 1


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_refuses_keeps_the_last_good_one(store, monkeypatch, number):
    save(store, 1)

    def refuse(folder: Path) -> None:
        fill(folder)
        raise OSError(number, os.strerror(number))

    with pytest.raises(PippinError, match=os.strerror(number)):
        store.save(2, refuse, needed=5)
    assert store.newest().step == 1
    assert [path.name for path in store.folder.iterdir()] == ["step-1"]


def test_small_files_appear_whole(tmp_path, monkeypatch):
    path = tmp_path / "run.json"
    files.write_text(path, "first")

    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pippin.files.os.replace", full)
    with pytest.raises(OSError, match="No space"):
        files.write_text(path, "second")
    assert path.read_text() == "first"
    assert [item.name for item in tmp_path.iterdir()] == ["run.json"]


def test_files_and_folders_are_synced(store, monkeypatch):
    synced = []
    monkeypatch.setattr("pippin.runs.checkpoints.manifest.sync", lambda path: synced.append(path.name))
    monkeypatch.setattr("pippin.runs.checkpoints.store.sync", lambda path: synced.append(path.name))
    save(store, 5)
    assert files.is_staging(synced.pop(3))
    assert synced == ["model.safetensors", "state.json", "manifest.json", "checkpoints"]


def test_macs_flush_the_drive_itself(tmp_path, monkeypatch):
    import fcntl

    asked = []
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", lambda handle, command: asked.append(command))
    (tmp_path / "a").write_text("")
    files.sync(tmp_path / "a")
    files.sync(tmp_path)
    assert asked == [51]
