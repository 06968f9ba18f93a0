"""A Report in a line, and small tables for notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pippin.report.page.markup import Html, html, joined
from pippin.report.page.run_page import NAME as PAGE
from pippin.report.report import Report, scores
from pippin.tasks.base import Prediction

#: Answers that a notebook shows.
_MOST_ANSWERS = 20
_SPLITS = (("eval", "validation"), ("test", "test"))


def in_a_line(report: Report) -> str:
    """What a run came to: `validation accuracy 0.9333 · test accuracy 0.9100`."""
    main = report.main_metric
    found = [(title, scores(report.results, split).get(main)) for split, title in _SPLITS]
    return " · ".join(f"{title} {main} {value:.4f}" for title, value in found if value is not None)


def as_html(report: Report) -> Html:
    """Scores beside the baseline, remarks, and the way to the page and the model."""
    rows = [_row(report, split, title, name) for split, title in _SPLITS for name in scores(report.results, split)]
    has_baseline = bool(report.baselines)
    heads = joined(html("<th>{}</th>", head) for head in ("", "score", *(["baseline"] if has_baseline else [])))
    table = html("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>", heads, joined(rows)) if rows else ""
    answer = html("<p>baseline: {}</p>", report.baseline_answer) if has_baseline and report.baseline_answer else ""
    remarks = joined(html("<p><b>Note:</b> {}</p>", remark) for remark in report.remarks)
    page = Path(report.folder, PAGE)
    link = html('<a href="{}" target="_blank">report</a> · ', page.as_posix()) if page.is_file() else ""
    return html("<div>{}{}{}<p>{}saved in <code>{}</code></p></div>", table, answer, remarks, link, report.folder)


def _row(report: Report, split: str, title: str, name: str) -> Html:
    value, baseline = report.results[f"{split}_{name}"], report.baselines.get(f"{split}_{name}")
    cells = html("<td>{} {}</td><td>{:.4f}</td>", title, name, value)
    if report.baselines:
        cells = joined([cells, html("<td>{:.4f}</td>", baseline) if baseline is not None else html("<td></td>")])
    return html("<tr>{}</tr>", cells)


def predictor_html(facts: Mapping[str, str], classes: Sequence[str]) -> Html:
    """What a predictor is, in a small table, and all its classes for those who open it."""
    rows = joined(html("<tr><th>{}</th><td>{}</td></tr>", *each) for each in facts.items() if each[1])
    more = "<details><summary>Classes</summary>{}</details>"
    return html("<table><tbody>{}</tbody></table>{}", rows, html(more, ", ".join(classes)) if classes else "")


def predictions_html(answers: Sequence[Prediction]) -> Html:
    """Answers as a table, the first ones where there are many."""
    has_score = any(answer.score is not None for answer in answers)
    heads = html("<th></th><th>label</th><th>score</th>") if has_score else html("<th></th><th>{}</th>", _head(answers))
    rows = [
        html("<tr><td>{}</td><td>{}</td><td>{:.4f}</td></tr>", place, answer.label, answer.score)
        if has_score
        else html("<tr><td>{}</td><td>{}</td></tr>", place, str(answer))
        for place, answer in enumerate(answers[:_MOST_ANSWERS])
    ]
    more = html("<p>… {} in all</p>", len(answers)) if len(answers) > _MOST_ANSWERS else ""
    return html("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>{}", heads, joined(rows), more)


def _head(answers: Sequence[Prediction]) -> str:
    first = next(iter(answers), Prediction())
    return "value" if first.value is not None else "spans" if first.spans is not None else "labels"
