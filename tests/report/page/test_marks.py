"""Marks in texts and lists of names: which are framed, and whether everybody can tell their looks apart."""

from __future__ import annotations

import math
import re
from importlib.resources import files
from itertools import combinations

import pytest

from pippin.report.page.marks import Stroke, marked, names, strokes
from pippin.report.page.parts import part_of
from pippin.tasks.parts import Part, TablePart

Colour = list[float]

STYLE = files("pippin.report.page").joinpath("style.css").read_text(encoding="utf-8")
#: What people see who lack a kind of cones, of linear light (Machado and others, 2009).
SIGHTS = {
    "all cones": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "no long": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no medium": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "no short": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}


def colours(scheme: str) -> dict[str, Colour]:
    """Those of the page and of the marks, of one scheme."""
    pairs = re.findall(r"--(\w+): light-dark\((#\w+), (#\w+)\);", STYLE)
    page = {name: [int(each[at : at + 2], 16) / 255 for at in (1, 3, 5)]
            for name, *both in pairs for each in [both[scheme == "dark"]]}  # fmt: skip
    return page | {
        f"kind{kind}": page[name] for kind, name in re.findall(r"\.kind(\d) \{ --kind: var\(--(\w+)\)", STYLE)
    }


def linear(colour: Colour) -> Colour:
    return [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in colour]


def product(matrix: list[list[float]], colour: Colour) -> Colour:
    return [min(max(sum(a * b for a, b in zip(row, colour, strict=True)), 0.0), 1.0) for row in matrix]


def lab(colour: Colour, sight: str) -> Colour:
    red, green, blue = product(SIGHTS[sight], linear(colour))
    x, y, z = (0.4124 * red + 0.3576 * green + 0.1805 * blue, 0.2126 * red + 0.7152 * green + 0.0722 * blue,
               0.0193 * red + 0.1192 * green + 0.9505 * blue)  # fmt: skip
    x, y, z = (each ** (1 / 3) if each > 0.008856 else 7.787 * each + 16 / 116 for each in (x / 0.9505, y, z / 1.089))
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)]


def contrast(one: Colour, other: Colour) -> float:
    """As WCAG counts it."""
    low, high = sorted(0.2126 * red + 0.7152 * green + 0.0722 * blue for red, green, blue in map(linear, (one, other)))
    return (high + 0.05) / (low + 0.05)


def mixed(one: Colour, other: Colour, share: float) -> Colour:
    return [share * a + (1 - share) * b for a, b in zip(one, other, strict=True)]


def looks(count: int) -> list[Stroke]:
    labels = [f"{place:02}" for place in range(count)]
    return list(strokes([("x" * count, [(place, place + 1, label) for place, label in enumerate(labels)])]).values())


def test_24_kinds_look_different():
    assert len(set(looks(24))) == 24
    assert len(re.findall(r"\.kind\d ", STYLE)) == 1 + max(look.colour for look in looks(24))
    assert len(re.findall(r"mark\.line\d ", STYLE)) == max(look.line for look in looks(24)), "the first is that of all"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("sight", SIGHTS)
def test_eight_kinds_are_told_apart_by_whoever_sees_fewer_colours(sight, scheme):
    found = colours(scheme)
    for one, other in combinations(looks(8), 2):
        apart = math.dist(lab(found[f"kind{one.colour}"], sight), lab(found[f"kind{other.colour}"], sight))
        assert one.line != other.line or apart > 18, (one, other)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_labels_and_texts_of_marks_are_legible(scheme):
    found = colours(scheme)
    grounds = [
        int(each) / 100 for each in re.findall(r"mark.*background: color-mix\(in srgb, var\(--kind\) (\d+)%", STYLE)
    ]
    (label,) = re.findall(r"mark small \{ color: color-mix\(in srgb, var\(--kind\) (\d+)%, var\(--ink\)\)", STYLE)
    assert len(grounds) == 2
    for kind in range(6):
        own = found[f"kind{kind}"]
        for below in ("ground", "card"):
            for share in grounds:
                ground = mixed(own, found[below], share)
                assert contrast(mixed(own, found["ink"], int(label) / 100), ground) > 4.5
                assert contrast(found["ink"], ground) > 6


def test_what_the_other_has_not_is_framed():
    text = "Ada saw Paris"
    actual, predicted = (text, [(0, 3, "PER"), (8, 13, "LOC")]), (text, [(0, 3, "PER"), (8, 13, "ORG")])
    kinds = strokes([actual, predicted])
    shown = [marked(each, kinds, (actual, predicted)) for each in (actual, predicted)]
    assert [re.findall('<mark class="[^"]*?( differs)?">(\\w+)', each) for each in shown] == [
        [("", "Ada"), (" differs", "Paris")],
        [("", "Ada"), (" differs", "Paris")],
    ]
    assert "differs" not in marked(actual, kinds, (actual, actual))
    assert names(["joy", "fear"], (["joy", "fear"], ["joy"])) == (
        '<bdi dir="auto">joy</bdi>, <span class="differs"><bdi dir="auto">fear</bdi></span>'
    )
    assert "(none)" in names([], ([], ["joy"]))


def test_a_table_says_what_its_frames_mean():
    rows = ((1, ["joy"], ["joy", "fear"]), (2, "joy", [["fear"]]), (3, None, 5))
    table = TablePart(("row", "actual", "predicted"), rows, ("d", "names", "names"))
    page = part_of(Part("Mistakes", table))
    assert page.count('class="differs"') == 1
    assert "Framed: what the other column does not have." in page
    assert "[[&#x27;fear&#x27;]]" in page, "a record may be anybody's"
    assert "Framed" not in part_of(Part("Mistakes", TablePart(("row", "text"), ((1, "x"),), ("d", "long"))))


@pytest.mark.parametrize(
    ("text", "mark", "behind"),
    [
        ("زار London أمس", (4, 10), "&lrm;"),
        ("زار لندن أمس", (4, 8), "&#x61c;"),
        ("ביקר בלונדון", (5, 12), "&rlm;"),
        ("saw 2024", (4, 8), "&lrm;"),
        ("2024", (0, 4), ""),
    ],
)
def test_a_label_stays_where_its_words_end(text, mark, behind):
    page = marked((text, [(*mark, "X")]), {"X": Stroke(0, 0)})
    assert f"<bdi>X</bdi>{behind}</small></mark>" in page


def test_words_of_both_directions_stand_by_themselves():
    text = "زار جوجل Google ( London لندن )"
    page = marked((text, [(4, 15, "ORG"), (18, 24, "LOC")]), {"ORG": Stroke(0, 0), "LOC": Stroke(1, 0)})
    assert '<mark class="kind0 line0 mixed">' in page
    assert '<mark class="kind1 line0">' in page
