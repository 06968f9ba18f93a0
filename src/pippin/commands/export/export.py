"""`pippin export`: write a trained model for another program, and say so only when it gives the same answers there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pippin.commands.export.comparison import Difference, allowed, answers_of, difference, reader_of
from pippin.commands.export.formats import Format, Opened, format_named
from pippin.commands.export.prompts import Prompt, as_read, prompts_for
from pippin.commands.export.source import TORCH_TYPES, Source, open_source
from pippin.commands.export.target import check_target, staged
from pippin.errors import OUR_TRACKER, PippinError, shown
from pippin.models.facts import Precision
from pippin.models.merging import merge_adapters, round_weights
from pippin.text import memory

_OURS = f"Please report this to {OUR_TRACKER}."
#: Of what adapters change, rounding may take so much without a word.
_MOST_LOST = 0.25


@dataclass(frozen=True)
class _Wanted:
    """What readers should find, and how far from it they may be."""

    own: list[np.ndarray]
    """The logits of the run's own model."""
    written: list[np.ndarray]
    """Those of the model that was written, with its weights merged and rounded."""
    exact: float
    """The difference from what was written that is rounding while computing."""
    rounded: float
    """The difference from the run's own that rounded weights explain."""
    changed: float
    """By how much the adapters change logits; 0 where they are not merged."""


def export(
    folder: str,
    to: str,
    output: str | None = None,
    precision: Precision | None = None,
    file: str | None = None,
    text_column: tuple[str, ...] = (),
    overwrite: bool = False,
    tell: Callable[[str], None] = print,
) -> Path:
    """Write a run in a format; returns where. Nothing is left behind where the proof fails.

    file   rows whose prompts are compared, in the columns ``text_column``; without one a few of our own are.
    """
    source = open_source(folder, precision)
    form = format_named(to, source)
    form.check(source)
    if precision and not form.merges:
        raise PippinError(
            f"--precision is for whole models, and --to {to} writes the adapters as they are. Leave it out."
        )
    path, needed = Path(output) if output else _default(source.folder, form), form.needed(source)
    check_target(path, overwrite, needed, [source.folder, *(each.parent for each in source.files)])
    prompts = prompts_for(source.tokenizer, file, text_column)
    tell(f"exporting {folder} to {path}, about {memory(needed)}")
    with staged(path, needed) as new:
        for words in _prove(source, form, prompts, new):
            tell(words)
    tell(f"saved in {path}")
    return path


def _default(folder: Path, form: Format) -> Path:
    """Beside the run: runs/chats-merged, runs/chats.gguf."""
    named = folder if folder.name not in ("", "..") else folder.resolve()
    return named.with_name(named.name + form.ending)


def _prove(source: Source, form: Format, prompts: list[Prompt], new: Path) -> Iterator[str]:
    """Write the model and ask it again as its readers have it; what came out, in words."""
    ids = [prompt.read for prompt in prompts]
    wanted = _write(source, form, ids, new)
    opened = _opened(form, source, new)
    if opened.read is None:
        yield opened.remark
        return
    _check_tokens(opened, prompts, source.tokenizer)
    found = list(answers_of(opened.read, ids))
    written, own = difference(found, wanted.written), difference(found, wanted.own)
    if written.relative > wanted.exact:
        raise PippinError(_not_the_same(opened, written, wanted.exact))
    if own.relative > wanted.rounded:
        raise PippinError(_lost_by_rounding(source, own, wanted.rounded))
    yield _agreement(opened, len(prompts), own)
    if own.usual > _MOST_LOST * wanted.changed > 0:
        yield _little_left(source, own.usual / wanted.changed)


def _write(source: Source, form: Format, ids: list[list[int]], new: Path) -> _Wanted:
    """The model is gone from memory when this ends."""
    model = source.load()
    own = written = list(answers_of(reader_of(model), ids))
    exact = rounded = allowed(model, ids, own, "fp32")
    changed = 0.0
    if form.merges:
        rounded = allowed(model, ids, own, source.written)
        if source.has_adapters:
            model.disable_adapters()
            changed = difference(answers_of(reader_of(model), ids), own).usual
            model.enable_adapters()
            merge_adapters(model)
        round_weights(model, TORCH_TYPES[source.written])
        written = list(answers_of(reader_of(model), ids))
    form.write(model, source, new)
    return _Wanted(own, written, exact, rounded, changed)


def _opened(form: Format, source: Source, new: Path) -> Opened:
    try:
        return form.read_back(source, new)
    except Exception as error:  # other people's readers raise of every kind
        words = " ".join(str(error).split())[:300]
        raise PippinError(f"what was written cannot be read back, so nothing is kept: {words}. {_OURS}") from error


def _check_tokens(opened: Opened, prompts: list[Prompt], own: Any) -> None:
    if opened.tokenizer is None:
        return
    for prompt in prompts:
        if as_read(prompt, opened.tokenizer) != as_read(prompt, own):
            raise PippinError(
                f"{opened.program} makes other tokens of {shown(prompt.text)} than the run's own tokenizer, so nothing "
                f"is kept. {_OURS}"
            )


def _agreement(opened: Opened, prompts: int, found: Difference) -> str:
    same = f"all {found.places} next tokens agree"
    if found.agreeing < found.places:
        same = f"{found.agreeing} of {found.places} next tokens agree, and rounding decides the others"
    words = f"read by {opened.program} and compared with the run's own model on {prompts} prompts: {same}"
    remark = f" ({opened.remark})" if opened.remark else ""
    return f"{words}, logits differ by {found.largest:.2g} at most{remark}"


def _not_the_same(opened: Opened, found: Difference, most: float) -> str:
    return (
        f"{opened.program} gives other answers with what was written than it should, so nothing is kept: "
        f"{_how_far(found, most)}. {_OURS}"
    )


def _lost_by_rounding(source: Source, found: Difference, most: float) -> str:
    return (
        f"rounded to {source.written} the model gives other answers, so nothing is kept: {_how_far(found, most)}. Use "
        "--precision fp32."
    )


def _little_left(source: Source, lost: float) -> str:
    return (
        f"note: the adapters change little, and rounding to {source.written} takes {min(lost, 1):.0%} of that. To keep "
        "it: --precision fp32, or --to peft."
    )


def _how_far(found: Difference, most: float) -> str:
    return (
        f"{found.agreeing} of {found.places} next tokens agree, and logits differ by {found.largest:.2g}, which is "
        f"{found.relative:.2g} of their size, where rounding explains {most:.2g}"
    )
