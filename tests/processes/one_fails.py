"""`pippin …` in which the second process of a group fails while it trains."""

import os
import sys

from pippin.cli.main import main
from pippin.engine.session import Session


def fail(*_: object) -> None:
    raise RuntimeError("the device is gone")


if os.environ["RANK"] == "1":
    Session.train = fail  # type: ignore[method-assign]
sys.exit(main(sys.argv[1:]))
