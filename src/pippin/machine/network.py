"""Names and addresses of computers: which one is this, and by which link another one reaches it."""

from __future__ import annotations

import re
import socket
import struct
import subprocess
import sys
from contextlib import closing, suppress


def is_this_computer(name: str) -> bool:
    """Whether a name, as one gives it to ssh, is this computer's own."""
    host = name.rpartition("@")[2].lower()
    own = socket.gethostname().lower()
    short = own.partition(".")[0]
    if host in ("localhost", own, short, f"{short}.local"):
        return True
    try:
        addresses = {str(found[4][0]) for found in socket.getaddrinfo(host, None)}
    except OSError:  # ssh's own configuration may know it
        return False
    return any(map(_is_own, addresses))


def free_port() -> int:
    """One that nobody uses at this moment."""
    with closing(socket.socket()) as found:
        found.bind(("", 0))
        return int(found.getsockname()[1])


def interface_of(address: str) -> str:
    """The network interface that has an address, such as en0; empty where none of this computer's has."""
    if sys.platform == "linux":
        return next((name for _, name in socket.if_nameindex() if _address_of(name) == address), "")
    with suppress(OSError, subprocess.SubprocessError):
        told = subprocess.run(["ifconfig"], capture_output=True, text=True, timeout=10, check=True).stdout
        return interface_told(told, address)
    return ""


def interface_told(told: str, address: str) -> str:
    """The interface of an address, in what `ifconfig` prints.

    >>> interface_told("lo0: flags=1\\n\\tinet 127.0.0.1\\nbridge0: flags=2\\n\\tinet 10.0.0.2 netmask", "10.0.0.2")
    'bridge0'
    """
    name = ""
    for line in told.splitlines():
        if found := re.match(r"(\w+): ", line):
            name = found[1]
        elif re.match(rf"\s+inet6? {re.escape(address)}[\s%]", f"{line} "):
            return name
    return ""


def _is_own(address: str) -> bool:
    """Only an address of this computer can be taken."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with suppress(OSError), closing(socket.socket(family)) as tried:
        tried.bind((address, 0))
        return True
    return False


def _address_of(interface: str) -> str:
    import fcntl

    asks_for_address = 0x8915  # SIOCGIFADDR
    with suppress(OSError), closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as asked:
        answer = fcntl.ioctl(asked.fileno(), asks_for_address, struct.pack("256s", interface[:15].encode()))
        return socket.inet_ntoa(answer[20:24])
    return ""
