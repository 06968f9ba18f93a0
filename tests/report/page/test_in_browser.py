"""The pages in a real browser."""

from __future__ import annotations

import pytest
from browser import CHROMIUM, Browser, write
from makers import make_history, make_report, make_run

from pippin.report.page import frame
from pippin.report.page.compare_page import ComparedRun, compare_page
from pippin.report.page.run_page import run_page

HOSTILE = '"><img src=http://x.test/a onerror="window.hacked=1"></script><script>window.hacked=1</script>'


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if CHROMIUM is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    started = Browser(tmp_path_factory.mktemp("profile"))
    yield started
    started.close()


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
    assert dict(drawn) == {"loss": 2, "metrics": 1, "rate": 1, "norm": 1, "speed": 1, "memory": 1}
    box = opened.run("(b => [b.width, b.height])(document.querySelector('#loss .curve').getBBox())")
    assert box[0] > 300
    assert box[1] > 100


def test_the_switch_makes_the_scale_logarithmic_and_is_remembered(opened):
    height = "document.querySelector('#loss .curve').getAttribute('d').split('L')[15]"
    before = opened.run(height)
    opened.run("document.querySelector('#loss input').click()")
    after = opened.run(height)
    assert before != after
    # When the browser itself hands on what a page keeps is left to chance: it is handed on here.
    kept = opened.run("JSON.stringify({...sessionStorage})")
    assert kept != "{}"
    handed_on = opened.send("Page.addScriptToEvaluateOnNewDocument", source=f"Object.assign(sessionStorage, {kept})")
    opened.reload()
    opened.send("Page.removeScriptToEvaluateOnNewDocument", **handed_on)
    assert opened.run("document.querySelector('#loss input').checked")
    assert opened.run(height) == after


def test_values_under_the_pointer_and_by_keys(opened):
    box = "document.querySelector('#loss svg').getBoundingClientRect()"
    where = opened.run(f"(b => [b.left + b.width / 2, b.top + 50])({box})")
    opened.send("Input.dispatchMouseEvent", type="mouseMoved", x=where[0], y=where[1])
    tip = opened.run("document.querySelector('#loss .tip').innerText")
    assert tip.startswith("step 1")
    assert "training 0." in tip
    assert "validation 1" in tip
    opened.run("document.querySelector('#rate svg').focus()")
    for key in ("ArrowLeft", "ArrowLeft"):
        opened.send("Input.dispatchKeyEvent", type="keyDown", key=key)
    assert opened.run("document.querySelector('#rate .tip').innerText").startswith("step 28\n")


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


def test_light_and_dark_and_a_phone(opened):
    ground = "getComputedStyle(document.body).backgroundColor"
    light = opened.run(ground)
    opened.sized(390, 800, dark=True)
    assert opened.run(ground) != light
    assert opened.run("document.documentElement.scrollWidth") <= 390


def _says(browser, word):
    try:
        return word in browser.run("document.body.innerText")
    except AssertionError:  # asked in the middle of a reload
        return False
