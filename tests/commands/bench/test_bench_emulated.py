"""The emulated Apple GPU: measured only where it is named, and marked as such."""

from __future__ import annotations

import pytest

from pippin.commands.bench import largest
from pippin.commands.bench.benchmark import choose_devices
from pippin.commands.bench.largest import largest_batch
from pippin.commands.bench.results import TRAINING, read_bench
from pippin.commands.bench.schedule import Stopwatch
from pippin.commands.bench.subject import found
from pippin.commands.bench.views import bar_charts as bench_charts
from pippin.machine.drivers.mps import MpsBackend
from pippin.machine.probe import probe

pytestmark = pytest.mark.emulated_mps


def test_it_is_left_alone_unless_it_is_named(mps):
    machine = probe()
    assert "mps" in [device.kind for device in machine.devices]
    assert choose_devices((), machine) == ("cpu",)
    assert choose_devices(("mps", "cpu"), machine) == ("mps", "cpu")


def test_its_figures_are_marked(run_cli, tiny_model, word_file, mps, monkeypatch):
    monkeypatch.setattr(largest, "CAP", 16)
    monkeypatch.setattr(bench_charts, "write_charts", lambda benches, folder: [])
    code, out, err = run_cli(
        "bench", word_file, "--model_name_or_path", tiny_model, "--minutes", "0.01", "--repeats", "1", "--device", "mps"
    )
    assert code == 0, err
    bench = read_bench("runs/bench/bench.json")
    assert bench.emulated == ("mps",)
    assert bench.of(TRAINING, device="mps")
    assert "mps is emulated" in out
    assert "only an emulated device was measured" in out


@pytest.mark.parametrize(("is_told", "words"), [(True, "rows would need about"), (False, "ran out of memory")])
def test_the_largest_batch_ends_with_the_memory(tiny_model, word_file, mps, monkeypatch, is_told, words):
    if not is_told:
        monkeypatch.setattr(MpsBackend, "memory_budget", lambda self: None)
    with (
        found(str(tiny_model), str(word_file), False, probe()) as subject,
        mps.memory_limit(48 * 2**20),
    ):
        answer = largest_batch(subject, "mps", 64, False, Stopwatch())
    assert 8 <= answer.batch < 4096
    assert words in answer.why
