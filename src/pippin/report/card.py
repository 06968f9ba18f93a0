"""The model card: README.md of a run's folder, as the Hub reads it."""

from __future__ import annotations

import json
import re
import shlex

from pippin.report.report import Report
from pippin.runs.record import Run
from pippin.text import visible

#: Words that mean nothing to Markdown, also not as an address.
_HARMLESS = re.compile(r"[^\W_]+([ /(),-]+[^\W_]+)*\)?")
_MARKDOWN = re.compile(r"[\\`*<>\[\]|&@]|:(?=//)|(?<=www)\.", re.IGNORECASE)


def model_card(run: Run, report: Report) -> str:
    """What the model is, how well it does, how it was made and how to use it."""
    classes = ", ".join(map(as_words, run.data.classes[:50]))
    kind = prose(run.data.kind) + (f": {classes}" if classes else "")
    pipeline = prose(run.data.pipeline)
    scores = "\n".join(
        f"| {prose(name)} | {value:.4f} |"
        for name, value in report.results.items()
        if name.startswith(("eval_", "test_")) and not name.endswith(("runtime", "per_second", "samples"))
    )
    plan = "\n".join(
        f"| {name} | {prose(str(choice.value))} | {prose(choice.reason)} |"
        for name, choice in run.plan.choices().items()
    )
    folder = _one_line(report.path.name)
    sizes = ", ".join(f"{count} {prose(name)}" for name, count in run.data.rows.items())
    found = report.verification
    verification = f"\n\nThe device against the CPU, before training: {prose(found)}" if found else ""
    return f"""---
library_name: transformers
pipeline_tag: {pipeline}
tags:
- pippin
---

# {as_words(run.recipe.run_name or report.path.name)}

{as_words(run.model)}, fine-tuned on {as_words(run.data.name)} ({sizes} rows) for {kind}.

| score | value |
|---|---|
{scores}

## Use

```python
from transformers import pipeline

classify = pipeline("{pipeline}", model={json.dumps(folder, ensure_ascii=False)})
classify("…")
```

or {_code(f'pippin predict {shlex.quote(folder)} --text "…"')}.

## How it was made

Pippin {run.pippin}, torch {run.machine.torch}, transformers {run.machine.transformers}, \
{run.machine.system} {run.machine.architecture}, {run.started}.{verification}

| choice | value | reason |
|---|---|---|
{plan}
"""


def as_words(text: str) -> str:
    """A name from the data or the user, inert in Markdown: as it is where it is plain, else as code.

    >>> as_words("all-MiniLM-L6-v2 (built in)"), as_words("[free](http://x.test)")
    ('all-MiniLM-L6-v2 (built in)', '`[free](http://x.test)`')
    """
    shown = _one_line(text)
    return shown if _HARMLESS.fullmatch(shown) else _code(shown)


def _code(text: str) -> str:
    """A span of code, in more backticks than the text has in a row."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    space = " " if text.startswith("`") or text.endswith("`") or not text else ""
    return f"{fence}{space}{text}{space}{fence}"


def prose(text: str) -> str:
    """A sentence of Pippin's own that may quote a name: what Markdown would act on is escaped."""
    return _MARKDOWN.sub(lambda found: f"&#{ord(found[0])};", _one_line(text))


def _one_line(text: str) -> str:
    return " ".join(visible(text).split())
