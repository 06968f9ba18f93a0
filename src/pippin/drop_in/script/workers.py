"""Processes that the script spawns, such as a DataLoader's workers: they run the script again, prepared alike.

A spawned process imports the file of its parent's `__main__` under the name `__mp_main__`. Here it imports this module
under that name instead, which makes the same preparations and then runs the file in its place. Forked processes need
nothing: they have all that their parent had.
"""

from __future__ import annotations

import json
import os
from types import ModuleType
from typing import Any

from pippin.drop_in.script.after_import import AfterImport

_VARIABLE = "PIPPIN_EXEC"


def prepare_workers(imports: AfterImport, **main: Any) -> None:
    """From now on spawned processes begin here, and are told what their main module is."""
    os.environ[_VARIABLE] = json.dumps(main)

    def begin_here(spawn: ModuleType) -> None:
        usual = spawn.get_preparation_data

        def get_preparation_data(name: str) -> dict[str, Any]:
            data = usual(name)
            if data.pop("init_main_from_path", None) or "init_main_from_name" in data:
                data["init_main_from_name"] = __name__
            return data

        spawn.get_preparation_data = get_preparation_data  # type: ignore[attr-defined]

    imports.add("multiprocessing.spawn", begin_here)
    imports.add("multiprocess.spawn", begin_here)  # the like of it that datasets uses


if __name__ == "__mp_main__":
    from pippin.drop_in.script.runner import become_worker

    become_worker(globals(), **json.loads(os.environ[_VARIABLE]))
