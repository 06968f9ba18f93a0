"""The page around the parts: head, style, script and data. Nothing in it asks for anything outside."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import time
from collections.abc import Sequence
from importlib.resources import files

from pippin.report.page.charts import Chart, as_json
from pippin.report.words import visible
from pippin.runs.folder import PAGE_MARK

#: Seconds after which an open page looks again at a run that goes on, and after which silence is told.
_AGAIN_AFTER, _SILENT_AFTER = 5, 600


def escaped(text: object) -> str:
    """Words from anywhere as words: no tags, and no characters that turn the writing round."""
    return html.escape(visible(str(text)))


def page(title: str, body: str, charts: Sequence[Chart] = (), running: bool = False) -> str:
    """A whole page. It may run its own script and style and nothing else, so that no text in it ever acts."""
    style, script = _own_file("style.css"), _own_file("charts.js")
    data = {
        "charts": as_json(charts),
        "written": round(time.time()),
        "again_after": _AGAIN_AFTER if running else 0,
        "silent_after": _SILENT_AFTER,
    }
    policy = f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
{PAGE_MARK}
<link rel="icon" href="data:,">
<title>{escaped(title)}</title>
<style>{style}</style>
</head>
<body>
{body}
<script type="application/json" id="data">{_inert_json(data)}</script>
<script>{script}</script>
</body>
</html>
"""


def figures_of(charts: Sequence[Chart]) -> str:
    """Places for the curves; the script fills them."""
    return "\n".join(
        f'<figure id="{chart.id}"><figcaption><b>{escaped(chart.title)}</b>{_LOG_SWITCH if chart.log else ""}'
        '</figcaption><svg role="img" tabindex="0" aria-label="'
        f'{escaped(chart.title)} by {chart.x}"></svg><div class="legend"></div><div class="tip" hidden></div></figure>'
        for chart in charts
    )


_LOG_SWITCH = '<label class="screen"><input type="checkbox"> logarithmic</label>'


def _own_file(name: str) -> str:
    return files("pippin.report.page").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _inert_json(data: object) -> str:
    """JSON that cannot end the element that it stands in."""
    return json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
