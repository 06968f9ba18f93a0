"""torch calls this at the end of its own import, so that child processes get the device too."""

from __future__ import annotations

import os

VARIABLE = "EMULATED_MPS"


def autoload() -> None:
    """Install the device when the variable asks for it."""
    wanted = os.environ.get(VARIABLE, "0")
    if wanted in ("", "0"):
        return
    from emulated_mps.device import install
    from emulated_mps.settings import Settings

    install(Settings.parse(wanted))
