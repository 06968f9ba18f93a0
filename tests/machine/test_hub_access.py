"""Without a network the Hub's client is not asked to wait for one."""

from __future__ import annotations

import socket

import pytest
from huggingface_hub import constants

from pippin.machine.hub_access import is_cut_off, without_waiting


@pytest.fixture
def online(monkeypatch):
    """As where nobody has switched the Hub off."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    for name in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def nowhere(*_: object) -> None:
    raise OSError("Name or service not known")


def test_the_cache_is_taken_at_once(online, monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", nowhere)
    with without_waiting():
        assert constants.HF_HUB_OFFLINE
    assert not constants.HF_HUB_OFFLINE, "for the user's own calls, or where the network comes back"


def test_the_hub_is_asked_where_it_may_answer(online, monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: [("found",)])
    with without_waiting():
        assert not constants.HF_HUB_OFFLINE
    monkeypatch.setattr(socket, "getaddrinfo", nowhere)
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    assert not is_cut_off(), "a proxy may know the way"


def test_nobody_asks_where_the_hub_is_switched_off(online, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert not is_cut_off(), "no address is looked up: the tests would not allow it"
