"""What the machine tells of its power, by what its files and tools say."""

from __future__ import annotations

import pytest

from pippin.machine import system as power


def test_the_counters_of_all_processors_are_added(tmp_path):
    for name, energy in (("intel-rapl:0", 2_500_000), ("intel-rapl:1", 500_000), ("intel-rapl:0:0", 999)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "energy_uj").write_text(f"{energy}\n")
    assert power.package_joules(tmp_path) == 3.0
    (tmp_path / "intel-rapl:1" / "energy_uj").write_text("")
    assert power.package_joules(tmp_path) is None
    assert power.package_joules(tmp_path / "nowhere") is None


@pytest.mark.parametrize(("said", "watts"), [("78.31", 78.31), ("[N/A]", None), ("", None)])
def test_an_nvidia_card(monkeypatch, said, watts):
    monkeypatch.setattr(power, "ask", lambda *command: said)
    assert power.nvidia_watts(0) == watts


@pytest.mark.parametrize(
    ("outside", "current", "watts"),
    [("No", 2**64 - 1500, 18.0), ("Yes", 2**64 - 1500, None), ("No", 900, None)],
)
def test_a_mac_on_its_battery(monkeypatch, outside, current, watts):
    said = f'"ExternalConnected" = {outside}\n"InstantAmperage" = {current}\n"Voltage" = 12000\n'
    monkeypatch.setattr(power, "ask", lambda *command: said)
    assert power.battery_watts() == watts


def test_a_tool_that_is_not_there():
    assert power.ask("no-such-tool-anywhere") == ""
