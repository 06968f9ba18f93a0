"""Pages as text: what is in them, how large they get, and which curves they have."""

from __future__ import annotations

import re

import pytest
from makers import make_history, make_report, make_run, mixed_up

from helpers import by_class_part
from pippin.machine.fallbacks import Fallback
from pippin.recipe import Recipe
from pippin.report.page.charts import Mark, run_charts, thinned
from pippin.report.page.compare_page import ComparedRun, compare_page
from pippin.report.page.history import History, read_history
from pippin.report.page.parts import part_of
from pippin.report.page.run_page import run_page
from pippin.report.page.tables import histogram
from pippin.report.report import Report
from pippin.tasks.parts import Bars, Part


def test_the_result_comes_first_and_all_that_it_was_made_of_follows():
    report = make_report(fallbacks={"aten::isneginf": Fallback(36, 0.02)}, verification="The results are the CPU's.")
    page = run_page(make_run(), make_history(), report, "runs/questions")
    order = [
        "0.9000", "Curves", "By class, on the validation rows", "Who was Galileo?",
        "aten::isneginf ran on the CPU 36 times",
        "The results are the CPU&#x27;s.", "The plan", "The data", "8% of an epoch",
        "pippin train rows.csv <span>--seed</span> 7", "pippin predict runs/questions", "2.13.0",
    ]  # fmt: skip
    places = [page.index(words) for words in order]
    assert places == sorted(places)
    assert "pippin resume" not in page


@pytest.mark.parametrize(("status", "words"), [("started", "running"), ("interrupted", "after step 30 of 30")])
def test_a_run_that_is_not_finished_says_how_to_go_on(status, words):
    page = run_page(make_run(status), make_history(), None, "my runs/q")
    assert words in page
    assert "pippin resume &#x27;my runs/q&#x27;" in page
    assert ("<p>Resume</p>" in page) == (status == "interrupted"), "a run at work needs no resuming"
    assert "0.7500" in page, "the last evaluation stands for the result"


def test_a_run_goes_by_its_own_name_else_by_its_folders():
    for run, title in ((make_run(), "my run"), (make_run(recipe=Recipe(run_name="the first")), "the first")):
        page = run_page(run, make_history(), None, "runs/my run/")
        assert f"<title>{title}</title>" in page
        assert f'<h1><bdi dir="auto">{title}</bdi></h1><p><bdi dir="auto">questions</bdi> (90 training' in page


def test_a_score_no_better_than_the_baseline_is_a_warning():
    good = run_page(make_run(), make_history(), make_report(), "runs/q")
    assert 'card main"><b>0.9000</b>Accuracy<small>validation rows · baseline 0.4000<' in good
    assert "poor" not in good.split("<body>")[1].split("Curves")[0]
    results = {**make_report().results, "eval_accuracy": 0.4}
    bad = run_page(make_run(), make_history(), make_report(results=results), "runs/q")
    assert 'card poor"><b>0.4000</b>Accuracy<small>validation rows · no better than the baseline, 0.4000<' in bad
    assert "card main" not in bad


@pytest.mark.parametrize("status", ["started", "interrupted", "failed", "killed"])
def test_an_unfinished_run_is_held_against_the_baseline_too(status):
    page = run_page(make_run(status), make_history(), None, "runs/q")
    assert "step 30 · baseline 0.4000" in page
    assert "Baseline: always answering &quot;ABBR&quot;." in page
    (accuracy,) = [each for each in run_charts(make_history(), False, {"eval_accuracy": 0.4}) if each.level]
    assert (accuracy.title, accuracy.level) == ("Accuracy", Mark(0.4, "baseline 0.4000"))


def test_run_it_again_asks_for_a_folder_of_its_own():
    recipe = Recipe(data="rows.csv", num_train_epochs=15.0, output_dir="runs/q", overwrite_output_dir=True)
    page = run_page(make_run(recipe=recipe), make_history(), make_report(), "runs/q")
    assert "<code>pippin train rows.csv <span>--epochs</span> 15</code>" in page


def test_epochs_are_rounded():
    results = {**make_report().results, "epoch": 0.38961}
    assert "<small>0.4 epochs</small>" in run_page(make_run(), make_history(), make_report(results=results), "runs/q")


