"""Acting right after a module is imported for the first time, before the script sees its names."""

from __future__ import annotations

import importlib.abc
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

#: Gets the module as it stands in sys.modules.
Action = Callable[[ModuleType], None]


class AfterImport(importlib.abc.MetaPathFinder):
    """Finds nothing by itself: it asks the finders behind it, and adds actions to what they find."""

    def __init__(self) -> None:
        self._actions: dict[str, list[Action]] = {}
        self._settled: dict[str, Action] = {}
        self._under_way: list[str] = []

    def add(self, module: str, action: Action) -> None:
        """Run the action as soon as the module's last line has run; now, where that has happened already."""
        if module in sys.modules:
            action(sys.modules[module])
        else:
            self._actions.setdefault(module, []).append(action)

    def add_settled(self, module: str, action: Action) -> None:
        """Run the action when, after the module, no other of its package is half imported: it may import them all."""
        self._settled[module] = action

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        package = _package(name)
        if name not in self._actions and not any(_package(other) == package for other in self._settled):
            return None
        others = (finder for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec"))
        spec = next((spec for finder in others if (spec := finder.find_spec(name, path, target))), None)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            self._add_actions(spec.loader)
        return spec

    def _add_actions(self, loader: Any) -> None:
        execute = loader.exec_module

        def execute_and_act(module: ModuleType) -> None:
            name = module.__name__
            self._under_way.append(name)
            try:
                execute(module)
            finally:
                self._under_way.remove(name)
            # A module may put another in its place, as transformers does.
            for action in self._actions.pop(name, []):
                action(sys.modules[name])
            self._act_on_settled(_package(name))

        loader.exec_module = execute_and_act

    def _act_on_settled(self, package: str) -> None:
        if any(_package(name) == package for name in self._under_way):
            return
        for name in [name for name in self._settled if _package(name) == package and name in sys.modules]:
            action = self._settled.pop(name, None)
            if action:  # else a nested import has had it
                action(sys.modules[name])


def _package(name: str) -> str:
    return name.partition(".")[0]
