"""Faults of torch on the Apple GPU: what goes wrong, on which Macs, and what Pippin does about each.

Plain data and pure functions, without torch. Sources are numbers of PyTorch's tracker, where others reported and mended
these faults; nothing was measured by us on a Mac. Which release brings a fix was looked up in the code of the macOS
wheels where it shows there, else inferred from its date: the branch of 2.13 was cut in the week of 8 June 2026, that
of 2.14 in the week of 10 August. In doubt a fault counts as there for one release more. Faults mended before torch 2.5,
the oldest that Pippin takes, are left out.

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

#: Products over more tokens than this read past their end on the first two generations of chips.
_LONGEST_PRODUCT = 32766
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
    FLAT_LINEARS = "linear layers take all tokens as one matrix, and a bias that would be lost is added afterwards"
    INPUT_GRADIENT = "the gradient of the layer's input is asked for as well"
    REFUSAL = "the job is refused, with what to do instead"
    KEPT_OFF = "it cannot happen: what leads to it is never done"
    ADVICE = "nothing: it is slow, large or loud, but not wrong, and the doctor says what helps"


@dataclass(frozen=True)
class Hazard:
    name: str
    wrong: str
    """What goes wrong: unseen, but for nuisances."""
    source: str
    remedy: Remedy
    evidence: str
    """How the releases that have it are known."""
    since: tuple[int, int] = (0, 0)
    """The first torch release with it."""
    fixed_in: tuple[int, int] | None = None
    """The first torch release without it; None: no fix is known."""
    since_macos: tuple[int, int] = (0, 0)
    fixed_in_macos: tuple[int, int] | None = None
    generations: tuple[int, ...] = ()
    """Of chips that have it; empty: all."""
    met_by: Callable[[Work], bool] = lambda work: False
    """Whether a job would meet it, where the plan can tell."""
    most_rows: Callable[[Work], int] | None = None
    """For fewer rows: how many are safe at once; 0: not even one."""
    way_round: str = ""
    """What helps where nothing can be updated."""

    def is_on(self, mac: MacFacts) -> bool:
        """Whether a Mac has this fault. A chip of unknown generation is taken for one that has."""
        return (
            self.since <= release(mac.torch)
            and (self.fixed_in is None or release(mac.torch) < self.fixed_in)
            and self.since_macos <= release(mac.macos)
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
    "#183893 of 15 May 2026: 2.13.0's wheel looks at the size of the input where 2.12.0's looks at its gradient's",
    fixed_in=(2, 13),
)
LSTM_DROPOUT = Hazard(
    "LSTM dropout",
    "gradients leave out the dropout between the layers of an LSTM",
    "#190056",
    Remedy.REFUSAL,
    "#190059 of July 2026: an LSTM's gradient is the same code in the wheels of 2.12.0 and 2.13.0, not in 2.14.0's",
    fixed_in=(2, 14),
)
LOST_BIAS = Hazard(
    "lost bias",
    "linear layers leave out their bias over a single token, or the first one of each row, on M1",
    "#188438",
    Remedy.FLAT_LINEARS,
    "#188619 of 1 July 2026: 2.14.0's wheel adds the bias apart, 2.13.0's does not; macOS 27 is said to be free of it",
    fixed_in=(2, 14),
    since_macos=(26, 0),
    fixed_in_macos=(27, 0),
    generations=(1,),
    met_by=lambda work: True,
)

HAZARDS: tuple[Hazard, ...] = (
    Hazard(
        "linear gradients",
        "gradients of linear layers are wrong over 32767 tokens or more at once on M1 and M2",
        "#177116",
        Remedy.FEWER_ROWS,
        "#183535 came after 2.13, which was seen to be wrong (#193487): its wheel has the old code, 2.14.0's has not",
        fixed_in=(2, 14),
        generations=(1, 2),
        most_rows=lambda work: _LONGEST_PRODUCT // work.length,
    ),
    # Rows that are padded to fewer tokens than the longest may have just so many: all stay below.
    Hazard(
        "linear gradients at the border",
        "gradients of linear layers are wrong over 32767 or 32768 tokens at once on M1 and M2",
        "#195163",
        Remedy.FEWER_ROWS,
        "#183535 mends what is longer than 32768, by the wheels of 2.14.0 and 2.15.0; #195163 is open",
        since=(2, 14),
        generations=(1, 2),
        most_rows=lambda work: _LONGEST_PRODUCT // work.length,
    ),
    Hazard(
        "long rows",
        "gradients of attention are wrong over rows of 32767 tokens or more on M1 and M2",
        "#195163",
        Remedy.FEWER_ROWS,
        "#195012, which would mend it, is open",
        generations=(1, 2),
        most_rows=lambda work: 0 if work.length > _LONGEST_PRODUCT else work.rows,
    ),
    Hazard(
        "large products",
        "gradients of attention are wrong where it has more than 2^32 weights at once",
        "#197636",
        Remedy.FEWER_ROWS,
        "open since September 2026",
        most_rows=lambda work: _MOST_ELEMENTS // (work.heads * work.length**2),
    ),
    Hazard(
        "large convolutions",
        "gradients of convolutions are wrong over 65536 rows or more at once",
        "#96225",
        Remedy.FEWER_ROWS,
        "open, and so is #193577, which would mend it",
        most_rows=lambda work: _MOST_CONVOLVED,
    ),
    Hazard(
        "causal attention",
        "without gradients, attention in fp16 and bf16 sees tokens that come later",
        "#195910",
        Remedy.PLAIN_ATTENTION,
        "closed in September 2026, but 2.15.0's wheel asks Metal for the same as 2.14.0's: the fix was not found in it",
        met_by=lambda work: work.causal and work.precision != "fp32",
    ),
    # A row of padding alone there is none of: each row has a token (see data/encoding.py).
    Hazard(
        "tokens that see nothing",
        "without gradients, attention makes NaN of padding before the text, or farther off than a window reaches",
        "#156707, #167515",
        Remedy.PLAIN_ATTENTION,
        "#157727 is in 2.9.0's wheel and not in 2.8.0's, but mends one way of several; #167515 is open",
        met_by=lambda work: work.causal or work.has_window,
    ),
    Hazard(
        "uneven heads",
        "without gradients, attention is wrong where values have another width than queries",
        "#176767",
        Remedy.PLAIN_ATTENTION,
        "#176843 of 9 March 2026; 2.12.0's wheel has its checks",
        fixed_in=(2, 12),
        met_by=lambda work: work.uneven_heads,
    ),
    Hazard(
        "few queries",
        "without gradients, attention of at most 8 tokens, as of short texts and first tokens, reads the wrong numbers",
        "#163597, #174861",
        Remedy.PLAIN_ATTENTION,
        "the kernels came with 2.8; #163598 mends half of it, and the rest a maintainer saw mended in 2.11.0",
        since=(2, 8),
        fixed_in=(2, 11),
        met_by=lambda work: True,
    ),
    Hazard(
        "recomputed dropout",
        "gradient checkpointing draws new dropout the second time, so gradients fit another loss",
        "#127676",
        Remedy.SAME_RANDOMNESS,
        "#194478, which would mend it, is open",
        met_by=lambda work: work.trains and work.recomputes,
    ),
    LOST_BIAS,
    Hazard(
        "unsteady products",
        "linear layers in fp16 and bf16 give something else each time on M5",
        "#180776",
        Remedy.FLAT_LINEARS,
        "#181504 of 26 April 2026 is in 2.13.0's wheel and not in 2.12.0's",
        fixed_in=(2, 13),
        generations=(5, 6, 7),
        met_by=lambda work: work.precision != "fp32",
    ),
    Hazard(
        "linear layers of many rows",
        "linear layers with a bias are wrong over more than 65536 rows at once",
        "#189495",
        Remedy.FLAT_LINEARS,
        "reported of 2.13.0, whose wheel makes one matrix of them on M5 alone; 2.14.0's always does (#189496)",
        fixed_in=(2, 14),
    ),
    NORM_GRADIENTS,
    LSTM_DROPOUT,
    Hazard(
        "scattered weights",
        "convolutions misread weights that are not contiguous; the backend's lay_out() makes all contiguous",
        "#192212",
        Remedy.KEPT_OFF,
        "#192303 of 6 August 2026, days before 2.14 was cut; not looked for in its wheel",
        fixed_in=(2, 15),
    ),
    Hazard(
        "scattered noise",
        "random numbers drawn into a tensor that is not contiguous are not written",
        "#165267",
        Remedy.KEPT_OFF,
        "still in review on 28 October 2025, after 2.9.0",
        fixed_in=(2, 10),
        fixed_in_macos=(15, 0),
    ),
    Hazard(
        "early copies",
        "non_blocking copies may read memory that is already freed, or arrive late",
        "#189690",
        Remedy.KEPT_OFF,
        "open in July 2026",
    ),
)

#: Faults that do not make results wrong. Those of releases that Pippin does not take are left out.
NUISANCES: tuple[Hazard, ...] = (
    Hazard(
        "new shapes",
        "every new batch shape takes memory that is never given back",
        "#181485",
        Remedy.ADVICE,
        "April 2026: in 2.13.0's wheel emptying the cache drops graphs, in 2.12.0's not",
        fixed_in=(2, 13),
        way_round="leave padding to Pippin, which keeps to few shapes",
    ),
    Hazard(
        "isneginf",
        "attention over padded rows may run partly on the CPU, which is slow",
        "the wheels' lists of operators",
        Remedy.ADVICE,
        "masked attention calls it, and 2.6 brought its kernel",
        fixed_in=(2, 6),
    ),
    Hazard(
        "sums of integers",
        "sums over 64-bit integers are missing, and some models count positions with them",
        "#77764",
        Remedy.ADVICE,
        "the macOS is named in torch's own message",
        fixed_in_macos=(13, 3),
        way_round="train those models with --use_cpu",
    ),
    Hazard(
        "scattered tensors",
        "tensors that are not contiguous are copied first, which is slower than in macOS 15 and went wrong at times",
        "#128393",
        Remedy.ADVICE,
        "torch itself asks for macOS 15 before it reads them in place",
        fixed_in_macos=(15, 0),
    ),
)

#: Whether any of these is on decides how linear layers are called.
FLAT_LINEARS = tuple(hazard for hazard in HAZARDS if hazard.remedy is Remedy.FLAT_LINEARS)


def hazards_of(mac: MacFacts | None, work: Work) -> list[Hazard]:
    """The faults that this Mac has and this job would meet; none on other devices."""
    return [hazard for hazard in HAZARDS if mac and hazard.is_on(mac) and hazard.is_met(work)]


def most_rows(mac: MacFacts | None, work: Work) -> tuple[int, str] | None:
    """The most rows that training may put through the model at once, and the fault that says so; None for any."""
    limits = [(hazard.most_rows(work), hazard) for hazard in hazards_of(mac, work) if hazard.most_rows]
    if not limits:
        return None
    most, hazard = min(limits, key=lambda limit: limit[0])
    return most, f"{hazard.wrong} (PyTorch {hazard.source})"


def safe_attention(mac: MacFacts | None, work: Work) -> str | None:
    """The attention, by transformers' name, that is right for this work; None: the model's own choice is."""
    remedies = {hazard.remedy for hazard in hazards_of(mac, work)}
    return "eager" if Remedy.PLAIN_ATTENTION in remedies else None


def precision_problems(mac: MacFacts) -> dict[str, str]:
    problems = {}
    if release(mac.macos) < (14, 0):
        problems["bf16"] = "bfloat16 on the Apple GPU needs macOS 14 or newer"
    elif release(mac.torch) < (2, 6):
        problems["bf16"] = "bfloat16 autocast on the Apple GPU needs torch 2.6 or newer"
    if release(mac.torch) < (2, 8):
        problems["fp16"] = "float16 with a loss scaler on the Apple GPU needs torch 2.8 or newer"
    return problems