def test_nothing_outside_is_named_and_nothing_acts_in_line():
    page = run_page(make_run(), make_history(), make_report(), "runs/q")
    assert re.findall(r'(?:src|href)="(?!data:)', page) == []
    assert re.findall(r"<[^>]+\son\w+=", page) == []
    assert " style=" not in page
    assert "https:" not in page
    assert "default-src 'none'" in page


def test_a_colour_of_the_page_is_set_once():
    """Another rule that sets its name, for something of its own, would paint all that stands within."""
    page = run_page(make_run(), make_history(), None, "")
    colours, rules = re.search(r"<style>:root \{(.*?)\}(.*?)</style>", page, re.S).groups()
    named = set(re.findall(r"(--\w+):", colours))
    assert len(named) > 10
    assert named & set(re.findall(r"(--\w+):", rules)) == set()


def test_large_runs_stay_small():
    many = tuple(f"class number {place}" for place in range(300))
    pairs = mixed_up(*[(many[3], many[5], 4321)] * 150)
    report = make_report(classes=many, parts=(by_class_part(many, matrix=None, most=pairs),))
    page = run_page(make_run(classes=many), make_history(50_000), report, "runs/q")
    assert len(page) < 1_000_000
    assert "Most frequent confusions" in page
    assert page.count("<td class=number>4321</td>") == 100
    assert "The first 100 of 150 pairs; report.json has them all." in page


def test_of_many_classes_the_pairs_are_shown_and_the_matrix_is_folded():
    def shown(count: int) -> tuple[bool, bool, bool]:
        names = tuple(f"class {place}" for place in range(count))
        report = make_report(parts=(by_class_part(names, most=mixed_up((names[0], names[1], 3))),))
        page = run_page(make_run(), make_history(), report, "runs/q")
        return "Most frequent confusions" in page, "<details>" in page, 'class="matrix' in page

    assert shown(24) == (False, False, True)
    assert shown(77) == (True, True, True)
    assert shown(101) == (True, False, False), "report.json has none, and neither has a page"


def test_what_is_counted_stands_above_the_numbers():
    bars = Part("Entities", bars=Bars(("PER", "LOC"), (7, 5), "kinds", "entities"))
    page = part_of(bars)
    assert re.findall("<th scope[^>]*>([^<]*)", page) == ["Kinds", "", "Entities"]


def test_names_of_many_bars_have_room_on_a_phone():
    entries = [(f"{100 * place}–{100 * place + 99}", place) for place in range(10, 34)]
    shares = [float(each) for each in re.findall(r'<text x="([\d.]+)%" y="155"', histogram(entries, "tokens"))]
    gaps = {round(after - before, 2) for before, after in zip(shares, shares[1:], strict=False)}
    assert all(gap / 100 * 340 > 6.2 * len("1000–1099") + 4 for gap in gaps), gaps
    assert len(shares) >= 4


def test_a_short_last_window_is_left_out():
    def curve(*steps: int) -> list[float]:
        history = History()
        for step in steps:
            history.add("log", {"step": step, "loss": 1.0, "learning_rate": 0.1}, float(step))
        charts = {chart.id: chart for chart in run_charts(history)}
        assert charts["rate"].series[0].points[-1][0] == steps[-1], "the rate is no mean over a window"
        assert {chart.until for chart in charts.values() if chart.x == "Step"} == {steps[-1]}, "one axis for all"
        return [x for x, _ in charts["loss"].series[0].points]

    assert curve(10, 20, 24) == [10, 20]
    assert curve(10, 20, 25) == [10, 20, 25]
    assert curve(10, 13) == [10]
    assert curve(7) == [7]


def test_thinning_keeps_the_ends_and_the_extremes():
    curve = [(float(step), 1.0) for step in range(10_000)]
    curve[4321] = (4321.0, 50.0)
    curve[7000] = (7000.0, -50.0)
    found = thinned(curve, 100)
    assert len(found) <= 100
    assert {(0.0, 1.0), (4321.0, 50.0), (7000.0, -50.0), (9999.0, 1.0)} <= set(found)
    assert found == sorted(found)
    assert thinned(curve[:50], 100) == curve[:50]


