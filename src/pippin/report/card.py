"""The model card: README.md of a run's folder, as the Hub reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from pippin.plan.trained import ADAPTERS
from pippin.report.card_data import base_model, card_data
from pippin.report.page.metric_names import figure, metric_title
from pippin.report.page.sections import device_words, row_counts, run_title
from pippin.report.plan_words import plan_rows
from pippin.report.report import Report, scores
from pippin.report.usage import use_line
from pippin.runs.record import Run
from pippin.tasks.parts import TablePart
from pippin.text import epochs, local_time, time_taken, visible

#: Words that mean nothing to Markdown, also not as an address.
_HARMLESS = re.compile(r"[^\W_]+([ /(),-]+[^\W_]+)*\)?")
_MARKDOWN = re.compile(r"[\\`*<>\[\]|&@]|:(?=//)|(?<=www)\.", re.IGNORECASE)
_BAR = "\\|"
_MOST_CLASSES, _MOST_ROWS = 20, 100
_SPLITS = (("test", "test rows"), ("eval", "validation rows"))
#: What a language model does, and the call of transformers' pipeline that does it, by Pippin's command.
_DOES = {"chat": "It answers the messages of a chat.", "chat --complete": "It goes on from a text."}
_CALLS = {
    "chat": (
        "chat",
        '([{"role": "user", "content": "Your question"}], max_new_tokens=256)[0]["generated_text"][-1]["content"]',
    ),
    "chat --complete": ("complete", '("Your text", max_new_tokens=256)[0]["generated_text"]'),
}
#: What a reader knows of how a model is trained; the rest of the plan is in run.json.
_TOLD = ("batch size", "learning rate", "head rate", "frozen")


def model_card(run: Run, report: Report) -> str:
    """What the model is, how well it does, how to use it and how it was trained."""
    title = run_title(run, report.folder)
    parts = [
        f"---\n{card_data(run, report, title).to_yaml()}\n---",
        f"# {as_words(title)}",
        _what_it_is(run),
        *_results(report),
        *_use(run, report),
        *_training(run, report),
    ]
    return "\n\n".join(parts) + "\n"


def _what_it_is(run: Run) -> str:
    data = run.data
    count = len(data.text_columns)
    each = "text" if count == 1 else "pair of texts" if count == 2 else f"row of {count} texts"
    names = ", ".join(map(as_words, data.classes[:_MOST_CLASSES]))
    more = f" and {len(data.classes) - _MOST_CLASSES} more" if len(data.classes) > _MOST_CLASSES else ""
    does = _DOES.get(data.command) or f"It gives each {each} {prose(data.gives)}{f': {names}{more}' if names else ''}."
    return f"{as_words(_base_words(run))}, fine-tuned on {as_words(data.name)} ({row_counts(data)} rows). {does}"


def _base_words(run: Run) -> str:
    """The model that it was started from: its name on the Hub, else its folder's, without the way there."""
    return base_model(run)[0] or Path(run.model).name


def _results(report: Report) -> Iterator[str]:
    """Scores beside those of the simplest answer, what nobody should miss, and the figures of each class."""
    rows = [
        (f"{metric_title(name)}, {rows}", figure(value), figure(report.baselines.get(f"{split}_{name}")))
        for split, rows in _SPLITS
        for name, value in scores(report.results, split).items()
    ]
    if not rows:
        return
    yield "## Results"
    heads = ("", "score", prose(report.baseline_answer))
    yield _table(heads if report.baselines else heads[:2], rows)
    for remark in report.remarks:
        yield f"> **Warning:** {prose(remark)}"
    for part in report.parts:
        if part.in_brief and part.table and len(part.table.rows) <= _MOST_ROWS:
            yield f"{prose(part.title)}:"
            yield _part_table(part.table)


def _part_table(part: TablePart) -> str:
    rows = [
        tuple(figure(cell, how) if how else as_words(str(cell)) for cell, how in zip(row, part.formats, strict=False))
        for row in part.rows
    ]
    return _table(tuple(map(prose, part.heads)), rows)


def _use(run: Run, report: Report) -> Iterator[str]:
    """Lines that work as they stand, where the model was trained."""
    folder = visible(report.folder).replace("\n", " ")
    yield "## Use"
    yield "Run these in the folder in which you trained it; anywhere else, change the path."
    yield f"```bash\n{use_line(run.data.command, folder, run.data.text_columns, 'Your text', 'Your second text')}\n```"
    if len(run.data.text_columns) > 2 and run.data.command == "predict":  # no pipeline joins them
        return
    name, call = _CALLS[run.data.command] if run.data.command in _CALLS else ("predict", _predicting(run))
    model = visible(json.dumps(report.folder, ensure_ascii=False))
    yield (
        "```python\nfrom transformers import pipeline\n\n"
        f"{name} = pipeline({json.dumps(run.data.pipeline)}, model={model})\n{name}{call}\n```"
    )
    if run.plan.execution.trained.value == ADAPTERS:
        yield "The model is saved as adapters, which transformers reads where the package peft is installed."


def _predicting(run: Run) -> str:
    """How transformers' pipeline is called with a text, so that it answers as Pippin does."""
    is_pair, is_number = len(run.data.text_columns) == 2, not run.data.classes
    text = '{"text": "Your text", "text_pair": "Your second text"}' if is_pair else '"Your text"'
    more = f", {run.data.pipeline_options}" if run.data.pipeline_options else ""
    return f"({text}{more})" + (("" if is_pair else "[0]") + '["score"]' if is_number else "")


def _training(run: Run, report: Report) -> Iterator[str]:
    plan = {name: value for name, value, _ in plan_rows(run.plan)}
    trained = f"{epochs(report.results['epoch'])} in {time_taken(report.results['train_runtime'])}"
    versions = f"Pippin {run.pippin}, torch {run.machine.torch}, transformers {run.machine.transformers}"
    facts = {
        "base model": as_words(_base_words(run)),
        "rows": row_counts(run.data),
        "trained for": trained,
        **{name: prose(plan[name]) for name in _TOLD if name in plan},
        "device": prose(device_words(run)),
        "date": local_time(run.started)[:10],
        "versions": prose(versions),
    }
    yield "## How it was trained"
    yield _table(("", ""), list(facts.items()))
    if report.verification:
        yield f"The device against the CPU, before training: {prose(report.verification)}"


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """As Markdown has it; there a bar is a bar in code too."""
    lines = [heads, ("---",) * len(heads), *(row[: len(heads)] for row in rows)]
    return "\n".join(f"| {' | '.join(cell.replace('|', _BAR) for cell in line)} |" for line in lines)


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
