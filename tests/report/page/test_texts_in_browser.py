"""What the user's texts, tags and labels look like in a real browser: in any script, and on a phone."""

from __future__ import annotations

import pytest
from browser import write
from makers import make_history, make_report, make_run, mixed_up

from helpers import by_class_part
from pippin.recipe import Recipe
from pippin.report.page.compare_page import ComparedRun, compare_page
from pippin.report.page.run_page import run_page
from pippin.tasks.parts import Part, TablePart

ARABIC = "زار أحمد London أمس ، ثم Microsoft Office في دبي 2024 ."
KOREAN = " ".join("재" * length for length in (5, 9, 13, 7, 11, 8, 14, 6, 10, 12) * 2)
CHINESE = "今天我们在北京看到了一个非常有意思的新闻报道" * 12
#: From left to right: where a mark begins, where its label is, and where it ends.
MARK = """mark => {
  const box = mark.getBoundingClientRect(), label = mark.querySelector("bdi").getBoundingClientRect();
  return [mark.firstChild.textContent, [box.left, label.left, label.right, box.right]];
}"""


@pytest.fixture
def page(browser, tmp_path):
    """Opens the page of a run with these parts, as wide as a desk or a phone."""

    def opened(*parts: Part, width: int = 1400, **changes):
        browser.sized(width, 900)
        text = run_page(make_run(**changes), make_history(), make_report(parts=parts), "runs/قطط")
        browser.open(write(tmp_path / "report.html", text))
        return browser

    return opened


def tagged(text: str, *marks: tuple[int, int, str], others: tuple[tuple[int, int, str], ...] = ()) -> Part:
    heads, formats = ("row", "actual", "predicted", "loss"), ("d", "marked", "marked", ".2f")
    return Part("Mistakes", TablePart(heads, ((1, (text, marks), (text, others), 2.5),), formats, "sentences"))


def marked(text: str, *words: str, label: str) -> list[tuple[int, int, str]]:
    return [(text.index(each), text.index(each) + len(each), label) for each in words]


def test_a_text_runs_as_its_script_does_and_numbers_and_commands_stay(page):
    heads, formats = ("row", "text", "actual", "loss"), ("d", "long", "", ".2f")
    rows = ((1, ARABIC, "سلبي", 2.5), (2, "plain", "(لا رأي) محايد", 1.5))
    shown = page(Part("Mistakes", TablePart(heads, rows, formats)), recipe=Recipe(data="آراء.csv", seed=7))
    way = "each => getComputedStyle(each).direction"
    assert shown.run(f"[...document.querySelectorAll('.text')].map({way})") == ["rtl", "ltr"]
    assert shown.run(f"[...document.querySelectorAll('table.cards td:nth-child(3) bdi')].map({way})") == ["rtl", "rtl"]
    assert set(shown.run(f"[...document.querySelectorAll('td.number, pre, .warning, h1, h2')].map({way})")) == {"ltr"}
    # From left to right as it is typed, whatever the file is called.
    places = shown.run(
        "(code => { const range = document.createRange(), all = code.textContent, found = [];"
        "const walk = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);"
        "while (walk.nextNode()) { range.selectNodeContents(walk.currentNode);"
        "found.push(range.getBoundingClientRect().left); } return found; })(document.querySelector('code'))"
    )
    assert len(places) > 3
    assert places == sorted(places)


@pytest.mark.parametrize("label", ["LOC", "مكان"])
def test_a_label_stands_beside_its_words_at_their_end(page, label):
    words = ("أحمد", "London", "Microsoft", "دبي", "2024")
    shown = page(tagged(ARABIC, *marked(ARABIC, *words, label=label)))
    found = dict(shown.run(f"[...document.querySelectorAll('mark')].map({MARK})"))
    assert tuple(found) == words
    for word, (left, label_left, label_right, right) in found.items():
        runs_right = word.isascii() and not word.isdigit()
        assert (right - label_right if runs_right else label_left - left) < 6, word


def test_words_and_their_marks_read_in_one_order_with_and_without_marks(page):
    """The same words in both columns stand in the same order, so that they can be compared."""
    text = "ثم Microsoft Office في دبي 2024"
    shown = page(tagged(text, *marked(text, "Microsoft", "دبي", label="ORG")))
    order = """[...document.querySelectorAll('.text')].map(text => {
      const found = [], walk = document.createTreeWalker(text, NodeFilter.SHOW_TEXT), range = document.createRange();
      while (walk.nextNode()) for (const word of walk.currentNode.textContent.matchAll(/[\\p{L}\\p{N}]+/gu)) {
        if (walk.currentNode.parentElement.tagName === "BDI") continue;
        range.setStart(walk.currentNode, word.index);
        range.setEnd(walk.currentNode, word.index + word[0].length);
        found.push([range.getBoundingClientRect().left, word[0]]);
      }
      return found.sort(([a], [b]) => a - b).map(([, word]) => word);
    })"""
    with_marks, without = shown.run(order)
    assert with_marks == without
    assert with_marks.index("Microsoft") + 1 == with_marks.index("Office"), "an English name is read as one"


def test_a_mark_of_both_directions_stays_in_one_piece(page):
    text = "زار جوجل Google / London لندن أمس"
    shown = page(tagged(text, *marked(text, "جوجل Google", "London لندن", label="ORG")))
    assert shown.run("[...document.querySelectorAll('mark')].map(mark => mark.getClientRects().length)") == [1, 1]


