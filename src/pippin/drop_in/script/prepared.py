"""Everything that a script finds changed, made ready before it is run, and only in the process that runs it."""

from __future__ import annotations

import sys

from pippin.drop_in.script.after_import import AfterImport
from pippin.drop_in.script.glue import prepare_glue
from pippin.drop_in.script.metric_loading import prepare_metrics
from pippin.drop_in.script.old_arguments import prepare_old_arguments
from pippin.drop_in.script.old_names import prepare_old_names
from pippin.drop_in.script.replacements import Replacements
from pippin.drop_in.script.workers import prepare_workers


def prepare_process(script: str, data_dir: str | None, announce: bool = True, is_module: bool = False) -> None:
    """No library is imported for it: each change waits for the library that it concerns."""
    imports = AfterImport()
    Replacements(announce).prepare(imports)
    prepare_old_names(imports)
    prepare_old_arguments(imports)
    prepare_glue(imports, data_dir)  # after the arguments, whose old names it passes on
    prepare_metrics(imports)
    prepare_workers(imports, script=script, data_dir=data_dir, is_module=is_module)
    sys.meta_path.insert(0, imports)
