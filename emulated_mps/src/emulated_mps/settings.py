"""Which Mac the device pretends to be part of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from importlib.metadata import version


@dataclass(frozen=True)
class Settings:
    release: str = ""
    """torch's release; empty: the installed one. Decides operators, functions, wording and known bugs."""
    macos: str = "15.0"
    chip: str = "Apple M3"
    cores: int = 10
    """Of the GPU."""
    memory: float = 16
    """Unified memory in GiB, of which the GPU may use two thirds (three quarters above 36)."""
    known_bugs: bool = True
    """Whether results are wrong where this release and chip gave wrong ones."""

    @property
    def torch(self) -> str:
        """The release, without what was built into it."""
        return (self.release or version("torch")).partition("+")[0]

    @property
    def recommended(self) -> int:
        """What Metal calls the recommended working set, in bytes."""
        share = 3 / 4 if self.memory > 36 else 2 / 3
        return int(self.memory * 2**30 * share)

    @property
    def bugs(self) -> int:
        """Wrong results to give, as bits in the order of KnownBug in native/state.h.

        Which release has which stands in Pippin's table of faults, with the evidence (machine/faults.py).
        """
        release, macos, words = number(self.torch), number(self.macos), self.chip.split()
        early_chip = "M1" in words or "M2" in words
        found = (
            release < 213,
            release < 214 and early_chip,
            release >= 214 and early_chip,
            True,
            release < 214 and "M1" in words and 2600 <= macos < 2700,
            release < 209,
            release >= 213,
            208 <= release < 211,
            release < 211,
        )
        return sum(on << place for place, on in enumerate(found)) if self.known_bugs else 0

    @classmethod
    def parse(cls, text: str) -> Settings:
        """Settings from `release=2.8.0, memory=8`; `1` and an empty text mean the defaults.

        >>> Settings.parse("memory=8, chip=Apple M1").chip
        'Apple M1'
        """
        kinds = {field.name: field.type for field in fields(cls)}
        changes: dict[str, object] = {}
        for part in text.split(",") if text.strip() not in ("", "1") else []:
            name, equals, value = (word.strip() for word in part.partition("="))
            if not equals or name not in kinds:
                raise ValueError(f"EMULATED_MPS: {part.strip()!r} is none of {', '.join(f'{n}=…' for n in kinds)}")
            try:
                changes[name] = _READERS[str(kinds[name])](value)
            except ValueError:
                raise ValueError(f"EMULATED_MPS: {name}={value} is no {kinds[name]}") from None
        return replace(cls(), **changes)  # type: ignore[arg-type]

    def __str__(self) -> str:
        """What `parse` reads."""
        return ", ".join(f"{field.name}={getattr(self, field.name)}" for field in fields(self))


def number(version_text: str) -> int:
    """A version as one number, for comparing.

    >>> number("2.13.0"), number("14.4")
    (213, 1404)
    """
    major, _, rest = version_text.partition(".")
    return 100 * int(major) + int(rest.partition(".")[0] or 0)


def _is_on(text: str) -> bool:
    on, off = ("1", "true", "on", "yes"), ("0", "false", "off", "no")
    if text.lower() not in on + off:
        raise ValueError(text)
    return text.lower() in on


_READERS: dict[str, Callable[[str], object]] = {"str": str, "int": int, "float": float, "bool": _is_on}
