"""What is made of a benchmark: the sentence, the tables, the page, the charts."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from made_up import GPU, made_up_bench, point

from pippin.commands.bench.results import HEAD_ONLY, INFERENCE, TRAINING, TRANSFORMERS
from pippin.commands.bench.views import bar_charts as bench_charts
from pippin.commands.bench.views.document import bench_document, comparison_document, differences, notes
from pippin.commands.bench.views.markdown import markdown
from pippin.commands.bench.views.page import bench_page
from pippin.commands.bench.views.panels import BarChart, charts_of
from pippin.commands.bench.views.sentence import compared_sentence, sentence
from pippin.commands.bench.views.series import machine_words, series_of
from pippin.commands.bench.views.sheets import compared_sheets, sheets
from pippin.commands.bench.views.table import BenchProgress, show_bench


def panels_of(name, *benches):
    return next((chart.panels for chart in charts_of(benches) if chart.name == name), ())


def test_the_faster_device_is_recommended_with_its_reasons():
    said = sentence(made_up_bench({GPU: 1.0, "cpu": 12.0}))
    assert said.startswith(f"On this machine, use {GPU} (NVIDIA H200) for all-MiniLM-L6-v2: it trains 12.0 times as")
    assert "fast as cpu and predicts 12.0 times as fast." in said
    assert "Training on 1,000 rows at batch size 16 takes 4.2 s (accuracy 0.90), training the head only 1.0 s." in said


def test_the_sentence_and_the_table_say_the_same_times():
    times = (10.4, 10.2, 10.1)
    points = [replace(point(TRAINING, "cpu", 16, times), whole_seconds=times)]
    points.append(replace(point(HEAD_ONLY, "cpu", 16, (0.0312,)), whole_seconds=(0.0312,)))
    bench = made_up_bench(points=tuple(points))
    assert "takes 10.2 s, training the head only 31 ms." in sentence(bench)
    assert [row[3] for sheet in sheets(bench) for row in sheet.rows if len(row) > 4] == ["10.2 s", "31 ms"]


def test_the_cpu_is_recommended_where_the_gpu_is_slower():
    assert "use cpu (Intel Xeon) for all-MiniLM-L6-v2: it trains 3.0 times" in sentence(
        made_up_bench({GPU: 3.0, "cpu": 1.0})
    )


def test_each_device_counts_at_the_batch_that_suits_it():
    speeds = {(GPU, 32): 0.1, (GPU, 64): 1.0, ("cpu", 32): 2.0, ("cpu", 64): 1.5}
    points = tuple(point(TRAINING, device, batch, (seconds,)) for (device, batch), seconds in speeds.items())
    assert "it trains 15.0 times as fast as cpu" in sentence(made_up_bench({GPU: 1.0, "cpu": 1.0}, points=points))


def test_devices_of_one_speed():
    assert "it is about as fast as cpu" in sentence(made_up_bench({GPU: 1.0, "cpu": 1.05}))


def test_the_only_device():
    said = sentence(made_up_bench())
    assert "use cpu (Intel Xeon) for all-MiniLM-L6-v2: it is the only device." in said
    assert "a batch size of 64 was the fastest, and the largest measured (865 samples/s)" in said


def test_no_larger_batch_than_needed_is_recommended():
    seconds = {1: 0.08, 8: 0.082, 64: 0.64}
    points = tuple(point(INFERENCE, "cpu", batch, (each,)) for batch, each in seconds.items())
    said = sentence(made_up_bench(points=points))
    assert "a batch size of 8 is enough for full speed (97.6 samples/s)" in said, "its own speed, not the highest"


def test_an_emulated_device_is_never_recommended():
    both = made_up_bench({"mps": 1.0, "cpu": 5.0}, emulated=("mps",))
    assert "use cpu" in sentence(both)
    alone = made_up_bench({"mps": 1.0}, emulated=("mps",))
    assert "No device can be recommended: only an emulated device" in sentence(alone)


def test_an_interrupted_benchmark_says_so():
    assert "interrupted" in sentence(made_up_bench(complete=False))
    assert "nothing was measured" in sentence(made_up_bench(points=(), complete=False))


def test_emulated_is_marked_everywhere(screen):
    bench = made_up_bench({"mps": 1.0, "cpu": 5.0}, emulated=("mps",))
    terminal, out = screen(width=160)
    show_bench(bench, terminal)
    assert "mps is emulated" in out.getvalue()
    assert all("emulated" in sheet.title for sheet in sheets(bench)[:1])
    assert any("mps, emulated" in row for sheet in sheets(bench) for row in sheet.rows)
    assert "emulated" in series_of([bench])[0].label
    assert "emulated" in markdown(bench_document(bench), []).split("\n## ")[1]
    assert "emulated" in machine_words(bench)


def test_tables_hold_every_figure():
    bench = made_up_bench({GPU: 1.0, "cpu": 12.0})
    first, _, training, head, largest = sheets(bench)
    assert first.heads == ("batch size", "time", "memory", "128 tokens, fp32", "32 tokens, fp32", "128 tokens, bf16")
    assert first.rows[1] == ("8", "18.0 ms", "256 MB", "444 (370–494)", "2,000", "800")
    assert training.rows[0] == ("16", GPU, "fp32", "4.2 s", "476 (455–500)", "256 MB", "0.900")
    assert head.title == "Training the head only, 1 epoch of 1,000 rows"
    assert largest.rows == (("the whole model", "cpu", "512", "an estimate"),)
    assert training.numbers == {0, 3, 4, 5, 6}, "words stand to the left"


def test_what_did_not_fit_stands_in_the_table_and_in_the_chart():
    bench = made_up_bench()
    failed = point(TRAINING, "cpu", 64, (), trouble="out of memory", memory=None)
    bench = replace(bench, points=(*bench.points, failed))
    training = next(sheet for sheet in sheets(bench) if sheet.title.startswith("Training on"))
    assert "out of memory" in training.rows[-1]
    panel = next(panel for panel in panels_of("throughput", bench) if panel.title.startswith("Training on"))
    assert panel.groups == ("16", "32", "64")
    assert panel.bars[0][1][-1].word == "out of memory"


def test_speed_up_is_against_the_cpu():
    panels = panels_of("speed_up", made_up_bench({GPU: 1.0, "cpu": 12.0}))
    assert {panel.baseline for panel in panels} == {"cpu (Intel Xeon)"}
    assert [panel.title.split(",")[0].split(" on ")[0] for panel in panels] == [
        "Inference",
        "Training",
        "Training the head only",
    ]
    values = {series.device: [bar.value for bar in bars] for series, bars in panels[0].bars}
    assert values == {GPU: pytest.approx([12, 12, 12]), "cpu": pytest.approx([1, 1, 1])}


def test_the_only_device_is_compared_with_the_trainer_where_that_ran():
    bench = made_up_bench()
    assert panels_of("speed_up", bench) == ()
    slower = [point(TRAINING, "cpu", batch, (10.0,), library=TRANSFORMERS) for batch in (16, 32)]
    bench = replace(bench, points=(*bench.points, *slower), padded_to=128)
    (panel,) = panels_of("speed_up", bench)
    assert panel.baseline == "cpu (Intel Xeon), HF Trainer, padded to 128"
    assert charts_of([bench])[0].title.endswith("speed compared with cpu (Intel Xeon), HF Trainer, padded to 128")
    assert "HF Trainer, padded to 128" in {row[2] for row in sheets(bench)[1].rows}
    assert [bar.value for bar in panel.bars[0][1]] == pytest.approx([10 / 2.1] * 2, rel=0.06)


def test_panels_by_length_and_precision():
    panels = {panel.across: panel for panel in panels_of("throughput", made_up_bench({GPU: 1.0, "cpu": 12.0}))}
    assert panels["tokens per row"].groups == ("32", "128")
    assert panels["precision"].groups == ("fp32", "bf16")
    assert panels["tokens per row"].title == "Inference by length, batch size 8, fp32"


def test_memory_is_left_out_where_nobody_tells():
    bench = made_up_bench()
    panels = panels_of("memory", bench)
    assert [(panel.unit, panel.bars[0][1][0].value) for panel in panels] == [("peak memory (MB)", 256.0)] * 3
    points = tuple(replace(point, memory=None) for point in bench.points)
    assert panels_of("memory", replace(bench, points=points)) == ()


def test_charts_are_written_as_png_and_svg(tmp_path, monkeypatch):
    bench = made_up_bench({GPU: 1.0, "cpu": 50.0}, emulated=(GPU,))
    speed_up, _, memory = charts_of([bench])
    monkeypatch.setattr(bench_charts, "charts_of", lambda benches: [speed_up, memory])  # drawing takes a second
    assert bench_charts.write_charts([bench], tmp_path) == ["speed_up.png", "memory.png"]
    assert (tmp_path / "memory.png").read_bytes().startswith(b"\x89PNG")
    assert "</svg>" in (tmp_path / "speed_up.svg").read_text()


def test_emulated_is_said_below_the_charts():
    chart = BarChart("memory", "", "", ())
    emulated = bench_charts.footer(chart, [made_up_bench({"mps": 1.0}, emulated=("mps",))])
    assert "Emulated: the CPU does the computing" in "\n".join(emulated)
    assert "Emulated" not in "\n".join(bench_charts.footer(chart, [made_up_bench()]))


def test_machines_side_by_side():
    one, other = made_up_bench({GPU: 1.0, "cpu": 12.0}), made_up_bench({"cpu": 3.0}, data="reviews")
    inference, *_ = compared_sheets([one, other])
    assert inference.heads == ("batch size", f"1: {GPU} (NVIDIA H200)", "1: cpu (Intel Xeon)", "2: cpu (Intel Xeon)")
    assert differences([one, other]) == ["The machines were measured with different data: questions / reviews."]
    assert differences([one, one]) == []
    text = markdown(comparison_document([one, other]), ["throughput.png"])
    assert "2: Intel Xeon, 8 cores" in text
    assert "![throughput](throughput.png)" in text
    panels = panels_of("speed_up", one, other)
    assert panels[0].baseline == "1: cpu (Intel Xeon)"
    assert [bars[0].value for _, bars in panels[0].bars] == pytest.approx([12, 1, 4])


def test_the_page_begins_with_the_sentence():
    bench = made_up_bench(left_out=("inference with 512 tokens in fp32 (batch sizes 64)",))
    lines = markdown(bench_document(bench), ["throughput.png"]).splitlines()
    assert lines[2] == f"**{sentence(bench)}**"
    assert any("512 tokens in fp32 (batch sizes 64)" in line for line in lines)
    assert any(line.startswith("| 8 | 18.0 ms | 256 MB |") for line in lines)


def test_the_web_page_has_every_bar_with_its_unit_and_legend():
    bench = made_up_bench({"mps": 1.0, "cpu": 4.0}, emulated=("mps",), model="<b>x</b>")
    failed = point(TRAINING, "cpu", 64, (), trouble="out of memory", memory=None)
    document = bench_document(replace(bench, points=(*bench.points, failed)))
    page = bench_page(document)
    bars = [bar for chart in document.charts for panel in chart.panels for _, bars in panel.bars for bar in bars if bar]
    legends = sum(len(panel.bars) for chart in document.charts for panel in chart.panels)
    assert page.count("<rect ") == len(bars) + legends
    assert "<h2>Samples per second</h2>" in page, "the model's name stands above all once"
    for words in ("samples/s</text>", "peak memory (MB)</text>", "times as fast</text>", "batch size</text>",
                  "1× = cpu (Intel Xeon)", ">out of memory</text>", "mps (Apple M3 GPU), emulated",
                  sentence(bench).replace("<b>x</b>", "&lt;b&gt;x&lt;/b&gt;")):  # fmt: skip
        assert words in page
    assert "<b>x</b>" not in page
    assert "default-src 'none'" in page, "nothing is asked for from outside"


def test_colours_stay_with_their_device():
    both = bench_page(bench_document(made_up_bench({GPU: 1.0, "cpu": 4.0})))
    alone = bench_page(bench_document(made_up_bench({"cpu": 4.0})))
    assert set(re.findall(r'fill="var\(--(\w+)\)"', both)) == {"third", "second"}
    assert set(re.findall(r'fill="var\(--(\w+)\)"', alone)) == {"third"}


def test_the_fastest_of_several_machines_is_named():
    one = made_up_bench({"mps": 0.1, "cpu": 12.0}, emulated=("mps",))
    said = compared_sentence([one, made_up_bench({GPU: 1.0})])
    assert said.startswith(
        f"Training is fastest on 2: {GPU} (NVIDIA H200): 12.0 times as fast as on 1: cpu (Intel Xeon)."
    )
    alike = made_up_bench({GPU: 1.0})
    assert compared_sentence([alike, alike]).startswith("Training is about as fast on all of them.")
    assert "nothing to compare" in compared_sentence([made_up_bench(points=())])


def test_a_title_is_never_cut():
    from pippin.commands.charts import make_figure

    title = (
        "a-very-long-organisation/a-very-long-model-name: speed compared with cpu (AMD EPYC), HF Trainer, padded to 128"
    )
    figure = make_figure(6.4, 3.6, title, ["footer " * 60])
    figure.draw_without_rendering()
    for text in figure.texts:
        box = text.get_window_extent()
        assert box.x1 <= figure.bbox.x1
        assert box.y1 <= figure.bbox.y1
    assert figure.texts[0].get_text().replace("\n", " ") == title


def test_figures_that_are_not_to_be_trusted_are_marked():
    steady = tuple(point(INFERENCE, "cpu", batch, (1.0, 1.1, 1.2)) for batch in (1, 8))
    assert notes(made_up_bench(points=steady)) == []
    wild = notes(made_up_bench(points=(*steady, point(INFERENCE, "cpu", 16, (1.0, 3.0)))))
    assert "differ by up to 100%" in wild[0]
    once = notes(made_up_bench(points=(*steady, point(INFERENCE, "cpu", 16, (1.0,)))))
    assert "measured only once" in once[0]


def test_progress_in_a_pipe_is_a_line_for_each_round(screen):
    terminal, out = screen()
    settings = [p.setting for p in made_up_bench().of(INFERENCE)]
    with BenchProgress(terminal, 120) as progress:
        for repeat in (0, 1):
            for setting in settings:
                progress.show(setting, repeat, 2, 61.0)
    assert out.getvalue().splitlines() == [
        "inference · warm-up · about 1:01 left",
        "inference · repeat 1 of 2 · about 1:01 left",
    ]


def test_progress_in_a_terminal_is_a_bar(screen):
    terminal, out = screen(tty=True)
    with BenchProgress(terminal, 120) as progress:
        progress.show(made_up_bench().points[0].setting, 1, 3, 60.0)
    assert "batch 1 · 128 tokens fp32 · repeat 1 of 3 · about 1:00 left" in " ".join(out.getvalue().split())


def test_nothing_steers_the_terminal(screen):
    terminal, out = screen()
    show_bench(made_up_bench(model="evil \x1b[31m[bold]name"), terminal)
    assert "\x1b[31m" not in out.getvalue()
    assert "[bold]name" in out.getvalue()
