"""The pages in a real browser."""

from __future__ import annotations

import pytest
from browser import write
from makers import make_history, make_report, make_run

from pippin.report.page import frame
from pippin.report.page.compare_page import ComparedRun, compare_page
from pippin.report.page.run_page import run_page

HOSTILE = '"><img src=http://x.test/a onerror="window.hacked=1"></script><script>window.hacked=1</script>'


@pytest.fixture
def opened(browser, tmp_path):
    page = run_page(make_run(), make_history(), make_report(), "runs/questions")
    browser.sized(1200, 900)
    browser.open(write(tmp_path / "report.html", page))
    return browser


def test_opens_from_a_file_without_a_complaint_or_a_request(opened):
    assert opened.complaints == []
    assert len(opened.requests) == 1
    assert opened.requests[0].startswith("file:")
    assert opened.run("document.title") == "questions"


def test_curves_are_drawn(opened):
    drawn = opened.run("[...document.querySelectorAll('figure')].map(f => [f.id, f.querySelectorAll('.curve').length])")
    # The legend of the losses draws each of its two lines once more.
    assert dict(drawn) == {"loss": 4, "metric0": 1, "rate": 1, "norm": 1, "speed": 1, "memory": 1}
    box = opened.run("(b => [b.width, b.height])(document.querySelector('#loss .curve').getBBox())")
    assert box[0] > 300
    assert box[1] > 100


def test_the_switch_makes_the_scale_logarithmic_and_is_remembered(opened):
    height = "document.querySelector('#loss svg > g .curve').getAttribute('d').split('L')[15]"
    switch = _switch("log scale")
    before = opened.run(height)
    opened.run(f"{switch}.click()")
    after = opened.run(height)
    assert before != after
    # When the browser itself hands on what a page keeps is left to chance: it is handed on here.
    kept = opened.run("JSON.stringify({...sessionStorage})")
    assert kept != "{}"
    handed_on = opened.send("Page.addScriptToEvaluateOnNewDocument", source=f"Object.assign(sessionStorage, {kept})")
    opened.reload()
    opened.send("Page.removeScriptToEvaluateOnNewDocument", **handed_on)
    assert opened.run(f"{switch}.checked")
    assert opened.run(height) == after


def test_values_under_the_pointer_and_by_keys(opened):
    box = "document.querySelector('#loss svg').getBoundingClientRect()"
    where = opened.run(f"(b => [b.left + b.width / 2, b.top + 50])({box})")
    opened.send("Input.dispatchMouseEvent", type="mouseMoved", x=where[0], y=where[1])
    tip = opened.run("document.querySelector('#loss .tip').innerText")
    assert tip.startswith("Step 1")
    assert "training 0." in tip
    assert "validation 1" in tip
    opened.run("document.querySelector('#rate svg').focus()")
    opened.key("ArrowLeft")
    opened.key("ArrowLeft")
    # The first of the two shows the last step.
    assert opened.run("document.querySelector('#rate .tip').innerText").startswith("Step 29\n")


def test_curves_are_hidden_smoothed_and_zoomed(opened):
    shown = "document.querySelectorAll('#loss svg > g .curve').length"
    assert opened.run(shown) == 2
    button = "document.querySelector('#loss .legend button')"
    opened.run(f"{button}.click()")
    assert (opened.run(shown), opened.run(f"{button}.ariaPressed")) == (1, "false")
    opened.run(f"{button}.click()")
    opened.run(f"{_switch('smooth')}.click()")
    assert opened.run("document.querySelectorAll('#loss .smooth').length") == 1, "few evaluations are not smoothed"
    ticks = "[...document.querySelectorAll('#loss svg > text')].map(t => t.textContent).join(' ')"
    whole = opened.run(ticks)
    opened.run("document.querySelector('#loss svg').focus()")
    opened.key("+")
    assert opened.run(ticks) != whole
    assert not opened.run("document.querySelector('#loss .tools button').hidden")
    opened.key("Escape")
    assert opened.run(ticks) == whole
    left, top, width = opened.run(
        "(b => [b.left, b.top, b.width])(document.querySelector('#loss svg').getBoundingClientRect())"
    )
    for kind, share in (("mousePressed", 0.3), ("mouseMoved", 0.6), ("mouseReleased", 0.6)):
        opened.send(
            "Input.dispatchMouseEvent", type=kind, x=left + share * width, y=top + 60, button="left", clickCount=1
        )
    assert opened.run(ticks) != whole, "dragged over"
    assert opened.run("getSelection().isCollapsed"), "what is selected keeps a page at work from being looked at again"


def test_tables_sort_and_fold(browser, tmp_path):
    names = tuple(f"class {place}" for place in range(40))
    page = run_page(make_run(classes=names), make_history(), make_report(classes=names), "runs/q")
    browser.open(write(tmp_path / "report.html", page))
    rows = "[...document.querySelectorAll('table.sortable tbody tr')].filter(r => !r.hidden).map(r => r.innerText)"
    folded = browser.run(rows)
    browser.run("document.querySelector('button.fold').click()")
    assert len(browser.run(rows)) > len(folded)
    first = "document.querySelector('table.sortable tbody td').innerText"
    browser.run("document.querySelector('table.sortable th button').click()")
    assert browser.run(first) == "class 0"
    browser.run("document.querySelector('table.sortable th button').click()")
    assert browser.run(first) == "class 39", "names with numbers in them in the order of the numbers"
    assert browser.run("document.querySelector('table.sortable th').ariaSort") == "descending"


