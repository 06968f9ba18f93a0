"""`pippin preflight` as it is typed."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from pippin.commands.preflight import run as forecasting
from pippin.commands.preflight.answer import Measured
from pippin.commands.preflight.compare import compare
from pippin.commands.preflight.measuring import measured
from pippin.machine.chips import CHIPS, gpu_budget
from pippin.machine.faults import MacFacts
from pippin.machine.machine import Machine
from pippin.machine.traits import apple_gpu, traits_of
from pippin.records import to_json


@pytest.fixture
def preflight(run_cli, word_file, tiny_model):
    def call(*arguments: object, code: int = 0) -> str:
        found, out, err = run_cli("preflight", word_file, "--model_name_or_path", tiny_model, *arguments)
        assert found == code, err
        return out or err

    return call


def test_a_small_job_runs_and_fits_on_every_mac(preflight):
    out = preflight("--chip", "m1")
    assert "on Apple M1, 8 GPU cores, 8 GB · macOS" in out
    for words in (
        "runs    yes: all",
        "operators run on the GPU",
        "fits    yes: needs about",
        "of 5.3 GB",
        "time    about",
        " ms per step)",
        "estimated from",
        "disk    about",
    ):
        assert words in out


def test_json_holds_all_of_it(preflight):
    answer = json.loads(preflight("--chip=m2-max", "--gpu_cores=30", "--memory", 64, "--json"))
    assert answer["will"] is True
    assert answer["target"]["gpu_cores"] == 30
    assert answer["fits"]["budget"] == 48 * 2**30
    assert answer["fits"]["needed"] == sum(answer["fits"]["parts"].values())
    assert answer["runs"]["operators"]["findings"] == []
    assert answer["duration"]["low"] < answer["duration"]["likely"] < answer["duration"]["high"]


def test_what_cannot_be_is_said_with_the_way_out(preflight):
    out = preflight("--chip", "m1", "--torch", "2.15.0", "--macos", "14.5", code=1)
    assert "runs    no" in out
    assert "torch 2.15.0 needs macOS 15.0 or newer, but this Mac has 14.5" in out
    assert "pip install 'torch==2.14.*'" in out
    out = preflight("--chip", "m1", "--torch", "2.5.1", "--macos", "13.0")
    assert "isneginf" in out
    assert "pip install 'torch>=2.6.0'" in out
    assert "runs    no" in preflight("--chip", "m1", "--torch", "2.5.1", "--mps_fallback", "off", code=1)
    assert "needs macOS 14" in preflight("--chip", "m1", "--bf16", "--macos", "13.0", "--torch", "2.6.0", code=2)


def test_a_job_that_does_not_fit_names_settings_and_macs(preflight, monkeypatch):
    monkeypatch.setattr("pippin.commands.preflight.target.gpu_budget", lambda memory: memory // 2**30 * 2**16)
    out = preflight("--chip", "m1", "--per_device_train_batch_size", 8, code=1)
    assert "fits    no" in out
    for words in (
        "--freeze core: about",
        "--gradient_checkpointing: about",
        "micro-batch: 1, not 8",
        "as asked, it would need",
    ):
        assert words in out


def test_the_folder_of_a_run_stands_for_its_words(train, run_cli, word_file):
    train(word_file, "--max_steps", 2, "--per_device_train_batch_size", 4)
    code, out, err = run_cli("preflight", "run", "--chip", "m4", "--json")
    assert code == 0, err
    assert json.loads(out)["job"].startswith("words")


def test_mistakes_are_named_at_once(preflight):
    said = preflight("--memory", 8, "--measure", "--chart", "macs.gif", code=2)
    assert "--memory describes a Mac: name its chip" in said
    assert "--chart macs.gif: the name must end in .png" in said
    assert "Did you mean --chip m1-max?" in preflight("--chip", "m1-mx", code=2)
    assert "comes with 8, 16 GB" in preflight("--chip", "m1", "--memory", 12, code=2)
    assert "has at most 8" in preflight("--chip", "m1", "--gpu_cores", 9, code=2)
    assert "--measure runs on this computer" in preflight("--chip", "m1", "--measure", code=2)
    assert "there is no folder nowhere" in preflight("--page", "nowhere/macs.html", code=2)
    assert "--use_cpu: for a Mac that is not here" in preflight("--chip", "m1", "--use_cpu", code=2)
    assert "--gpu_cores: 'many' is not a whole number" in preflight("--chip", "m1", "--gpu_cores", "many", code=2)


def test_every_mac_side_by_side(preflight, monkeypatch):
    found = []

    def compare_once(job):
        found[:] = found or [compare(job)]
        return found[0]

    monkeypatch.setattr("pippin.commands.preflight.compare.compare", compare_once)  # the same question twice
    out = preflight("--compare", "--page", "macs.html", "--chart", "macs.png")
    page = Path("macs.html").read_text(encoding="utf-8")
    names = [f"{chip.name.removeprefix('Apple ')} ({chip.gpu_cores} cores)" for chip in CHIPS.values()]
    assert all(name in out and name in page for name in names)
    assert "None was measured by us on a Mac" in out
    assert " 0 s " not in out, "short times have digits"
    assert "It fits on every chip, at every batch size." in page
    assert "fits in 8 GB</td>" in page
    assert "default-src 'none'" in page, "nothing is asked for from outside"
    assert Path("macs.png").read_bytes().startswith(b"\x89PNG")
    assert preflight("--compare", "--json").count('"batch": 64') == len(CHIPS)


def test_what_does_not_fit_is_said_in_words():
    from pippin.commands.preflight.compare import BatchForecast, Comparison, Row
    from pippin.commands.preflight.views.chart import write_chart
    from pippin.commands.preflight.views.page import write_page

    cells = tuple(BatchForecast(batch, 60.0 * batch, 16 if batch == 8 else None) for batch in (8, 64))
    found = Comparison("评论 · <b>x</b>", "fp32", {8: 2**33, 64: 2**36}, (Row("Apple M1", 8, cells),), 1.5, "guessed")
    write_page(found, Path("macs.html"))
    page = Path("macs.html").read_text(encoding="utf-8")
    for words in (
        ">8.0 min<br>fits in 16 GB<",
        ">does not fit</td>",
        "It fits in 1 of 2 combinations",
        "Does not fit:",
    ):
        assert words in page
    assert "<b>x</b>" not in page
    assert page.count("up to ") == 1, "a shade for a time that does not fit is nowhere to be seen"
    write_chart(found, Path("macs.svg"))
    assert "</svg>" in Path("macs.svg").read_text()


def test_nothing_is_left_behind(preflight):
    before = set(os.listdir())
    preflight("--chip", "m1")
    assert set(os.listdir()) == before


def test_a_measured_step_corrects_the_estimate(preflight, monkeypatch):
    monkeypatch.setattr(forecasting, "measured", lambda job: Measured(100 * 2**20, 0.25))
    out = preflight("--measure")
    assert "tried   one step took 0.25 s and 100 MB" in out
    assert "measured on this computer" in out
    monkeypatch.setattr(forecasting, "measured", lambda job: Measured(None, None, "it died"))
    assert "tried   it died" in preflight("--measure", code=1)


def test_a_step_is_run_in_another_process(preflight):
    answer = json.loads(preflight("--measure", "--json"))
    assert answer["measured"]["trouble"] == ""
    assert answer["measured"]["step"] > 0
    assert answer["measured"]["peak"] > 2**20


class _Deadly:
    """Ends the process that unpacks it."""

    def __reduce__(self):
        return os._exit, (3,)


def test_a_process_that_dies_is_an_answer(planned_job):
    found = measured(replace(planned_job, config=_Deadly()))
    assert found.trouble == "the process of the step exited with code 3 and no result"


@pytest.fixture
def planned_job(word_file, tiny_model):
    from pippin.commands.planning import plan_job
    from pippin.recipe.reading import recipe_from
    from pippin.report.terminal import Terminal

    asked = {"train_file": str(word_file), "model_name_or_path": str(tiny_model), "do_train": True}
    return plan_job(recipe_from(asked).recipe, Terminal(quiet=True))


def test_training_refuses_what_cannot_fit(run_cli, word_file, tiny_model):
    asked = ["train", word_file, "--model_name_or_path", tiny_model, "--output_dir", "run", "--max_steps", 2]
    code, _, err = run_cli(*asked, "--memory_limit", 0.001)
    assert code == 2
    assert "this job does not fit into memory: it needs at least" in err
    assert not Path("run").exists()
    code, out, err = run_cli(*asked, "--memory_limit", 0.001, "--force")
    assert code == 0, err
    assert "memory: does not fit: needs about" in out


H200 = traits_of("cuda", "NVIDIA H200", memory_bytes=141 << 30, budget_bytes=139 << 30)
SERVER = Machine("Linux", "6.8", "x86_64", "3.12.3", "2.13.0", "5.22.2", 64, 2**40, (H200, traits_of("cpu", "Xeon")))


def test_any_computer_that_was_described(preflight):
    Path("server.json").write_text(json.dumps({"machine": to_json(SERVER)}))
    out = preflight("--machine", "server.json", "--max_steps", 100)
    for words in (
        "on NVIDIA H200, 64 CPU cores · torch 2.13.0 · bf16",
        "runs    yes",
        "of 139.0 GB",
        "time    unknown",
    ):
        assert words in out
    answer = json.loads(preflight("--machine=server.json", "--max_steps", 100, "--json"))
    assert (answer["target"]["is_here"], answer["target"]["device"], answer["duration"]) == (False, "cuda", None)
    assert answer["fits"]["needed"] == sum(answer["fits"]["parts"].values())
    assert "recorded steps" in answer["fits"]["parts"]
    on_cpu = json.loads(preflight("--machine=server.json", "--use_cpu", "--json"))
    assert (on_cpu["target"]["device"], on_cpu["fits"]["budget"]) == ("cpu", 0)
    assert on_cpu["target"]["name"] == "Xeon, 64 CPU cores"
    assert "--device mps: there is no mps device" in preflight("--machine", "server.json", "--device", "mps", code=2)


def test_a_card_of_which_only_the_size_is_known(preflight):
    card = replace(H200, budget_bytes=None)
    Path("card.json").write_text(json.dumps(to_json(replace(SERVER, devices=(card, *SERVER.devices[1:])))))
    assert "of 141.0 GB" in preflight("--machine", "card.json")


def test_a_described_mac_is_a_mac(preflight):
    gpu = apple_gpu(MacFacts("2.12.0", "15.0", "Apple M1"), 5 << 30, budget_bytes=5 << 30)
    mac = replace(SERVER, system="Darwin", release="15.0", torch="2.12.0", devices=(gpu, traits_of("cpu", "Apple M1")))
    Path("mac.json").write_text(json.dumps(to_json(mac)))
    out = preflight("--machine", "mac.json")
    for words in ("on Apple M1 GPU", "macOS 15.0", "of 5.0 GB", "time    about"):
        assert words in out


def test_a_described_computer_has_small_cards_too(preflight):
    small = replace(SERVER, devices=(replace(H200, budget_bytes=97 << 20), *SERVER.devices[1:]))
    Path("small.json").write_text(json.dumps(to_json(small)))
    asked = ["--machine", "small.json", "--max_steps", 100, "--per_device_train_batch_size", 32, "--json"]
    answer = json.loads(preflight(*asked))
    assert answer["fits"]["as_asked"] > answer["fits"]["budget"] >= answer["fits"]["needed"]
    assert answer["fits"]["settings"]


def test_machines_that_cannot_be(preflight):
    Path("broken.json").write_text("[1]")
    assert "not a description from `pippin doctor --json`" in preflight("--machine", "broken.json", code=2)
    both = preflight("--machine", "broken.json", "--chip", "m1", "--measure", code=2)
    assert "--chip and --machine exclude each other" in both
    assert "--measure runs on this computer: leave out --machine" in both


def test_budgets():
    assert gpu_budget(8 * 2**30) == 8 * 2**30 * 2 // 3
    assert gpu_budget(64 * 2**30) == 48 * 2**30
