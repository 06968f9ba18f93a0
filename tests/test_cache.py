"""The cache by content: what is put is got, what is damaged is not, and it stays within its bounds."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from pippin import cache

SMALL = {"numbers": np.arange(7, dtype=np.int32), "count": np.asarray(3), "none": np.empty((0, 4), np.float32)}


def entries() -> list[str]:
    home = cache.folder()
    assert home is not None
    return sorted(path.name for path in home.iterdir()) if home.exists() else []


def test_what_is_put_is_got():
    cache.put("a", SMALL)
    got = cache.get("a")
    assert got is not None
    assert set(got) == set(SMALL)
    for name, array in SMALL.items():
        np.testing.assert_array_equal(got[name], array)
        assert got[name].dtype == array.dtype
        assert got[name].shape == array.shape
    assert cache.get("b") is None
    assert entries() == ["a"]


def test_a_later_put_takes_the_place_of_the_earlier():
    cache.put("a", {"x": np.zeros(3)})
    cache.put("a", {"y": np.ones(2)})
    got = cache.get("a")
    assert got is not None
    assert list(got) == ["y"]
    assert entries() == ["a"]


def test_large_arrays_are_mapped_and_changing_them_changes_no_file():
    cache.put("a", {"x": np.zeros(1 << 18)})
    got = cache.get("a")
    assert got is not None
    assert isinstance(got["x"], np.memmap)
    got["x"][:] = 1
    again = cache.get("a")
    assert again is not None
    assert not again["x"].any()


def test_an_entry_is_filled_little_by_little_and_appears_when_it_is_whole():
    with cache.writing("a", {"x": ((4, 2), np.float32)}) as arrays:
        assert arrays is not None
        for row in range(4):
            arrays["x"][row] = row
            assert cache.get("a") is None
    got = cache.get("a")
    assert got is not None
    assert got["x"].tolist() == [[0, 0], [1, 1], [2, 2], [3, 3]]


def test_a_failure_while_writing_leaves_what_was_there():
    cache.put("a", SMALL)
    with pytest.raises(KeyboardInterrupt), cache.writing("a", {"x": ((4,), np.float32)}):
        raise KeyboardInterrupt
    assert entries() == ["a"]
    got = cache.get("a")
    assert got is not None
    assert set(got) == set(SMALL)


@pytest.mark.parametrize("size", [10, 1 << 18], ids=["read", "mapped"])
@pytest.mark.parametrize("damage", ["cut", "changed", "emptied", "gone", "pickled", "record"])
def test_damaged_entries_are_ignored_and_replaced(damage, size):
    arrays = {"x": np.arange(size), "y": np.arange(3)}
    cache.put("a", arrays)
    file = cache.folder() / "a" / "x.npy"  # type: ignore[operator]
    if damage == "cut":
        os.truncate(file, file.stat().st_size - 8)
    elif damage == "changed":
        content = bytearray(file.read_bytes())
        content[-3] ^= 1
        file.write_bytes(content)
    elif damage == "emptied":
        file.write_bytes(b"")
    elif damage == "gone":
        file.unlink()
    elif damage == "pickled":
        np.save(file, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    else:
        (file.parent / "record.json").write_text('["x"]')
    assert cache.get("a") is None
    cache.put("a", arrays)
    got = cache.get("a")
    assert got is not None
    np.testing.assert_array_equal(got["x"], arrays["x"])


@pytest.mark.parametrize("name", ["x.npy", "record.json"])
def test_every_bit_is_checked(name):
    """Of the header too: it says how the rest is to be read."""
    wanted = np.arange(6, dtype=np.int16).reshape(2, 3)
    cache.put("key", {"x": wanted})
    path = cache.folder() / "key" / name  # type: ignore[operator]
    whole = path.read_bytes()
    for bit in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(damaged)
        found = cache.get("key")
        assert found is None or repr(found["x"]) == repr(wanted), bit
        cache.put("key", {"x": wanted})
        assert cache.get("key") is not None


@pytest.mark.parametrize("record", ["{}", '{"files": {}, "sum": 2745614147}', "[]", "null", "7", "", "{"])
def test_a_record_of_nothing_is_damaged(record):
    cache.put("key", {"x": np.arange(3)})
    (cache.folder() / "key" / "record.json").write_text(record)  # type: ignore[operator]
    assert cache.get("key") is None
    cache.put("key", {"x": np.arange(3)})
    assert cache.get("key")["x"].tolist() == [0, 1, 2]  # type: ignore[index]


def test_an_entry_of_another_process_stays_where_it_was_quicker(monkeypatch):
    monkeypatch.setattr(cache, "_remove", lambda entry: None)  # as if it came right after our look
    cache.put("a", {"x": np.zeros(3)})
    cache.put("a", {"x": np.ones(3)})
    got = cache.get("a")
    assert got is not None
    assert not got["x"].any()
    assert entries() == ["a"]


def test_entries_used_longest_ago_go_first(monkeypatch):
    for age, key in enumerate(["a", "b", "c"]):
        cache.put(key, {"x": np.zeros(1000)})
        os.utime(cache.folder() / key / "record.json", (age, age))  # type: ignore[operator]
    assert cache.get("a") is not None  # used just now
    monkeypatch.setattr(cache, "LIMIT_BYTES", 3 * 9000)
    cache.put("d", {"x": np.zeros(1000)})
    assert entries() == ["a", "c", "d"]


def test_what_was_left_unfinished_goes_after_a_day():
    cache.put("a", SMALL)
    home = cache.folder()
    assert home is not None
    for name in (".unfinished-old", ".unfinished-new"):
        (home / name).mkdir()
    os.utime(home / ".unfinished-old", (0, 0))
    cache.put("b", SMALL)
    assert entries() == [".unfinished-new", "a", "b"]


def test_nothing_is_kept_without_room(monkeypatch):
    monkeypatch.setattr(cache, "_SPARE_BYTES", 1 << 62)
    cache.put("a", SMALL)
    assert cache.get("a") is None
    monkeypatch.undo()
    monkeypatch.setattr(cache, "LIMIT_BYTES", 4)
    with cache.writing("a", {"x": ((4,), np.float32)}) as arrays:
        assert arrays is None


def test_a_full_disk_is_noticed_before_the_first_number(monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with cache.writing("a", {"x": ((4,), np.float32)}) as arrays:
        assert arrays is None
    assert entries() == []


def test_off_keeps_nothing(monkeypatch):
    monkeypatch.setenv("PIPPIN_CACHE", "OFF")
    assert cache.folder() is None
    cache.put("a", SMALL)
    assert cache.get("a") is None


def test_a_place_that_cannot_be_written_is_no_failure(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PIPPIN_CACHE", str(tmp_path / "file"))
    cache.put("a", SMALL)
    assert cache.get("a") is None


@pytest.mark.parametrize(
    ("platform", "variables", "place"),
    [
        ("darwin", {}, "HOME/Library/Caches/pippin"),
        ("linux", {}, "HOME/.cache/pippin"),
        ("linux", {"XDG_CACHE_HOME": "/elsewhere"}, "/elsewhere/pippin"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/pippin"),
        ("linux", {"PIPPIN_CACHE": "~/mine"}, "HOME/mine"),
    ],
)
def test_each_system_has_its_place(monkeypatch, platform, variables, place):
    for name in ("PIPPIN_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(cache.sys, "platform", platform)
    assert cache.folder() == Path(place.replace("HOME", str(Path.home()))) / "entries-2"


def test_parts_of_a_key_do_not_run_into_each_other():
    keys = [("ab", "c"), ("a", "bc"), ("abc",), (b"abc",), ("1",), (1,), (None,), ("None",), ("\ud800",), ()]
    assert len({cache.key_of(*parts) for parts in keys}) == len(keys)
    assert cache.key_of("ab", 1) == cache.key_of("ab", 1)
