"""`evaluate.load` without the Hub, and a stand-in for the package evaluate where it is not installed."""

from __future__ import annotations

import functools
import importlib.abc
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from pippin.drop_in.errors import NotOnThisComputer
from pippin.drop_in.notices import say
from pippin.drop_in.script.after_import import AfterImport
from pippin.drop_in.script.reach import why_no_hub


def prepare_metrics(imports: AfterImport) -> None:
    """evaluate's own metrics where they can be had, ours otherwise."""
    imports.add("evaluate.loading", _load_without_hub)
    sys.meta_path.append(EvaluateStandIn())  # the last to be asked: only where evaluate is not installed


def _load_without_hub(module: ModuleType) -> None:
    theirs: Callable[..., Any] = module.load

    @functools.wraps(theirs)
    def load(path: str, config_name: str | None = None, *arguments: Any, **named: Any) -> Any:
        from pippin.drop_in.script.metrics import LocalMetric, is_known

        is_own = (Path(path) / f"{Path(path).name}.py").is_file()  # the user's `accuracy/accuracy.py` here
        if not is_known(path, config_name) or is_own:
            return theirs(path, config_name, *arguments, **named)
        reason = why_no_hub()
        if reason is None:
            try:
                return theirs(path, config_name, *arguments, **named)
            except Exception as error:  # of the Hub, or of packages that evaluate's file wants
                reason = f"evaluate could not load it ({str(error).strip().splitlines()[0][:120]})"
        say(f"evaluate.load({_spelt(path, config_name)}): computed by Pippin, since {reason}.")
        return LocalMetric(path, config_name)

    module.load = load  # type: ignore[attr-defined]


def _spelt(path: str, config_name: str | None) -> str:
    return repr(path) if config_name is None else f"{path!r}, {config_name!r}"


class EvaluateStandIn(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """A module `evaluate` with `load` and `combine`."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, origin=__file__) if name == "evaluate" else None

    def exec_module(self, module: ModuleType) -> None:
        say("the package evaluate is not installed: its usual metrics are computed by Pippin.")
        module.load = load_local  # type: ignore[attr-defined]
        module.combine = LocalMetrics  # type: ignore[attr-defined]


def load_local(path: str, config_name: str | None = None, *arguments: Any, **named: Any) -> Any:
    from pippin.drop_in.script.metrics import GLUE, METRICS, LocalMetric, is_known

    if not is_known(path, config_name):
        known = ", ".join((*METRICS, *(f"glue {task}" for task in GLUE)))
        raise NotOnThisComputer(
            f"evaluate.load({_spelt(path, config_name)}): Pippin has only {known}. For others: pip install evaluate"
        )
    return LocalMetric(path, config_name)


class LocalMetrics:
    """Several metrics of the same rows; what two of them call alike gets the metric's name in front."""

    def __init__(self, evaluations: Sequence[Any] | Mapping[str, Any], force_prefix: bool = False):
        parts = evaluations.values() if isinstance(evaluations, Mapping) else evaluations
        self._metrics = [load_local(part) if isinstance(part, str) else part for part in parts]
        named = isinstance(evaluations, Mapping)
        self._names = list(evaluations) if named else [metric.name for metric in self._metrics]
        self._force_prefix = force_prefix

    def add(self, *, prediction: Any = None, reference: Any = None) -> None:
        for metric in self._metrics:
            metric.add(prediction=prediction, reference=reference)

    def add_batch(self, *, predictions: Any, references: Any) -> None:
        for metric in self._metrics:
            metric.add_batch(predictions=predictions, references=references)

    def compute(self, *, predictions: Any = None, references: Any = None, **options: Any) -> dict[str, Any]:
        found = [metric.compute(predictions=predictions, references=references, **options) for metric in self._metrics]
        often = Counter(key for results in found for key in results)
        return {
            f"{name}_{key}" if self._force_prefix or often[key] > 1 else key: value
            for name, results in zip(self._names, found, strict=True)
            for key, value in results.items()
        }
