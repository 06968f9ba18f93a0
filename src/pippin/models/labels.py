"""What a head's outputs stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pippin.errors import PippinError, shown

#: The class of transformers whose models give one answer for each text.
SEQUENCE_CLASSIFICATION = "AutoModelForSequenceClassification"
#: Where a model's configuration keeps from which probability on each label is given.
THRESHOLDS = "label_thresholds"
#: The threshold where none was chosen, as transformers' users have it.
EVEN = 0.5
_SEVERAL = "multi_label_classification"


@dataclass(frozen=True)
class Labels:
    """The classes in the order of the model's outputs; none for regression."""

    names: tuple[str, ...]
    regression: bool = False
    several: bool = False
    """Whether a row may have several of them, or none."""
    thresholds: tuple[float, ...] = ()
    """From which probability on each of several labels is given; nothing before they are chosen."""

    @property
    def outputs(self) -> int:
        """How many numbers the model's head gives."""
        return 1 if self.regression else len(self.names)

    @property
    def problem_type(self) -> str:
        """Transformers' word for what is learnt."""
        return "regression" if self.regression else _SEVERAL if self.several else "single_label_classification"


def labels_of(config: Any) -> Labels:
    """What the outputs of a trained model stand for, by its configuration."""
    several = getattr(config, "problem_type", None) == _SEVERAL
    if config.num_labels == 1 and not several:
        return Labels((), regression=True)
    names = tuple(str(config.id2label[number]) for number in range(config.num_labels))
    return Labels(names, several=several, thresholds=_thresholds(config, names) if several else ())


def keep_thresholds(config: Any, labels: Labels) -> None:
    """Write the labels' thresholds into a configuration, or take away those of other labels."""
    if labels.thresholds:
        setattr(config, THRESHOLDS, dict(zip(labels.names, labels.thresholds, strict=True)))
    elif getattr(config, THRESHOLDS, None) is not None:
        setattr(config, THRESHOLDS, None)


def _thresholds(config: Any, names: tuple[str, ...]) -> tuple[float, ...]:
    found = getattr(config, THRESHOLDS, None)
    if found is None:
        return (EVEN,) * len(names)
    if not isinstance(found, Mapping) or set(found) != set(names):
        raise PippinError(f"config.json: {THRESHOLDS} does not name the model's labels. Write the model again.")
    for name in names:
        if type(found[name]) not in (int, float) or not 0 <= found[name] <= 1:
            raise PippinError(f"config.json: {shown(found[name])} is no threshold for {shown(name)}: give 0 to 1.")
    return tuple(float(found[name]) for name in names)
