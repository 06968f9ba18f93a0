"""Secrets are taken out of every text that Pippin shows: tokens it was given, and what looks like one."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

HIDDEN = "***"
#: Shorter ones are no secrets, and would blot out plain words.
_SHORTEST = 6
_SECRET_VARIABLE = re.compile(r"(TOKEN|API_KEY|SECRET|PASSWORD)$")
_SECRET_FLAG = re.compile(r"--(\w+[_-])*token$")
_PATTERNS = (
    (re.compile(r"\bhf_[A-Za-z0-9]{20,}"), HIDDEN),
    (re.compile(r"(authorization['\"]?\s*[:=]\s*['\"]?(?:\w+\s+)?)[\w.~+/=-]{8,}", re.IGNORECASE), rf"\1{HIDDEN}"),
    (re.compile(r"\b(bearer\s+)[\w.~+/=-]{8,}", re.IGNORECASE), rf"\1{HIDDEN}"),
    (re.compile(r"(\w://)[^/\s?#]+@"), rf"\1{HIDDEN}@"),  # user:password@host
    (re.compile(r"([?&][\w-]*(?:token|signature|credential|key|password)=)[^&\s'\"]+", re.IGNORECASE), rf"\1{HIDDEN}"),
)

_known: set[str] = set()


def remember_secret(secret: str | None) -> None:
    """From now on ``without_secrets`` hides it."""
    if secret and len(secret) >= _SHORTEST:
        _known.add(secret)


def remember_secrets_of(arguments: Sequence[str]) -> None:
    """The tokens on a command line: `--token X`, `--token=X`, and Hugging Face's other flags for one."""
    for place, word in enumerate(arguments):
        flag, equals, value = word.partition("=")
        if _SECRET_FLAG.fullmatch(flag):
            remember_secret(value if equals else next(iter(arguments[place + 1 :]), None))


def without_secrets(text: str) -> str:
    """The text with every secret replaced by stars.

    >>> without_secrets("GET https://me:password@hub.test/x?token=abc failed")
    'GET https://***@hub.test/x?token=*** failed'
    """
    in_environment = {value for name, value in os.environ.items() if _SECRET_VARIABLE.search(name)}
    for secret in sorted(_known | in_environment, key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, HIDDEN)
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text
