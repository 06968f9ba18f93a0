"""The model card: README.md of a run's folder, as the Hub reads it."""

from __future__ import annotations

from pippin.report.report import Report
from pippin.training.run import Run


def model_card(run: Run, report: Report) -> str:
    """What the model is, how well it does, how it was made and how to use it."""
    kind = "numbers" if run.data.regression else f"{len(run.data.classes)} classes: {', '.join(run.data.classes[:50])}"
    scores = "\n".join(
        f"| {name} | {value:.4f} |"
        for name, value in report.results.items()
        if name.startswith(("eval_", "test_")) and not name.endswith(("runtime", "per_second", "samples"))
    )
    plan = "\n".join(f"| {name} | {choice.value} | {choice.reason} |" for name, choice in run.plan.choices().items())
    sizes = ", ".join(f"{count} {name}" for name, count in run.data.rows.items())
    return f"""---
library_name: transformers
pipeline_tag: text-classification
tags:
- pippin
---

# {run.recipe.run_name or report.path.name}

{run.model}, fine-tuned on {run.data.name} ({sizes} rows) for {kind}.

| score | value |
|---|---|
{scores}

## Use

```python
from transformers import pipeline

classify = pipeline("text-classification", model="{report.path.name}")
classify("…")
```

or `pippin predict {report.path.name} --text "…"`.

## How it was made

Pippin {run.pippin}, torch {run.machine.torch}, transformers {run.machine.transformers}, \
{run.machine.system} {run.machine.architecture}, {run.started}.

| choice | value | reason |
|---|---|---|
{plan}
"""
