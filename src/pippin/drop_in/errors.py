"""What the drop-in refuses, as Pippin says it and as scripts catch it: transformers raises ValueError there."""

from __future__ import annotations

from pippin.errors import Mistakes, PippinError


class Refusal(PippinError, ValueError):
    """One mistake."""


class RefusedSettings(Mistakes, ValueError):
    """All mistakes in a script's settings."""


class MissingPackage(PippinError, ImportError):
    """A package that is not installed."""


class NotOnThisComputer(PippinError, FileNotFoundError):
    """What would have to be fetched from the Hub."""
