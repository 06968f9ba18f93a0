"""Hugging Face's TrainingArguments, with the names that newer releases of transformers dropped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from transformers import HfArgumentParser
from transformers.training_args import TrainingArguments as TheirArguments
from transformers.training_args_seq2seq import Seq2SeqTrainingArguments as TheirSeq2SeqArguments
from transformers.utils import is_accelerate_available

from pippin.drop_in.errors import MissingPackage, RefusedSettings
from pippin.drop_in.former_names import TakesFormerNames, own_names
from pippin.drop_in.notices import say
from pippin.drop_in.parsing import teach
from pippin.drop_in.refusals import refused_by_device
from pippin.drop_in.translation import refused_names, translated

teach(HfArgumentParser)


class _Arguments(TakesFormerNames):
    """Turns former names into today's, and refuses what the device at hand cannot do."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "__repr__" not in cls.__dict__:  # else @dataclass writes one that shows tokens
            cls.__repr__ = TheirArguments.__repr__  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        if not is_accelerate_available():
            raise MissingPackage(
                "Hugging Face's Trainer needs accelerate, which is not installed here, or too old. "
                "Type: pip install 'pippin[trainer]'"
            )
        if type(self).__module__ == "__main__":  # a library knows what it declares
            for name in own_names(type(self)):
                say(f"{name} is a setting of {type(self).__name__}'s own: it does what the script does with it alone.")
        mistakes = [*refused_names(self), *translated(self), *refused_by_device(self)]
        if mistakes:
            raise RefusedSettings(mistakes)
        super().__post_init__()  # type: ignore[misc]


@dataclass
class TrainingArguments(_Arguments, TheirArguments):
    """transformers' TrainingArguments for Pippin's Trainer; docs/trainer_arguments.md has every field.

    A checkpoint's training_args.bin can be read where Pippin is installed.
    """


@dataclass
class Seq2SeqTrainingArguments(TrainingArguments, TheirSeq2SeqArguments):
    """The same for Seq2SeqTrainer."""
