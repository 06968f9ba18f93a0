"""What torch's Apple GPU backend can run: operator by operator, release by release.

The table beside this file was read out of torch's own list of operators, `native_functions.yaml`, in the macOS wheel
of each release (`tools/make_operators.py`). No Mac was needed, and no torch is imported here.

>>> table("1.13.1").coverage("aten::cumsum"), table("2.0.0").coverage("cumsum")
(<Coverage.FALLBACK: 'fallback'>, <Coverage.NATIVE: 'native'>)
>>> first_native("cumsum")
'2.0.0'
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from pippin.errors import PippinError, nearest

DATA = Path(__file__).with_suffix(".txt")
FORMAT = 1


class Coverage(str, Enum):
    """What happens when an operator meets tensors on the Apple GPU."""

    NATIVE = "native"  # runs there
    COMPOSITE = "composite"  # made of other operators, which run there or not: judge those too
    ALWAYS_CPU = "always_cpu"  # copied to the CPU and back, whatever the environment says
    FALLBACK = "fallback"
    """Copied to the CPU and back with PYTORCH_ENABLE_MPS_FALLBACK=1; NotImplementedError without it."""
    NEVER = "never"  # raises with and without the variable


class Fact(str, Enum):
    """What a release registers for an operator. The letters are those of the data file."""

    MPS = "m"  # a kernel of its own, or of the operator that it delegates to
    CPU = "c"  # the same for the CPU
    IMPLICIT = "i"  # composite, differentiated through its parts
    EXPLICIT = "e"  # composite, with a derivative of its own
    EXPLICIT_NON_FUNCTIONAL = "n"  # as explicit, for operators that return views or write in place
    STRUCTURED = "s"  # others delegate to it
    ALWAYS_CPU = "A"  # not in the yaml: registered with the CPU fallback
    HAND_NATIVE = "H"  # not in the yaml: registered with a kernel
    REFUSES = "R"  # not in the yaml: registered with a function that only raises


COMPOSITE = frozenset({Fact.IMPLICIT, Fact.EXPLICIT, Fact.EXPLICIT_NON_FUNCTIONAL})
BY_HAND = frozenset({Fact.ALWAYS_CPU, Fact.HAND_NATIVE, Fact.REFUSES})


class UnknownOperator(LookupError):
    """The release has no operator of this name."""


@dataclass(frozen=True)
class Operator:
    facts: frozenset[Fact]
    delegate: str = ""
    """The `.out` overload that does the work, where torch generates this one from it."""

    def __str__(self) -> str:
        """As the data file writes it: `mc>add.out`."""
        letters = "".join(fact.value for fact in Fact if fact in self.facts)
        return letters + (f">{self.delegate}" if self.delegate else "") or "."

    @staticmethod
    @cache
    def parse(text: str) -> Operator:
        letters, _, delegate = text.partition(">")
        return Operator(frozenset(Fact(letter) for letter in letters.strip(".")), delegate)


@dataclass(frozen=True)
class OperatorTable:
    """All operators of one release. Names are written with or without `aten::`."""

    release: str
    operators: Mapping[str, Operator]

    def coverage(self, operator: str) -> Coverage:
        facts = self.operators[self._worker(operator)].facts
        if Fact.ALWAYS_CPU in facts:
            return Coverage.ALWAYS_CPU
        if Fact.MPS in facts or Fact.HAND_NATIVE in facts:
            return Coverage.NATIVE
        if Fact.REFUSES in facts:
            return Coverage.NEVER
        if facts & COMPOSITE:
            return Coverage.COMPOSITE
        return Coverage.FALLBACK if Fact.CPU in facts else Coverage.NEVER

    def _worker(self, operator: str) -> str:
        """The overload whose kernel is asked for in the end."""
        name = self._find(operator)
        own = self.operators[name]
        # A composite kernel of its own does not matter beside a delegate: in 1.12 torch passed over it (mish), and
        # later delegates have one too where there is one (all.dims).
        return name if not own.delegate or own.facts & BY_HAND else own.delegate

    def _find(self, operator: str) -> str:
        name = operator.removeprefix("aten::")
        if name in self.operators:
            return name
        if "::" in name:
            raise UnknownOperator(f"{name} is not one of torch's own operators (aten::).")
        base = name.partition(".")[0]
        overloads = [known for known in self.operators if known.partition(".")[0] == base]
        elsewhere = [release for release in releases() if name in _table(release).operators]
        if elsewhere:
            hint = f" It is in the releases {', '.join(elsewhere)}."
        elif overloads:
            hint = f" Its overloads are {', '.join(overloads)}."
        else:
            hint = nearest(name, list(self.operators), prefix="aten::")
        raise UnknownOperator(f"torch {self.release} has no operator aten::{name}.{hint}")


def first_native(operator: str, since: str | None = None) -> str | None:
    """The first release with a kernel for the Apple GPU, of all or of `since` and newer; None where none has it."""
    name = operator.removeprefix("aten::")
    having = [release for release in releases() if name in _table(release).operators]
    if not having:
        _table(releases()[-1]).coverage(name)  # raises, with a hint
    wanted = [release for release in having if since is None or _numbers(release) >= _numbers(since)]
    return next((release for release in wanted if _table(release).coverage(name) is Coverage.NATIVE), None)


def releases() -> tuple[str, ...]:
    return _data()[0]


@cache
def nearest_release(release: str) -> tuple[str, str]:
    """The newest release in the table that is not newer than this one; and what to say where that is a guess.

    >>> nearest_release("2.4.1+cpu")
    ('2.4.0', '')
    """
    known = releases()
    older = [each for each in known if _numbers(each) <= _numbers(release)]
    if not older:
        raise PippinError(
            f"torch {release} cannot use the Apple GPU; that came with {known[0]}. Install a newer torch."
        )
    note = f"torch {release} is newer than Pippin's table of operators; judged as {known[-1]}"
    return older[-1], note if _numbers(release)[:2] > _numbers(known[-1])[:2] else ""


def table(release: str) -> OperatorTable:
    """The shipped table of a release, or of the one that stands for it."""
    return _table(nearest_release(release)[0])


def operators_of(release: str) -> OperatorTable:
    """The operators of a running torch: the shipped table, or torch's own files where it is newer than that."""
    return installed() if nearest_release(release)[1] else table(release)


