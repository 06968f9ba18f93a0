"""One job on every Mac as a web page of its own: no script, no request, light and dark."""

from __future__ import annotations

import html
from pathlib import Path

from pippin.files import write_text
from pippin.preflight.compare import Comparison
from pippin.report.forecast.words import cell_words, legend
from pippin.report.words import memory

_STYLE = """
:root { color-scheme: light dark; --soft: light-dark(#666, #aaa); --line: light-dark(#ddd, #444); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: 0.35rem 0.6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
small, p, .no { color: var(--soft); }
.wide { overflow-x: auto; }
"""


def write_page(comparison: Comparison, path: Path) -> None:
    """Write the table into a file."""
    heads = "".join(
        f"<th>batch {batch}<br><small>{memory(needed)}</small></th>" for batch, needed in comparison.needed.items()
    )
    rows = "\n".join(
        f"<tr><td>{html.escape(row.chip)} <small>{row.gpu_cores} GPU cores</small></td>"
        + "".join(
            f'<td class="no">{cell_words(cell, "too large")}</td>'
            if cell.memory is None
            else f"<td>{cell_words(cell, '')}</td>"
            for cell in row.cells
        )
        + "</tr>"
        for row in comparison.rows
    )
    title = html.escape(f"{comparison.job} on every Mac")
    page = (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{title}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>{_STYLE}</style></head>\n'
        f"<body>\n<h1>{title}</h1>\n<p>Training in {comparison.precision}.</p>\n"
        f'<div class="wide"><table>\n<tr><th>chip</th>{heads}</tr>\n{rows}\n</table></div>\n'
        f"<p>{html.escape(legend(comparison))}</p>\n</body>\n</html>\n"
    )
    write_text(path, page)
