"""Actions on a library's modules at the right moment, and arguments under their old names."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pippin.drop_in.script.after_import import AfterImport
from pippin.drop_in.script.old_names import translating


@pytest.fixture
def imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AfterImport]:
    """A library whose modules import each other half way, as transformers' do."""
    folder = tmp_path / "made_up_library"
    folder.mkdir()
    (folder / "__init__.py").write_text("from .loading import load")
    (folder / "loading.py").write_text("def load(): return 'theirs'")
    (folder / "arguments.py").write_text("class Arguments: pass")
    (folder / "trainer.py").write_text("from .arguments import Arguments\nclass Trainer: pass")
    finder = AfterImport()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    yield finder
    for name in [name for name in sys.modules if name.startswith("made_up_library")]:
        del sys.modules[name]


def test_names_change_before_the_package_passes_them_on(imports: AfterImport) -> None:
    imports.add("made_up_library.loading", lambda module: setattr(module, "load", lambda: "ours"))
    library = importlib.import_module("made_up_library")
    assert library.load() == "ours"
    imports.add("made_up_library.loading", lambda module: setattr(module, "late", True))  # it is there already
    assert library.loading.late


def test_settled_action_waits_until_no_module_is_half_imported(imports: AfterImport) -> None:
    seen: list[bool] = []
    for name in ("arguments", "trainer"):
        imports.add_settled(
            f"made_up_library.{name}",
            lambda module: seen.append(hasattr(importlib.import_module("made_up_library.trainer"), "Trainer")),
        )
    importlib.import_module("made_up_library")
    assert seen == []
    importlib.import_module("made_up_library.trainer")
    assert seen == [True, True]


def test_old_argument_is_translated_only_where_it_is_gone() -> None:
    def today(path: str, token: str | None = None, **options: object) -> tuple[object, ...]:
        return path, token, options

    def before(path: str, **options: object) -> object:
        return options.pop("use_auth_token", None)

    old = {"use_auth_token": "token", "task": None}
    assert translating(today, old)("x", use_auth_token="secret", task="y") == ("x", "secret", {})
    assert translating(today, old)("x", use_auth_token=None, token="kept", other=1) == ("x", "kept", {"other": 1})
    assert translating(before, old)("x", use_auth_token="secret") == "secret"