def test_time_away_is_no_time_of_the_run():
    history = History()
    log = {"step": 1, "loss": 1.0, "tokens_per_second": 5.0, "memory": 0, "seconds_left": 1.0}
    history.add("started", {"steps": 4}, 0.0)
    history.add("log", log, 60.0)
    history.add("slept", {"step": 2, "seconds": 3600.0, "sure": True}, 3720.0)
    history.add("log", log, 3780.0)
    history.add("resumed", {"step": 2, "changes": []}, 90_000.0)
    history.add("log", log, 90_060.0)
    assert [each["seconds"] for each in history.logs] == [60.0, 180.0, 240.0]
    speed = next(chart for chart in run_charts(history) if chart.id == "speed")
    assert speed.x == "Time (min)"
    assert [(mark.at, mark.text) for mark in speed.marks] == [
        (2.0, "the computer slept for 1 h 0 min"),
        (3.0, "resumed from step 2"),
    ]
    assert not any(chart.id == "memory" for chart in run_charts(history)), "a device that does not tell has no curve"


def test_a_line_that_a_crash_cut_off_is_left_out(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text(
        '{"event": "started", "time": "2026-11-16T10:00:00+00:00", "steps": 9}\n'
        '{"event": "log", "time": "2026-11-16T10:00:01+00:00", "step": 1, "loss": "nan", "seconds_left": 1}\n'
        '{"event": "lo'
    )
    history = read_history(path)
    assert (history.steps, len(history.logs)) == (9, 1)
    assert run_charts(history) == [], "what is no number is not drawn"
    assert run_page(make_run("failed"), history, None, "q").count(">NaN<") == 1
    assert read_history(tmp_path / "none").logs == []


def compared(name: str, status: str = "finished", report: Report | None = None, **changes) -> ComparedRun:
    return ComparedRun(name, make_run(status, **changes), make_history(), report)


def test_few_runs_stand_side_by_side_and_many_below_each_other():
    few = compare_page([compared(name, report=make_report()) for name in "ab"])
    results = few[few.index("Results") : few.index("Curves")]
    assert '<abbr title="Accuracy, validation">Accuracy</abbr> <small>validation</small></td>' in results
    assert "sortable" not in results
    wide = make_report(results={**make_report().results, **{f"eval_metric{number}": 0.5 for number in range(9)}})
    many = compare_page([compared(name, report=wide) for name in "abcdefg"])
    results = many[many.index("Results") : many.index("Curves")]
    assert '<abbr title="Accuracy, validation">Accuracy</abbr> <small>validation</small></th>' in results
    assert "sortable" in results


def test_beside_each_other_the_baseline_is_seen_and_never_starred():
    poor = {**make_report().results, "eval_accuracy": 0.3}
    runs = [compared("a", report=make_report()), compared("b", report=make_report(results=poor)),
            compared("c", "interrupted")]  # fmt: skip
    page = compare_page(runs)
    assert "★ 0.9000<br><small" in page
    assert '0.3000<br><small class="poor">baseline 0.4000' in page
    assert "Red: the same answer to every row" in page
    assert "1:00 min<br><small" in page, "the interrupted run has taken time too"
    assert 'interrupted</span><small class="name">step 30<' in page
    only_poor = compare_page([runs[1], compared("d", report=make_report(results={**poor, "eval_accuracy": 0.2}))])
    assert "★ 0.3000" not in only_poor
    others = compare_page([*runs, compared("d", report=make_report(), fingerprint="other rows")])
    assert "★ 0.9000" not in others, "scores on other rows are not better or worse"


def test_several_runs_show_where_they_differ():
    other = make_run(recipe=Recipe(data="rows.csv", seed=8, learning_rate=1e-3))
    report = make_report()
    runs = [
        ComparedRun("first", make_run(), make_history(), report),
        ComparedRun("second", other, make_history(), None),
    ]
    page = compare_page(runs)
    differing = page[page.index("Settings that differ") :]
    assert "--learning_rate" in differing
    assert "<td>7</td><td>8</td>" in differing
    assert "rows.csv" not in differing
    assert "Plans that differ" not in page
    assert page.index("0.9000") < page.index("Curves")
