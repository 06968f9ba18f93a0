"""pytest's side: marked tests are skipped without the option and run with it."""

from __future__ import annotations

import pytest

from emulated_mps import build

pytest_plugins = "pytester"

CACHE = build._cache().parent

TESTS = """
import pytest

@pytest.mark.emulated_mps
def test_on_the_device(mps):
    import torch
    assert torch.ones(2, device="mps").sum().item() == 2
    assert mps.settings().memory == 9
    assert not mps.fallbacks()

def test_anywhere():
    pass
"""


@pytest.fixture(autouse=True)
def _fresh_environment(monkeypatch: pytest.MonkeyPatch, pytester: pytest.Pytester) -> None:
    """Without the variable of this very run; with the compiled device, which another home does not have."""
    monkeypatch.delenv("EMULATED_MPS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(CACHE))


def test_marked_tests_are_skipped_without_the_option(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_subprocess("-rs", "--strict-markers")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines("*run with --emulated-mps*")


def test_they_run_with_it(pytester: pytest.Pytester) -> None:
    path = pytester.makepyfile(TESTS)
    pytester.makeconftest("import torch")
    result = pytester.runpytest_subprocess("--emulated-mps", "--emulated-mps-settings", "memory=9", path)
    result.assert_outcomes(passed=2)


def test_a_torch_that_came_first_is_reported(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(early="import torch")
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_subprocess("-p", "early", "--emulated-mps")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines("*torch was imported before the device could be installed*")