@pytest.mark.parametrize("width", [360, 390, 700, 1400])
def test_no_empty_end_of_a_mark_stands_in_another_line(page, width):
    words = [f"word{place}" for place in range(60)] + ["قطة", "Google", "قطة"] * 20
    text = " ".join(words)
    starts = [sum(len(each) + 1 for each in words[:place]) for place in range(len(words))]
    marks = [(start, start + len(word), "VERB") for start, word in zip(starts, words, strict=True)]
    names = tuple(f"label_{place}" for place in range(20))
    lists = TablePart(("row", "text", "actual", "predicted"), ((1, "x", names, ()),), ("d", "long", "names", "names"))
    shown = page(tagged(text, *marks), Part("Lists", lists), width=width)
    pieces = shown.run(
        "[...document.querySelectorAll('mark, .differs')].flatMap(each => [...each.getClientRects()].map(r => r.width))"
    )
    assert len(pieces) >= 140
    assert min(pieces) > 12
    assert shown.run("document.documentElement.scrollWidth") <= width


def test_korean_breaks_between_words_and_chinese_anywhere(page):
    heads, formats = ("row", "text"), ("d", "long")
    rows = ((1, KOREAN), (2, CHINESE), (3, "한" * 300))
    shown = page(Part("Mistakes", TablePart(heads, rows, formats)), width=390)
    assert shown.run("document.documentElement.scrollWidth") <= 390
    boxes = shown.run("[...document.querySelectorAll('.text')].map(each => [each.scrollWidth, each.clientWidth])")
    assert all(whole <= box for whole, box in boxes), "nothing is cut off, also where there is no space"
    lines = """(text => {
      const range = document.createRange(), all = text.firstChild, lines = new Map();
      for (let at = 0; at < all.length; at++) {
        range.setStart(all, at); range.setEnd(all, at + 1);
        const top = Math.round(range.getBoundingClientRect().top);
        lines.set(top, (lines.get(top) ?? "") + all.textContent[at]);
      }
      return [...lines.values()];
    })"""
    korean = shown.run(f"{lines}(document.querySelectorAll('.text')[0])")
    assert len(korean) > 3
    assert [word for line in korean for word in line.split()] == KOREAN.split()
    chinese = shown.run(f"{lines}(document.querySelectorAll('.text')[1])")
    assert len({len(line) for line in chinese[:-1]}) == 1, "every line is full"


def test_all_figures_of_many_labels_are_seen_on_a_phone(page):
    names = ("disappointment", "embarrassment", *(f"label {place}" for place in range(30)))
    heads, formats = ("label", "threshold", "precision", "recall", "F1", "rows"), ("", ".2f", ".3f", ".3f", ".3f", "d")
    rows = tuple((name, 0.5, 0.123, 0.123, 1 - place / 100, 1234) for place, name in enumerate(names))
    shown = page(Part("By label", TablePart(heads, rows, formats, "labels")), width=390)
    box, whole = shown.run("(box => [box.clientWidth, box.scrollWidth])(document.querySelector('.wide'))")
    assert whole <= box
    assert shown.run("document.querySelector('.wide td').innerText") == "label 29", "the worst first"
    shown.run("document.querySelector('button.fold').click()")
    heights = shown.run(
        "[...document.querySelector('.wide').querySelectorAll('tbody tr')].map(row => row.offsetHeight)"
    )
    assert len(heights) == 32
    assert max(heights) == min(heights), "no word is broken"


def test_cards_of_short_texts_are_as_wide_as_the_phone(page):
    part = Part("Mistakes", TablePart(("row", "text", "loss"), ((1, "x", 2.5),), ("d", "long", ".2f")))
    shown = page(part, width=390)
    assert shown.run("document.querySelector('table.cards tbody tr').offsetWidth") == 358


def test_a_folded_matrix_opens_and_its_names_stay(page):
    names = tuple(f"a_long_name_of_class_{place}" for place in range(77))
    shown = page(by_class_part(names, most=mixed_up((names[3], names[5], 4))), width=390)
    assert shown.run("document.querySelector('.matrix').checkVisibility()") is False
    shown.run("document.querySelector('summary').click()")
    assert shown.run("document.querySelector('.matrix').checkVisibility()") is True
    gone = """(box => {
      box.scrollTo(300, 600);
      const [head, cell] = [...box.querySelectorAll("thead th, tbody th")].filter((each, at) => at === 20 || at === 97)
        .map(each => each.getBoundingClientRect());
      const frame = box.getBoundingClientRect();
      return [head.top - frame.top, cell.left - frame.left, frame.height < innerHeight];
    })(document.querySelector('details .wide'))"""
    assert shown.run(gone) == [0, 0, True]
    assert shown.run("document.documentElement.scrollWidth") <= 390


def test_numbers_of_an_axis_do_not_touch_its_name(browser, tmp_path):
    history = make_history()
    for each in history.logs:
        each["learning_rate"] = 0.0015 * each["step"] / 30
    browser.sized(1400, 900)
    browser.open(write(tmp_path / "report.html", run_page(make_run(), history, None, "runs/q")))
    overlaps = """[...document.querySelectorAll("figure > svg")].map(svg => {
      const name = svg.querySelectorAll(".axis")[1].getBoundingClientRect();
      return [...svg.querySelectorAll("text:not(.axis)")].map(each => each.getBoundingClientRect().left - name.right);
    }).map(gaps => Math.min(...gaps))"""
    assert min(browser.run(overlaps)) >= 1


def test_names_of_runs_stand_in_their_order(browser, tmp_path):
    runs = [ComparedRun(name, make_run(), make_history(), make_report()) for name in ("قطط", "first", "second")]
    browser.sized(1400, 900)
    browser.open(write(tmp_path / "runs.html", compare_page(runs)))
    places = browser.run("[...document.querySelectorAll('header bdi')].map(each => each.getBoundingClientRect().left)")
    assert len(places) == 3
    assert places == sorted(places)
    assert places[0] < 200
