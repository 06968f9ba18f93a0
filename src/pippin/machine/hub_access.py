"""Whether any network leads to the Hugging Face Hub, asked before its client asks: it would try for half a minute."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from pippin.machine.machine import is_offline

#: What stands in the way, for people.
NO_NETWORK = "no network leads to the Hub"
#: A proxy may know the Hub's address where this computer does not.
_PROXIES = ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")


def is_cut_off() -> bool:
    """Whether the Hub's address cannot be looked up, though nobody has switched the Hub off."""
    from huggingface_hub import constants

    if is_offline(os.environ) or any(os.environ.get(name) for name in _PROXIES):
        return False
    try:
        socket.getaddrinfo(urlsplit(constants.ENDPOINT).hostname, 443)
    except OSError:
        return True
    return False


@contextmanager
def without_waiting() -> Iterator[None]:
    """Without a network the Hub's client takes what its cache has at once, as with HF_HUB_OFFLINE."""
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = before or is_cut_off()
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before
