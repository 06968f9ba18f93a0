"""The page around the parts: head, style, script and data. Nothing in it asks for anything outside."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Iterable, Sequence
from importlib.resources import files

from pippin.report.page.charts import Chart, as_json
from pippin.report.page.markup import Html, html, joined
from pippin.runs.folder import PAGE_MARK

#: Seconds after which an open page looks again at a run that goes on, and after which silence is told.
_AGAIN_AFTER, _SILENT_AFTER = 5, 600
#: In this order: each knows those before it.
_SCRIPTS = ("scales.js", "charts.js", "zoom.js", "page.js")


def page(title: str, parts: Iterable[Html], charts: Sequence[Chart] = (), running: bool = False) -> Html:
    """A whole page. It may run its own script and style and nothing else, so that no text in it ever acts."""
    style, script = _own_file("style.css"), html("(() => {{\n{}}})();", joined(map(_own_file, _SCRIPTS)))
    data = {
        "charts": as_json(charts),
        "written": round(time.time()),
        "again_after": _AGAIN_AFTER if running else 0,
        "silent_after": _SILENT_AFTER,
    }
    written = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return html(
        _PAGE,
        policy=Html(f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:"),
        generator=Html(PAGE_MARK),
        title=title,
        style=style,
        body=joined(parts, between="\n"),
        data=Html(written.replace("<", "\\u003c")),  # so that it cannot end the element that it stands in
        script=script,
    )


def figures_of(charts: Sequence[Chart]) -> Html:
    """Places for the curves; the script fills them."""
    return joined(
        (html(_FIGURE, chart=chart, keys=html("") if chart.scatter else _KEYS) for chart in charts), between="\n"
    )


_FIGURE = (
    '<figure id="{chart.id}"><figcaption><b>{chart.title}</b><span class="tools screen"></span></figcaption>'
    '<svg role="img" tabindex="0" aria-label="{chart.title}. {chart.y} by {chart.x}.{keys}"></svg>'
    '<div class="legend"></div><div class="tip" role="status" hidden></div></figure>'
)
_KEYS = Html(" Arrow keys read values, plus and minus zoom, Escape resets.")
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
{generator}
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def _own_file(name: str) -> Html:
    return Html(files("pippin.report.page").joinpath(name).read_text(encoding="utf-8"))


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
