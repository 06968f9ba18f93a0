"""Pippin: fine-tune Transformer models on the computer at hand.

>>> import pippin                                    # doctest: +SKIP
>>> report = pippin.train("reviews.csv")           # doctest: +SKIP
>>> pippin.load(report.folder).predict("Great!")   # doctest: +SKIP
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from pippin._version import __version__
from pippin.errors import PippinError

if TYPE_CHECKING:
    from transformers import EarlyStoppingCallback, TrainerCallback

    from pippin.api import load, train
    from pippin.commands.generator import Generator
    from pippin.commands.predictor import Predictor
    from pippin.drop_in.arguments import Seq2SeqTrainingArguments, TrainingArguments
    from pippin.drop_in.trainer import Seq2SeqTrainer, Trainer
    from pippin.report.report import Report
    from pippin.tasks.base import Prediction

__all__ = [
    "EarlyStoppingCallback",
    "Generator",
    "PippinError",
    "Prediction",
    "Predictor",
    "Report",
    "Seq2SeqTrainer",
    "Seq2SeqTrainingArguments",
    "Trainer",
    "TrainerCallback",
    "TrainingArguments",
    "__version__",
    "load",
    "train",
]

#: Imported when first used: `import pippin` and `pippin --help` must not load torch.
_FROM = {
    "train": "pippin.api",
    "load": "pippin.api",
    "Predictor": "pippin.commands.predictor",
    "Generator": "pippin.commands.generator",
    "Prediction": "pippin.tasks.base",
    "Report": "pippin.report.report",
    "Trainer": "pippin.drop_in.trainer",
    "Seq2SeqTrainer": "pippin.drop_in.trainer",
    "TrainingArguments": "pippin.drop_in.arguments",
    "Seq2SeqTrainingArguments": "pippin.drop_in.arguments",
    "TrainerCallback": "transformers",
    "EarlyStoppingCallback": "transformers",
}


def __getattr__(name: str) -> Any:
    if name in _FROM:
        from importlib import import_module

        if _FROM[name].startswith("pippin.drop_in"):
            import warnings

            from pippin.machine.drivers import prepare_environment

            if too_late := prepare_environment():
                warnings.warn(too_late, stacklevel=2)
        return getattr(import_module(_FROM[name]), name)
    raise AttributeError(f"module 'pippin' has no attribute {name!r}", name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    return sorted(__all__)
