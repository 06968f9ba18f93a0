"""One job on every Mac as a web page of its own: no script, no request, light and dark."""

from __future__ import annotations

from pathlib import Path

from pippin.commands.preflight.compare import Cell, Comparison
from pippin.commands.preflight.views.words import cell_words, legend
from pippin.files import write_text
from pippin.report.page.markup import Html, html, joined
from pippin.text import memory

_STYLE = """
:root { color-scheme: light dark; --soft: light-dark(#666, #aaa); --line: light-dark(#ddd, #444); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: 0.35rem 0.6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
small, p, .no { color: var(--soft); }
.wide { overflow-x: auto; }
"""
_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>{style}</style></head>
<body>
<h1>{title}</h1>
<p>Training in {precision}.</p>
<div class="wide"><table>
<tr><th>chip</th>{heads}</tr>
{rows}</table></div>
<p>{legend}</p>
</body>
</html>
"""


def write_page(comparison: Comparison, path: Path) -> None:
    """Write the table into a file."""
    heads = joined(
        html("<th>batch {}<br><small>{}</small></th>", batch, memory(needed))
        for batch, needed in comparison.needed.items()
    )
    line = "<tr><td>{} <small>{} GPU cores</small></td>{}</tr>\n"
    rows = joined(html(line, row.chip, row.gpu_cores, joined(map(_cell, row.cells))) for row in comparison.rows)
    page = html(
        _PAGE,
        title=f"{comparison.job} on every Mac",
        style=Html(_STYLE),
        precision=comparison.precision,
        heads=heads,
        rows=rows,
        legend=legend(comparison),
    )
    write_text(path, page)


def _cell(cell: Cell) -> Html:
    mark = Html(' class="no"' if cell.memory is None else "")
    return html("<td{}>{}</td>", mark, cell_words(cell, "too large"))
