"""What is made of a benchmark: the sentence, the tables, the page, the charts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_up import GPU, made_up_bench, point

from pippin.commands.bench.results import INFERENCE, TRAINING, TRANSFORMERS
from pippin.commands.bench.views import bar_charts as bench_charts
from pippin.commands.bench.views.markdown import compared_page, page
from pippin.commands.bench.views.panels import memory_panels, speed_up_panels, throughput_panels
from pippin.commands.bench.views.sentence import sentence
from pippin.commands.bench.views.series import machine_words, series_of
from pippin.commands.bench.views.sheets import compared_sheets, sheets
from pippin.commands.bench.views.table import BenchProgress, differences, notes, show_bench


def test_the_faster_device_is_recommended_with_its_reasons():
    said = sentence(made_up_bench({GPU: 1.0, "cpu": 12.0}))
    assert said.startswith(f"On this machine, for all-MiniLM-L6-v2, use {GPU} (NVIDIA H200): it trains 12.0 times as")
    assert "answers 12.0 times as fast as cpu" in said
    assert "1000 rows are trained in 4.0 s (accuracy 0.90)" in said


def test_the_cpu_is_recommended_where_the_gpu_is_slower():
    assert "use cpu (Intel Xeon): it trains 3.0 times" in sentence(made_up_bench({GPU: 3.0, "cpu": 1.0}))


def test_each_device_counts_at_the_batch_that_suits_it():
    speeds = {(GPU, 32): 0.1, (GPU, 64): 1.0, ("cpu", 32): 2.0, ("cpu", 64): 1.5}
    points = tuple(point(TRAINING, device, batch, (seconds,)) for (device, batch), seconds in speeds.items())
    assert "it trains 15.0 times as fast as cpu" in sentence(made_up_bench({GPU: 1.0, "cpu": 1.0}, points=points))


def test_devices_of_one_speed():
    assert "it is about as fast as cpu" in sentence(made_up_bench({GPU: 1.0, "cpu": 1.05}))


def test_the_only_device():
    said = sentence(made_up_bench())
    assert "use cpu (Intel Xeon): there is no other" in said
    assert "the largest batch that was measured, 64, is the fastest (865 samples/s)" in said


def test_no_larger_batch_than_needed_is_recommended():
    points = tuple(point(INFERENCE, "cpu", batch, (0.01 * max(batch, 8),)) for batch in (1, 8, 64))
    assert "a batch of 8 is enough for full speed (100 samples/s)" in sentence(made_up_bench(points=points))


def test_an_emulated_device_is_never_recommended():
    both = made_up_bench({"mps": 1.0, "cpu": 5.0}, emulated=("mps",))
    assert "use cpu" in sentence(both)
    alone = made_up_bench({"mps": 1.0}, emulated=("mps",))
    assert "Nothing can be recommended: only an emulated device" in sentence(alone)


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
    assert "emulated" in page(bench, []).split("\n## ")[1]
    assert "emulated" in machine_words(bench)


def test_tables_hold_every_figure():
    bench = made_up_bench({GPU: 1.0, "cpu": 12.0})
    first, _, training, head, largest = sheets(bench)
    assert first.heads == ("", "time", "memory", "128 tokens, fp32", "32 tokens, fp32", "128 tokens, bf16")
    assert first.rows[1] == ("batch 8", "18.0 ms", "256 MB", "444 (370–494)", "2000", "800")
    assert training.rows[0] == ("batch 16", GPU, "fp32", "4.2 s", "476 (455–500)", "256 MB", "0.900")
    assert head.title == "training of the head alone: 1 times 1000 rows"
    assert largest.rows == (("training", "cpu", "512", "an estimate"),)


def test_what_did_not_fit_stands_in_the_table_and_in_the_chart():
    bench = made_up_bench()
    failed = point(TRAINING, "cpu", 64, (), trouble="out of memory", memory=None)
    bench = replace(bench, points=(*bench.points, failed))
    training = next(sheet for sheet in sheets(bench) if sheet.title.startswith("training on"))
    assert "out of memory" in training.rows[-1]
    panel = next(panel for panel in throughput_panels([bench]) if panel.title.startswith("Training on"))
    assert panel.groups == ("16", "32", "64")
    assert panel.bars[0][1][-1].word == "out of memory"


def test_speed_up_is_against_the_cpu():
    baseline, panels = speed_up_panels([made_up_bench({GPU: 1.0, "cpu": 12.0})])
    assert baseline == "cpu (Intel Xeon)"
    assert [panel.title.split(",")[0].split(" on ")[0] for panel in panels] == [
        "Inference",
        "Training",
        "Training of the head alone",
    ]
    values = {series.device: [bar.value for bar in bars] for series, bars in panels[0].bars}
    assert values == {GPU: pytest.approx([12, 12, 12]), "cpu": pytest.approx([1, 1, 1])}


def test_the_only_device_is_compared_with_the_trainer_where_that_ran():
    bench = made_up_bench()
    assert speed_up_panels([bench]) == ("", [])
    slower = [point(TRAINING, "cpu", batch, (10.0,), library=TRANSFORMERS) for batch in (16, 32)]
    baseline, (panel,) = speed_up_panels([replace(bench, points=(*bench.points, *slower))])
    assert baseline == "cpu (Intel Xeon), HF Trainer"
    assert [bar.value for bar in panel.bars[0][1]] == pytest.approx([10 / 2.1] * 2, rel=0.06)


def test_panels_by_length_and_precision():
    panels = {panel.across: panel for panel in throughput_panels([made_up_bench({GPU: 1.0, "cpu": 12.0})])}
    assert panels["tokens"].groups == ("32", "128")
    assert panels["precision"].groups == ("fp32", "bf16")
    assert panels["tokens"].title == "Inference by length, batch 8, fp32"


def test_memory_is_left_out_where_nobody_tells():
    bench = made_up_bench()
    panels = memory_panels([bench])
    assert [(panel.unit, panel.bars[0][1][0].value) for panel in panels] == [("MB at most", 256.0)] * 3
    points = tuple(replace(point, memory=None) for point in bench.points)
    assert memory_panels([replace(bench, points=points)]) == []


def test_charts_are_written_as_png_and_svg(tmp_path, monkeypatch):
    monkeypatch.setattr(bench_charts, "throughput_panels", lambda benches: [])  # drawing takes a second
    bench = made_up_bench({GPU: 1.0, "cpu": 50.0}, emulated=(GPU,))
    assert bench_charts.write_charts([bench], tmp_path) == ["speed_up.png", "memory.png"]
    assert (tmp_path / "memory.png").read_bytes().startswith(b"\x89PNG")
    assert "</svg>" in (tmp_path / "speed_up.svg").read_text()


def test_emulated_is_said_below_the_charts():
    assert "Emulated: the CPU computes" in bench_charts._footer([made_up_bench({"mps": 1.0}, emulated=("mps",))])
    assert "Emulated" not in bench_charts._footer([made_up_bench()])


def test_machines_side_by_side():
    one, other = made_up_bench({GPU: 1.0, "cpu": 12.0}), made_up_bench({"cpu": 3.0}, data="reviews")
    inference, *_ = compared_sheets([one, other])
    assert inference.heads == ("", f"1: {GPU} (NVIDIA H200)", "1: cpu (Intel Xeon)", "2: cpu (Intel Xeon)")
    assert differences([one, other]) == ["these are not the same data: questions, reviews."]
    assert differences([one, one]) == []
    text = compared_page([one, other], ["throughput.png"])
    assert "2. Intel Xeon, 8 cores" in text
    assert "![throughput](throughput.png)" in text
    baseline, panels = speed_up_panels([one, other])
    assert baseline == "1: cpu (Intel Xeon)"
    assert [bars[0].value for _, bars in panels[0].bars] == pytest.approx([12, 1, 4])


def test_the_page_begins_with_the_sentence():
    bench = made_up_bench(left_out=("inference, fp32, 512 tokens: batches of 64",))
    lines = page(bench, ["throughput.png"]).splitlines()
    assert lines[2] == sentence(bench)
    assert any("512 tokens: batches of 64" in line for line in lines)
    assert any(line.startswith("| batch 8 | 18.0 ms | 256 MB |") for line in lines)


def test_figures_that_are_not_to_be_trusted_are_marked():
    steady = tuple(point(INFERENCE, "cpu", batch, (1.0, 1.1, 1.2)) for batch in (1, 8))
    assert notes(made_up_bench(points=steady)) == []
    wild = notes(made_up_bench(points=(*steady, point(INFERENCE, "cpu", 16, (1.0, 3.0)))))
    assert "up to 100% apart" in wild[0]
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
