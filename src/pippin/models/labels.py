"""What a head's outputs stand for."""

from __future__ import annotations

from dataclasses import dataclass

#: The class of transformers whose models give one answer for each text.
SEQUENCE_CLASSIFICATION = "AutoModelForSequenceClassification"


@dataclass(frozen=True)
class Labels:
    """The classes in the order of the model's outputs; none for regression."""

    names: tuple[str, ...]
    regression: bool = False

    @property
    def outputs(self) -> int:
        """How many numbers the model's head gives."""
        return 1 if self.regression else len(self.names)
