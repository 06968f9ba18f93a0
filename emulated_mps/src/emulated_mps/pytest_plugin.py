"""pytest's side: `pytest --emulated-mps` runs the tests with the device; tests that need it carry a mark."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import Any

import pytest

from emulated_mps.autoload import VARIABLE

MARK = "emulated_mps"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("emulated mps")
    group.addoption("--emulated-mps", action="store_true", help="run with the emulated Apple GPU")
    # Not a value of the option above, which would take the tests' path for it.
    group.addoption(
        "--emulated-mps-settings", metavar="SETTINGS", help="the same, and which Mac: 'release=2.8.0, memory=8'"
    )


def _wanted(options: argparse.Namespace) -> str:
    return options.emulated_mps_settings or ("1" if options.emulated_mps else "")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before any conftest imports torch, which then loads the device; child processes do the same."""
    wanted = _wanted(early_config.known_args_namespace)
    if wanted:
        os.environ[VARIABLE] = wanted


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARK}: needs the emulated Apple GPU (pytest --emulated-mps)")
    if _wanted(config.option):
        import torch  # noqa: F401  (installs the device)

        import emulated_mps

        if not emulated_mps.is_installed():
            raise pytest.UsageError("--emulated-mps: torch was imported before the device could be installed.")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if _wanted(config.option):
        return
    for item in items:
        if item.get_closest_marker(MARK):
            item.add_marker(pytest.mark.skip(reason="run with --emulated-mps"))


@pytest.fixture
def mps() -> Iterator[Any]:
    """The device's controls, with nothing counted yet."""
    import emulated_mps

    emulated_mps.forget_fallbacks()
    emulated_mps.forget_graphs()
    emulated_mps.reset_peak()
    yield emulated_mps
    emulated_mps.forget_fallbacks()
