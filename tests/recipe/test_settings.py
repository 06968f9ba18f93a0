"""The file of settings for editors, which is made from the fields, is what the fields say."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from pippin.recipe.fields import recipe_fields
from pippin.recipe.settings import Settings
from pippin.recipe.signature import in_python

TOOL = Path(__file__).parents[2] / "tools" / "make_settings.py"


def test_the_settings_are_the_fields() -> None:
    spec = importlib.util.spec_from_file_location("make_settings", TOOL)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.TARGET.read_text(encoding="utf-8") == tool.source(), "run: python tools/make_settings.py"
    assert recipe_fields().keys() - Settings.__annotations__.keys() == {"data", "quiet"}


def test_messages_about_flags_in_pythons_words() -> None:
    assert in_python("Add --text_column NAME or --validation_split 0.1.") == (
        "Add text_column=NAME or validation_split=0.1."
    )
    assert in_python("Leave out --fp16; name --output_dir on another disk") == (
        "Leave out fp16=True; name output_dir on another disk"
    )
    assert in_python("--device cuda:1: none") == 'device="cuda:1": none'
    assert in_python("pippin predict RUN --file FILE") == "pippin predict RUN --file FILE"
