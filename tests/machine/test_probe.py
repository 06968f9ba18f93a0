"""What the probe finds out for the doctor, where it can be made up: the Hub, its cache, torch's wheel."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pippin.machine import probe as probing
from pippin.machine import system
from pippin.machine.machine import Hub
from pippin.machine.traits import traits_of

CPU = traits_of("cpu", "some processor")


@pytest.fixture
def at_home(monkeypatch, tmp_path):
    """A home folder of our own, and no word from the environment about the Hub."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME", "HF_ENDPOINT", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_probe_looks_at_the_cache_and_asks_the_hub_once(at_home, monkeypatch):
    asked = []

    def ask(address):
        asked.append(address)
        return "ConnectError: no route"

    (at_home / ".cache/huggingface/hub/models--bert").mkdir(parents=True)
    found = probing.probe_thoroughly(ask).hub
    assert found == Hub(
        "https://huggingface.co", "~/.cache/huggingface/hub", True, True, 1, False, "ConnectError: no route"
    )
    monkeypatch.setenv("HF_ENDPOINT", "https://me:secret@mirror.example:8443")
    monkeypatch.setenv("HF_HOME", str(at_home / "elsewhere"))
    found = probing.probe_thoroughly(ask).hub
    assert asked == ["https://huggingface.co", "https://me:secret@mirror.example:8443"]
    assert (found.address, found.cache) == ("https://mirror.example:8443", "~/elsewhere/hub")
    assert (found.cache_exists, found.cache_writable, found.models) == (False, True, 0)


def test_probe_does_not_ask_a_hub_that_is_switched_off(at_home, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HUB_CACHE", str(at_home / "cache"))
    found = probing.probe_thoroughly(lambda address: pytest.fail("asked")).hub
    assert (found.cache, found.answers) == ("~/cache", None)


@pytest.mark.usefixtures("at_home")
def test_a_client_that_raises_is_an_answer(monkeypatch):
    class Session:
        def head(self, address, timeout):
            assert timeout < 10
            raise OSError("no route\nmore")

    monkeypatch.setattr("huggingface_hub.utils.get_session", Session)
    assert probing.ask_hub("https://huggingface.co") == "OSError: no route"
    monkeypatch.setattr(Session, "head", lambda self, address, timeout: None)
    assert probing.ask_hub("https://huggingface.co") == ""


@pytest.mark.usefixtures("at_home")
def test_probe_knows_torchs_wheel_and_that_torch_was_there(monkeypatch):
    import torch  # noqa: F401

    described = probing.probe_thoroughly(lambda address: "")
    assert described.torch_was_loaded is ("torch" in sys.modules)
    assert described.hub.answers is True

    class Torch:
        def read_text(self, name):
            return "Root-Is-Purelib: false\nTag: cp311-cp311-macosx_11_0_arm64\nTag: py3-none-any\n"

    monkeypatch.setattr(probing, "distribution", lambda name: Torch())
    assert probing.probe_thoroughly(lambda address: "").torch_wheel == "macosx_11_0_arm64"


def test_several_cards_are_each_tried(monkeypatch):
    tried = []
    monkeypatch.setattr(probing, "_trouble", lambda device: tried.append(device) or "")
    card = traits_of("cuda", "NVIDIA A10", memory_bytes=24 * 2**30, bf16=True)
    probing._tried((card, card, CPU))
    assert tried == ["cuda:0", "cuda:1", "cpu:0"]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [(" lowpowermode         1", True), (" lowpowermode         0", False), (" powermode            2", False),
     (" powermode            1", True), ("", None)],
)  # fmt: skip
def test_low_power_mode_of_a_mac(monkeypatch, answer, expected):
    monkeypatch.setattr(system, "_MAC", True)
    monkeypatch.setattr(subprocess, "run", lambda *words, **rest: subprocess.CompletedProcess(words, 0, answer))
    assert system.low_power_mode() is expected


@pytest.mark.parametrize(("said", "expected"), [("14.4", "14.4"), ("10.16", "13.6.1"), ("", "")])
def test_a_python_for_older_systems_is_not_believed(monkeypatch, said, expected):
    """macOS tells such a Python 10.16, whatever it is."""
    monkeypatch.setattr(system.platform, "mac_ver", lambda: (said, ("", "", ""), "x86_64"))
    monkeypatch.setattr(system, "ask", lambda *command: "13.6.1" if "sw_vers" in command else "")
    assert system.macos_release() == expected


@pytest.mark.usefixtures("at_home")
def test_a_fallback_variable_that_torch_cannot_read_is_found_without_torch_stopping(monkeypatch):
    monkeypatch.setenv("PYTORCH_ENABLE_MPS_FALLBACK", "yes")
    seen = []

    def devices():
        seen.append(os.environ.get("PYTORCH_ENABLE_MPS_FALLBACK"))
        return (CPU,), {}

    monkeypatch.setattr(probing, "_devices", devices)
    found = probing.probe_thoroughly(lambda address: "")
    assert found.variables["PYTORCH_ENABLE_MPS_FALLBACK"] == "yes"
    assert seen == [None]
