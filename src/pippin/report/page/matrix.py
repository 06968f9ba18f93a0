"""Matrices of classes: how often each was predicted for each."""

from __future__ import annotations

from pippin.report.page.markup import Html, html, joined
from pippin.tasks.parts import Matrix

#: Larger ones are folded, those beyond not shown.
_MOST_UNFOLDED, _MOST = 24, 100
#: Names up to this many characters stand beside each other.
_SHORT_NAME = 6
_TABLE = '<table class="matrix sticky{}"><thead><tr><td></td>{}</tr></thead><tbody>{}</tbody></table>'
_FOLDED = "<details><summary>Matrix of all {} classes</summary>{}{}</details>"


def is_small(part: Matrix) -> bool:
    """Whether it is shown at once; else its largest numbers are worth a table."""
    return len(part.names) <= _MOST_UNFOLDED


def matrix(part: Matrix) -> Html:
    """Its rows in colour, by the share of the row."""
    if len(part.names) > _MOST:
        return html("")
    is_upright = any(len(name) > _SHORT_NAME for name in part.names)
    heads = joined(html('<th scope="col" dir="auto" title="{0}"><span>{0}</span></th>', name) for name in part.names)
    lines = joined(_line(part, down) for down in range(min(len(part.names), len(part.counts))))
    shown = html('<div class="wide">{}</div>', html(_TABLE, " upright" * is_upright, heads, lines))
    caption = html('<p class="soft">{}</p>', part.caption) if part.caption else html("")
    if is_small(part):
        return html("<div>{}{}</div>", caption, shown)
    return html(_FOLDED, len(part.names), caption, shown)


def _line(part: Matrix, down: int) -> Html:
    name, counts = part.names[down], part.counts[down]
    total = max(sum(counts), 1)
    cells = joined(_cell(count, total, is_right=across == down) for across, count in enumerate(counts))
    return html('<tr><th scope="row" dir="auto" title="{0}">{0}</th>{1}</tr>', name, cells)


def _cell(count: int, total: int, is_right: bool) -> Html:
    if not count:
        return html("<td>·</td>")
    return html('<td class="{}heat{}">{}</td>', "right " * is_right, -(-4 * count // total), count)
