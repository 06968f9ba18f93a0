"""A browser for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser import CHROMIUM, Browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    started = Browser(tmp_path_factory.mktemp("profile"))
    yield started
    started.close()
