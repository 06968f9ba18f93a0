"""Pippin's Trainer and TrainingArguments under transformers' names, in this process."""

from __future__ import annotations

import functools
from importlib import import_module
from types import ModuleType
from typing import Any

from pippin.drop_in.notices import say
from pippin.drop_in.script.after_import import AfterImport

#: name -> (transformers' module that defines it, ours)
CLASSES = {
    "TrainingArguments": ("transformers.training_args", "pippin.drop_in.arguments"),
    "Seq2SeqTrainingArguments": ("transformers.training_args_seq2seq", "pippin.drop_in.arguments"),
    "Trainer": ("transformers.trainer", "pippin.drop_in.trainer"),
    "Seq2SeqTrainer": ("transformers.trainer_seq2seq", "pippin.drop_in.trainer"),
}

#: Copies of transformers' parser in other packages, whose flags may be former names too.
PARSERS = ("trl.scripts._hf_argparser",)


class Replacements:
    """Puts the classes in place when the first of transformers' modules that define them is imported."""

    def __init__(self, announce: bool):
        self._announce = announce
        self._begun = False
        self._packages: list[ModuleType] = []

    def prepare(self, imports: AfterImport) -> None:
        imports.add("transformers.utils.import_utils", self._remember_packages)
        for home, _ in CLASSES.values():
            imports.add_settled(home, self._replace)
        for copy in PARSERS:
            imports.add(copy, _teach)

    def _remember_packages(self, module: ModuleType) -> None:
        """transformers makes its package anew while parts of it are imported, and a script may hold any of them."""
        lazy = module._LazyModule
        usual = lazy.__init__

        @functools.wraps(usual)
        def remembered(package: ModuleType, name: str, *arguments: Any, **named: Any) -> None:
            usual(package, name, *arguments, **named)
            if name == "transformers":
                self._packages.append(package)

        lazy.__init__ = remembered

    def _replace(self, module: ModuleType) -> None:
        # Ours are subclasses: importing them imports the rest of transformers' modules, whose classes are to be the
        # bases. Only then may the names change.
        if self._begun:
            return
        self._begun = True
        ours = {name: getattr(import_module(place), name) for name, (_, place) in CLASSES.items()}
        for package in self._packages:
            vars(package).update(ours)
        for home in {home for home, _ in CLASSES.values()}:
            # They use each other's names, too: transformers' Trainer makes TrainingArguments where none are given.
            names = vars(import_module(home))
            names.update({name: replacement for name, replacement in ours.items() if name in names})
        if self._announce:
            say("transformers' Trainer and TrainingArguments are Pippin's in this process.")


def _teach(module: ModuleType) -> None:
    from pippin.drop_in.parsing import teach

    teach(module.HfArgumentParser)
