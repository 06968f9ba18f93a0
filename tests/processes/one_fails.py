"""`pippin …` in which one process of a group fails: FAILS says which, the second unless it does. The first one fails
in the middle of its training, while the others wait for it."""

import os
import sys

from pippin.cli.main import main
from pippin.engine.session import Session
from pippin.engine.shards import SharedStep


def fail(*_: object) -> None:
    raise RuntimeError("the device is gone")


if os.environ["RANK"] == os.environ.get("FAILS", "1"):
    if os.environ["RANK"] == "0":
        SharedStep._take_less = SharedStep._gradients = fail  # type: ignore[method-assign]
    else:
        Session.train = fail  # type: ignore[method-assign]
sys.exit(main(sys.argv[1:]))
