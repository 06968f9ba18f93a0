"""Faults of torch on the Apple GPU that give wrong results without an error, and what Pippin does about each.

Plain data and pure functions, without torch. Sources are numbers of PyTorch's tracker, where others reported and mended
these faults; nothing was measured by us on a Mac. The release that brings a fix is inferred from its date: those of
May 2026 are in 2.13, those of July in 2.14. Faults mended before torch 2.5, the oldest that Pippin takes, are left out.

>>> mac, work = MacFacts("2.12.0", "15.1", "Apple M1 Pro"), Work(trains=True, rows=512, length=128)
>>> [hazard.name for hazard in hazards_of(mac, work)]
['linear gradients']
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from pippin.machine.check import release
from pippin.machine.work import Work

#: A product over more than this many tokens reads past its end on the first two generations of chips.
_LONGEST_PRODUCT = 32767
_MOST_ELEMENTS = 2**32
_MOST_CONVOLVED = 65535


@dataclass(frozen=True)
class MacFacts:
    """What decides which faults a Mac has."""

    torch: str
    """The release, such as 2.13.0."""
    macos: str
    chip: str
    """Such as Apple M1 Pro; empty when unknown."""

    @property
    def generation(self) -> int | None:
        """The chip's number: 1 for every M1; None for a name without one, as virtual machines have."""
        found = re.search(r"\bM(\d+)\b", self.chip)
        return int(found[1]) if found else None


class Remedy(str, Enum):
    """What Pippin does about a hazard. None of it changes what is computed."""

    FEWER_ROWS = "training puts fewer rows through the model at once, and sums their gradients"
    PLAIN_ATTENTION = "the model's attention is computed in plain steps (eager), not by torch's fused operator"
    SAME_RANDOMNESS = "parts that run again start from the random state that they started from first"
    INPUT_GRADIENT = "the gradient of the layer's input is asked for as well"
    REFUSAL = "the job is refused, with what to do instead"
    KEPT_OFF = "it cannot happen: what leads to it is never done"


def _never(work: Work) -> bool:
    return False


@dataclass(frozen=True)
class Hazard:
    name: str
    wrong: str
    """What goes wrong, unseen."""
    source: str
    remedy: Remedy
    fixed_in: tuple[int, int] | None = None
    """The first torch release without it; None: no fix is known."""
    fixed_in_macos: tuple[int, int] | None = None
    generations: tuple[int, ...] = ()
    """Of chips that have it; empty: all."""
    met_by: Callable[[Work], bool] = _never
    """Whether a job would meet it, where the plan can tell."""
    most_rows: Callable[[Work], int] | None = None
    """For fewer rows: how many are safe at once; 0: not even one."""

    def is_on(self, mac: MacFacts) -> bool:
        """Whether a Mac has this fault. A chip of unknown generation is taken for one that has."""
        return (
            (self.fixed_in is None or release(mac.torch) < self.fixed_in)
            and (self.fixed_in_macos is None or release(mac.macos) < self.fixed_in_macos)
            and (not self.generations or mac.generation is None or mac.generation in self.generations)
        )

    def is_met(self, work: Work) -> bool:
        if self.most_rows is not None:
            return work.trains and work.rows > self.most_rows(work)
        return self.met_by(work)


NORM_GRADIENTS = Hazard(
    "norm gradients",
    "gradients of a LayerNorm are garbage where its input needs none, as above frozen layers",
    "#183825",
    Remedy.INPUT_GRADIENT,
    fixed_in=(2, 13),
)
LSTM_DROPOUT = Hazard(
    "LSTM dropout",
    "gradients leave out the dropout between the layers of an LSTM",
    "#190056",
    Remedy.REFUSAL,
    fixed_in=(2, 14),
)

HAZARDS: tuple[Hazard, ...] = (
    Hazard(
        "linear gradients",
        "gradients of linear layers are wrong over more than 32767 tokens at once on M1 and M2",
        "#177116",
        Remedy.FEWER_ROWS,
        fixed_in=(2, 13),
        generations=(1, 2),
        most_rows=lambda work: _LONGEST_PRODUCT // work.length,
    ),
    Hazard(
        "long rows",
        "gradients of attention are wrong over rows of more than 32767 tokens on M1 and M2",
        "#195012",
        Remedy.FEWER_ROWS,
        generations=(1, 2),
        most_rows=lambda work: 0 if work.length > _LONGEST_PRODUCT else work.rows,
    ),
    Hazard(
        "large products",
        "gradients of attention are wrong where it has more than 2^32 weights at once",
        "#197636",
        Remedy.FEWER_ROWS,
        most_rows=lambda work: _MOST_ELEMENTS // (work.heads * work.length**2),
    ),
    Hazard(
        "large convolutions",
        "gradients of convolutions are wrong over 65536 rows or more at once",
        "#96225",
        Remedy.FEWER_ROWS,
        most_rows=lambda work: _MOST_CONVOLVED,
    ),
    Hazard(
        "causal attention",
        "without gradients, attention in fp16 and bf16 sees tokens that come later",
        "#195910",
        Remedy.PLAIN_ATTENTION,
        fixed_in=(2, 15),
        met_by=lambda work: work.looks_back and work.precision != "fp32",
    ),
    # Padding before the text leaves its tokens nothing to look back at. A row of padding alone there is none of:
    # each row has a token (see data/encoding.py).
    Hazard(
        "padding in front",
        "without gradients, attention makes NaN of padding that has nothing to look back at",
        "#167515",
        Remedy.PLAIN_ATTENTION,
        met_by=lambda work: work.looks_back,
    ),
    Hazard(
        "uneven heads",
        "without gradients, attention is wrong where values have another width than queries",
        "#176767",
        Remedy.PLAIN_ATTENTION,
        fixed_in=(2, 12),
        met_by=lambda work: work.uneven_heads,
    ),
    Hazard(
        "recomputed dropout",
        "gradient checkpointing draws new dropout the second time, so gradients fit another loss",
        "#127676",
        Remedy.SAME_RANDOMNESS,
        met_by=lambda work: work.trains and work.recomputes,
    ),
    NORM_GRADIENTS,
    LSTM_DROPOUT,
    Hazard(
        "scattered weights",
        "convolutions misread weights that are not contiguous; the backend's place() makes all contiguous",
        "#192212",
        Remedy.KEPT_OFF,
    ),
    Hazard(
        "scattered noise",
        "random numbers drawn into a tensor that is not contiguous are not written",
        "#165267",
        Remedy.KEPT_OFF,
        fixed_in=(2, 10),
        fixed_in_macos=(15, 0),
    ),
    Hazard(
        "early copies",
        "non_blocking copies may read memory that is already freed, or arrive late",
        "#189690",
        Remedy.KEPT_OFF,
    ),
    Hazard(
        "few queries",
        "attention of at most 8 queries over 1024 keys or more reads past its end; only generating text does that",
        "#174861",
        Remedy.KEPT_OFF,
        fixed_in=(2, 11),
    ),
)


def hazards_of(mac: MacFacts, work: Work) -> list[Hazard]:
    """The faults that this Mac has and this job would meet."""
    return [hazard for hazard in HAZARDS if hazard.is_on(mac) and hazard.is_met(work)]


def most_rows(mac: MacFacts, work: Work) -> tuple[int, Hazard] | None:
    """The most rows that training may put through the model at once, and the fault that says so; None for any."""
    limits = [(hazard.most_rows(work), hazard) for hazard in hazards_of(mac, work) if hazard.most_rows]
    return min(limits, key=lambda limit: limit[0], default=None)
