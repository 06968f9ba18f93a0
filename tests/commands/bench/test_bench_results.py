"""A benchmark as a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from made_up import GPU, made_up_bench

from pippin.commands.bench.folder import as_json, free_folder
from pippin.commands.bench.results import HEAD_ONLY, TRAINING, read_bench
from pippin.errors import PippinError


def test_a_bench_goes_to_json_and_back():
    bench = made_up_bench({"cpu": 10.0, GPU: 1.0}, left_out=("something",), emulated=(GPU,))
    Path("bench.json").write_text(as_json(bench))
    assert read_bench("bench.json") == bench


def test_points_are_found_by_their_setting():
    bench = made_up_bench({"cpu": 10.0, GPU: 1.0})
    assert [p.setting.batch for p in bench.of(TRAINING, device=GPU)] == [16, 32]
    (head,) = bench.of(HEAD_ONLY, device="cpu")
    assert head.speeds() == (600, 600, 600)


def test_spread_is_that_of_the_repeats():
    point = made_up_bench().points[0]
    slow, middle, fast = point.speeds()
    assert slow < middle < fast
    assert point.spread == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "there is no such file"),
        ("{", "cannot be read as JSON"),
        ("[1]", "was not written by `pippin bench`"),
        ('{"format": 99, "points": [], "pippin": "9.9"}', "by a newer Pippin"),
        ('{"format": 1, "points": []}', "is damaged"),
        ('{"format": 1, "points": 3}', "is damaged"),
    ],
)
def test_other_files_are_refused(content, words):
    if content is not None:
        Path("x.json").write_text(content)
    with pytest.raises(PippinError, match=words):
        read_bench("x.json")


@pytest.mark.parametrize("time", [0, 0.0, -1.0, None, "1", float("inf")])
def test_times_that_are_none(time):
    data = json.loads(as_json(made_up_bench()))
    data["points"][3]["seconds"][0] = time
    Path("bench.json").write_text(json.dumps(data))
    with pytest.raises(PippinError, match="bench.json is damaged"):
        read_bench("bench.json")


def test_words_of_a_stranger_do_nothing_in_the_page():
    from markdown_it import MarkdownIt

    from pippin.commands.bench.views.document import bench_document, comparison_document
    from pippin.commands.bench.views.markdown import markdown

    evil = made_up_bench(model="<script>x</script> [a](http://x.test) | b\n\n# c", left_out=("<img src=x>",))
    for document in (bench_document(evil), comparison_document([evil, made_up_bench()])):
        text = markdown(document, [])
        kinds = {token.type for token in MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)}
        inline = {
            child.type
            for token in MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
            for child in token.children or []
        }
        assert not (kinds | inline) & {"html_block", "html_inline", "link_open", "image"}
        assert text.count("\n# ") == 0


def test_folders_in_use_are_left_alone(tmp_path):
    assert free_folder(None) == Path("runs/bench")
    Path("runs/bench").mkdir(parents=True)
    assert free_folder(None) == Path("runs/bench-2")
    Path("mine").mkdir()
    assert free_folder("mine") == Path("mine")
    Path("mine/thesis.txt").write_text("")
    with pytest.raises(PippinError, match="not empty"):
        free_folder("mine")


def test_keys_of_later_versions_do_no_harm():
    data = json.loads(as_json(made_up_bench()))
    data["points"][0]["moon"] = "full"
    Path("bench.json").write_text(json.dumps(data))
    assert read_bench("bench.json") == made_up_bench()