def test_times_are_the_reader_s_own_and_commands_can_be_copied(opened):
    opened.send("Emulation.setTimezoneOverride", timezoneId="Asia/Seoul")
    opened.reload()
    assert "7:00" in opened.run("document.querySelector('time').textContent")
    opened.send("Emulation.setTimezoneOverride", timezoneId="")
    opened.run("document.querySelector('.command button').click()")
    assert opened.run("getSelection().toString()").startswith("pippin train")


def test_hostile_names_and_texts_stay_text(browser, tmp_path):
    classes = (HOSTILE, "DESC", "NUM")
    run = make_run(classes=classes, model=HOSTILE)
    page = run_page(run, make_history(), make_report(classes=classes, text=HOSTILE), HOSTILE)
    browser.open(write(tmp_path / "report.html", page))
    assert browser.run("window.hacked") is None
    assert browser.run("document.images.length") == 0
    assert browser.run("document.scripts.length") == 2
    assert browser.run("document.querySelector('.text').innerText") == HOSTILE
    assert browser.complaints == []
    assert len(browser.requests) == 1
    several = [ComparedRun(name, run, make_history(), None) for name in (HOSTILE, "b")]
    browser.open(write(tmp_path / "both.html", compare_page(several)))
    assert browser.run("window.hacked") is None
    assert browser.run("document.querySelector('.legend').innerText").startswith(HOSTILE)


def test_a_page_that_is_still_written_is_looked_at_again(browser, tmp_path, monkeypatch):
    monkeypatch.setattr(frame, "_AGAIN_AFTER", 0.05)
    page, running = tmp_path / "report.html", make_run("started")
    browser.open(write(page, run_page(running, make_history(10), None, "runs/q")))
    assert "step 10 of 10" in browser.run("document.body.innerText")
    assert browser.run("document.getElementById('silent').hidden")
    write(page, run_page(make_run(), make_history(20), None, "runs/q"))
    assert any(_says(browser, "finished") for _ in range(5000)), "the page is never looked at again"
    assert browser.complaints == []


def test_a_command_breaks_between_its_words_alone_and_is_copied_clean(opened):
    opened.sized(390, 800)
    told = "document.querySelectorAll('.command code')[0]"
    line = "pippin train rows.csv --output_dir a-b-c-d-e-f --eval_strategy steps-and-epochs --learning_rate 0.001"
    opened.run(f"{told}.innerHTML = {line!r}.replace(/\\S*-\\S*/g, '<span>$&</span>')")
    heights = f"[...{told}.children].map(each => each.getClientRects().length)"
    assert opened.run(heights) == [1] * 5
    assert opened.run(f"getSelection().selectAllChildren({told}) || getSelection().toString()") == line


def test_a_wide_table_fades_where_it_goes_on(browser, tmp_path):
    runs = [ComparedRun(f"run number {place}", make_run(), make_history(), make_report()) for place in range(9)]
    browser.sized(390, 800)
    browser.open(write(tmp_path / "both.html", compare_page(runs)))
    box = "document.querySelector('.wide')"
    edges = f"new Promise(done => requestAnimationFrame(() => setTimeout(() => done({box}.className))))"
    assert browser.run(edges) == "wide after"
    browser.run(f"{box}.scrollLeft = 20")
    assert browser.run(edges) == "wide after before"
    browser.run(f"{box}.scrollLeft = 10000")
    assert browser.run(edges) == "wide before"
    assert browser.run("document.documentElement.scrollWidth") <= 390
    browser.sized(4000, 800)
    assert browser.run(edges) == "wide"


def test_of_many_runs_no_two_lines_look_alike(browser, tmp_path):
    runs = [ComparedRun(f"run {place}", make_run(), make_history(), make_report()) for place in range(14)]
    browser.open(write(tmp_path / "all.html", compare_page(runs)))
    line = "line => line.getAttribute('stroke') + line.getAttribute('stroke-dasharray')"
    looks = browser.run(f"[...document.querySelectorAll('#loss .legend path')].map({line})")
    assert len(looks) == len(set(looks)) == 14


def test_the_baselines_name_stands_where_no_curve_is(browser, tmp_path):
    history = make_history()
    # Far above the level on the left, and then just above it, where the name would stand by itself.
    history.evaluations = [{"step": step, "eval_accuracy": 0.9 if step < 14 else 0.42} for step in range(2, 32, 2)]
    browser.sized(1200, 900)
    browser.open(write(tmp_path / "report.html", run_page(make_run(), history, make_report(), "runs/q")))
    name = "document.querySelector('#metric0 svg .named')"
    assert browser.run(f"{name}.textContent") == "baseline 0.4000"
    curve = browser.run("document.querySelector('#metric0 .curve').getAttribute('d')")
    box = browser.run(f"(b => [b.x, b.y, b.width, b.height])({name}.getBBox())")
    points = [tuple(map(float, each.split())) for each in curve[1:].split("L")]
    assert not [1 for x, y in points if box[0] <= x <= box[0] + box[2] and box[1] <= y <= box[1] + box[3]]


def test_light_and_dark_and_a_phone(opened):
    ground = "getComputedStyle(document.body).backgroundColor"
    light = opened.run(ground)
    opened.sized(390, 800, dark=True)
    assert opened.run(ground) != light
    assert opened.run("document.documentElement.scrollWidth") <= 390


def _switch(name):
    labels = "[...document.querySelectorAll('#loss label')]"
    return f"{labels}.find(label => label.innerText.includes('{name}')).querySelector('input')"


def _says(browser, word):
    try:
        return word in browser.run("document.body.innerText")
    except AssertionError:  # asked in the middle of a reload
        return False