@cache
def installed() -> OperatorTable:
    """The table of the installed torch, from its own files. Takes seconds, and works for releases yet unknown.

    What is registered by hand is in no yaml: it is taken from the shipped table.
    """
    release = version("torch").partition("+")[0]
    shipped = table(release).operators
    return OperatorTable(
        release,
        {
            name: Operator(found.facts | (shipped[name].facts & BY_HAND), found.delegate) if name in shipped else found
            for name, found in read_torchgen()
        },
    )


def read_torchgen() -> Iterator[tuple[str, Operator]]:
    """Every operator of the torchgen that Python finds, which belongs to one torch release, by name.

    torchgen has no typing of its own and does not import torch. Releases from 1.12 on can be read.
    """
    generator, model = import_module("torchgen.gen"), import_module("torchgen.model")
    folder = Path(generator.__file__ or "").parent / "packaged" / "ATen" / "native"
    parsed = generator.parse_native_yaml(str(folder / "native_functions.yaml"), str(folder / "tags.yaml"))
    functions = {str(function.func.name): function for function in parsed.native_functions}
    indices = {
        Fact.MPS: parsed.backend_indices[model.DispatchKey.MPS],
        Fact.CPU: parsed.backend_indices[model.DispatchKey.CPU],
    }
    composites = {
        Fact.IMPLICIT: "has_composite_implicit_autograd_kernel",
        Fact.EXPLICIT: "has_composite_explicit_autograd_kernel",
        Fact.EXPLICIT_NON_FUNCTIONAL: "has_composite_explicit_autograd_non_functional_kernel",  # since 1.13
    }
    for name in sorted(functions):
        function = functions[name]
        delegate = str(function.structured_delegate or "")
        workers = [function, functions[delegate]] if delegate else [function]
        facts = {fact for fact, index in indices.items() if any(index.has_kernel(worker) for worker in workers)}
        facts |= {fact for fact, attribute in composites.items() if getattr(function, attribute, False)}
        if function.structured:
            facts.add(Fact.STRUCTURED)
        yield name, Operator(frozenset(facts), delegate)


@cache
def _data() -> tuple[tuple[str, ...], dict[str, dict[str, str]]]:
    """The releases, and for each operator the releases in which something changed, with what it is from then on."""
    lines = [line for line in DATA.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    if lines[0] != f"format {FORMAT}":
        raise ValueError(f"{DATA}: {lines[0]!r}, but this code reads format {FORMAT}")
    rows = [line.split() for line in lines[2:]]
    histories = {name: dict(change.split("=") for change in changes) for name, *changes in rows}
    return tuple(lines[1].split()[1:]), histories


@cache
def _table(release: str) -> OperatorTable:
    known, histories = _data()
    until_here = known[known.index(release) :: -1]
    states = {
        name: next((changes[each] for each in until_here if each in changes), "-")
        for name, changes in histories.items()
    }
    return OperatorTable(release, {name: Operator.parse(state) for name, state in states.items() if state != "-"})


def _numbers(release: str) -> tuple[int, int, int]:
    found = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", release)
    if not found:
        raise PippinError(f"{release!r} is not a torch release such as 2.13.0.")
    major, minor, patch = found.groups(default="0")
    return int(major), int(minor), int(patch)
