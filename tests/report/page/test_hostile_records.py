"""Records of a stranger's run: whatever stands in them, of whatever kind, is text on the page, or refused in words."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from makers import make_history, make_report, make_run, mistakes_part, mixed_up

from helpers import by_class_part, sealed
from pippin.cli.report import write_report
from pippin.errors import PippinError
from pippin.machine.fallbacks import Fallback
from pippin.records import from_json, to_json
from pippin.report.page.compare_page import ComparedRun, compare_page
from pippin.report.page.markup import Html, html, joined
from pippin.report.page.run_page import read_records, run_page
from pippin.report.report import Report
from pippin.runs.data_card import LengthBin
from pippin.runs.record import Run
from pippin.tasks.parts import Bars, Part

EVIL = '</style></script></title><script>evil()</script><img src=x onerror=\'evil()\' " onload="evil()" `x` &lt;b&gt;'
#: Of every kind that JSON has, and of sizes that nobody has.
VALUES: list[Any] = [
    EVIL, [EVIL], {EVIL: EVIL}, {"value": EVIL, "reason": EVIL}, [[EVIL]], None, True, 3, -7, 0, 0.5, 2**62, 10**30,
    1e308, float("inf"), float("nan"), "", "\x00\ud800\u202e", [], {}, [[]], [1], ["a", "b", "c"], [[1, 2], [3]],
]  # fmt: skip


class Page(HTMLParser):
    """The tags of a page, and every attribute that would act."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[str] = []
        self.acting: list[tuple[str, str]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.acting += [(tag, name) for name, _ in attrs if name.startswith("on") or name in ("style", "src", "srcdoc")]


def assert_inert(text: str, thoroughly: bool = False) -> None:
    text.encode()
    # Two scripts, the data and our own; whatever is evil would bring more of these.
    assert [text.count(tag) for tag in ("<script", "</script", "<style", "</style", "<img")] == [2, 2, 1, 1, 0]
    if thoroughly:
        page = Page(text)
        assert not {"img", "iframe", "a", "object", "base", "form"} & set(page.tags)
        assert page.acting == []


def page_of(folder: Path) -> str:
    """What `pippin report` writes for a run."""
    return run_page(*read_records(folder), str(folder))


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value, and to everything that holds some."""
    yield path
    if isinstance(value, (dict, list)):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from leaves(value[key], (*path, key))


def found(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def planted(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    changed = copy.deepcopy(value)
    found(changed, path[:-1])[path[-1]] = new
    return changed


EVENTS = [
    {"event": "started", "steps": 4},
    {"event": "log", "step": 1, "epoch": 0.1, "loss": 0.5, "learning_rate": 1e-4, "grad_norm": 1.0, "memory": 5,
     "samples_per_second": 4.0, "tokens_per_second": 9.0, "seconds_left": 7.0},
    {"event": "evaluation", "step": 2, "epoch": 0.2, "best": True, "eval_accuracy": 0.5, "eval_loss": 1.0},
    {"event": "resumed", "step": 2, "changes": []},
    {"event": "saved", "step": 2},
    {"event": "slept", "step": 2, "seconds": 60.0, "sure": True},
    {"event": "slow", "step": 2, "share": 0.5},
    {"event": "smaller_batches", "step": 2, "rows": 4},
    {"event": "best_lost", "step": 2, "why": "x"},
    {"event": "fallback", "operator": "aten::x"},
    {"event": "relieved", "before": 5, "after": 3},
    {"event": "compiling", "costs": 5.0, "saves": 9.0},
    {"event": "compiled", "faster": 2.0},
    {"event": "verified", "words": "all is well"},
    {"event": "failed", "error": "Oops"},
]  # fmt: skip


def write_events(path: Path, events: list[Any]) -> None:
    timed = [{"time": "2026-11-16T10:00:00+00:00", **each} if isinstance(each, dict) else each for each in events]
    path.write_text("".join(json.dumps(each) + "\n" for each in timed))


@pytest.fixture
def folder() -> Path:
    """A whole run, as its records have it, with something in every field."""
    os.mkdir("run")
    run = make_run(
        resumed=("then",),
        results={"eval_accuracy": 0.5},
        fingerprint="abc",
        files={"a.md": ("0" * 64,)},
    )
    report = make_report(fallbacks={"aten::x": Fallback(3, 0.5, 0.1)}, verification="fine")
    first, *others = report.parts
    report = replace(report, parts=(replace(first, most=mixed_up(("ABBR", "NUM", 2))), *others))
    Path("run/run.json").write_text(sealed(to_json(run)))
    Path("run/report.json").write_text(json.dumps(to_json(report)))
    write_events(Path("run/events.jsonl"), EVENTS)
    return Path("run")


def test_every_word_at_once(folder):
    kinds = {"run.json": Run, "report.json": Report}
    for name, kind in kinds.items():
        whole = json.loads((folder / name).read_text())
        for path in leaves(whole):
            if isinstance(found(whole, path), str):
                evil = planted(whole, path, EVIL)
                with suppress(ValueError):  # one of a few words is wanted there
                    from_json(kind, evil)
                    whole = evil
        (folder / name).write_text(sealed(whole))
    page = page_of(folder)
    assert_inert(page, thoroughly=True)
    assert page.count("&lt;script&gt;evil()") > 40
    write_report([folder, folder], Path("both.html"))
    assert_inert(Path("both.html").read_text(), thoroughly=True)


@pytest.mark.parametrize("name", ["run.json", "report.json"])
def test_every_field_of_a_record(folder, name):
    whole = json.loads((folder / name).read_text())
    refused = 0
    for number, path in enumerate(leaves(whole)):
        values = VALUES if len(path) < 2 else [VALUES[(number + each) % len(VALUES)] for each in (0, 11)]
        for value in values:
            (folder / name).write_text(sealed(planted(whole, path, value)))
            try:
                assert_inert(page_of(folder))
            except PippinError:
                refused += 1
    assert refused > 100 or name == "report.json", "a page can do without a report, and not without a run"


def test_every_field_of_an_event(folder):
    events = EVENTS * 1
    for place, event in enumerate(EVENTS):
        for number, key in enumerate([*event, "time", "eval_new", EVIL]):
            for value in VALUES[number % 4 :: 4]:
                events[place] = {**event, key: value}
                write_events(folder / "events.jsonl", events)
                assert_inert(page_of(folder))
        events[place] = event


@pytest.mark.usefixtures("garbage_waits")
@pytest.mark.parametrize(
    "line",
    [b"[" * 200_000, b"9" * 5000, b"{" * 9, b"\xff\xfe", b"null", b"[]", b'"x"', b'{"event": {}, "time": []}',
     b"a" * (2 << 20),
     b'{"event": "log", "time": "0001-01-01T00:00:00+23:59"}',
     b'{"event": "log", "time": "9999-12-31T23:59:59-23:59"}'],
    ids=range(11),
)  # fmt: skip
def test_lines_that_are_no_events(folder, line):
    with (folder / "events.jsonl").open("ab") as file:
        file.write(line + b"\n")
    page = page_of(folder)
    assert_inert(page)
    assert "Failed: Oops" in page, "the lines before it are told"


def test_text_in_the_place_of_numbers():
    """Also where nothing was read from a file: what is no HTML of ours is text."""
    evil: Any = EVIL
    run = make_run()
    run = replace(
        run, started=evil, model=evil, pippin=evil, status=evil,
        data=replace(run.data, rows={evil: evil}, lengths=(LengthBin(evil, evil, 3),), classes=(evil, "b", "c"),
                     parts=(Part(evil, bars=Bars((evil,), (3,), evil)),)),
    )  # fmt: skip
    report = replace(
        make_report(), peak_memory=0,
        parts=(by_class_part((evil, "b"), (evil,) * 4, title=evil), mistakes_part(*[evil] * 5)),
        results={"eval_accuracy": evil, "eval_loss": evil},
    )  # fmt: skip
    page = run_page(run, make_history(), report, EVIL)
    assert_inert(page, thoroughly=True)
    assert page.count("&lt;script&gt;evil()") > 20
    assert_inert(compare_page([ComparedRun(EVIL, run, make_history(), report)] * 2), thoroughly=True)


def test_markup_escapes_all_but_its_own():
    inner = html('<b class="{}">{:.2f} {}</b>', '"><i>', 0.125, None)
    assert inner == '<b class="&quot;&gt;&lt;i&gt;">0.12 None</b>'
    assert html("<p>{}{x}</p>", inner, x="<") == f"<p>{inner}&lt;</p>"
    assert html("{:.3f}", "<i>") == "&lt;i&gt;", "a number that is none is text"
    assert joined(["<", Html("<br>"), 3]) == "&lt;<br>3"
    assert isinstance(joined([]), Html)
