"""The doctor judges machines that we do not have, each described in a few lines."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pippin.machine.check import BAD, NOTE, OK, Check
from pippin.machine.doctor import examine, is_ready
from pippin.machine.faults import NUISANCES, MacFacts
from pippin.machine.machine import MISSING, Hub, Machine, is_offline
from pippin.machine.releases import macos_floor, newest_torch
from pippin.machine.traits import traits_of
from pippin.records import from_json, to_json

GB = 2**30
CPU = traits_of("cpu", "some processor")
GPU = traits_of("mps", "Apple GPU", memory_bytes=10 * GB, bf16=True)
HUB = Hub("https://huggingface.co", "~/.cache/huggingface/hub", True, True, models=3, answers=True)


def machine(**facts) -> Machine:
    """A healthy M4 MacBook, but for what is said."""
    healthy = {
        "system": "Darwin", "release": "15.1", "architecture": "arm64", "python": "3.12.4", "torch": "2.15.0",
        "transformers": "5.22.2", "cpu_cores": 10, "memory_bytes": 24 * GB, "devices": (GPU, CPU),
        "native_architecture": "arm64", "chip": "Apple M4", "torch_builds": ("mps", "cpu"),
        "packages": {"torch": "2.15.0", "tokenizers": "0.23.3"}, "free_disk_bytes": 200 * GB, "swap_used_bytes": 0,
        "torch_wheel": "macosx_11_0_arm64", "on_battery": False, "low_power_mode": False, "hub": HUB,
    }  # fmt: skip
    return Machine(**{**healthy, **facts})


def linux(**facts) -> Machine:
    return machine(
        **{
            "system": "Linux",
            "release": "6.8",
            "architecture": "x86_64",
            "native_architecture": "x86_64",
            "chip": "Xeon",
            "torch_builds": ("cpu",),
            "torch_wheel": "manylinux_2_28_x86_64",
            "devices": (CPU,),
            **facts,
        }  # fmt: skip
    )


def status(described: Machine) -> dict[str, str]:
    """Names of all that is not ok."""
    return {check.name: check.status for check in examine(described) if check.status != OK}


def finding(described: Machine, name: str) -> Check | None:
    return next((check for check in examine(described) if check.name == name), None)


def advice(described: Machine, name: str) -> str:
    check = next(check for check in examine(described) if check.name == name and check.status != OK)
    return f"{check.found} | {check.why} | {check.todo}"


def test_healthy_m4():
    assert status(machine()) == {}
    assert is_ready(examine(machine()))


def test_first_mac_that_could():
    """macOS 12.4 with arm64 Python and a torch of that time's line."""
    described = machine(release="12.4", chip="Apple M1", torch="2.5.1", packages={"torch": "2.5.1"})
    assert status(described) == {"bfloat16": NOTE, "known problem": NOTE, "known faults": NOTE}
    assert is_ready(examine(described))


def test_too_old_and_translated():
    """macOS 11.8 and x86_64 Python: the classic machine on which nothing works."""
    described = machine(release="11.8", architecture="x86_64", torch="2.2.2", devices=(CPU,), torch_builds=("cpu",))
    found = status(described)
    assert (found["Python"], found["macOS"], found["Apple GPU"]) == (BAD, BAD, BAD)
    assert "arch -arm64" in advice(described, "Python")
    assert "needs macOS 12.3" in advice(described, "macOS")
    assert not is_ready(examine(described))


def test_small_air_with_a_torch_too_new_for_its_macos():
    described = machine(release="14.6", torch="2.15.0", chip="Apple M1", memory_bytes=8 * GB, devices=(CPU,))
    assert status(described)["macOS"] == BAD
    assert "torch 2.15.0 needs macOS 15" in advice(described, "macOS")
    assert 'pip install "torch<=2.14"' in advice(described, "macOS")
    assert status(described)["memory"] == NOTE
    assert "5.3 GB" in advice(described, "memory")


def test_rosetta_conda():
    described = machine(architecture="x86_64", in_conda=True, devices=(CPU,), torch_builds=("cpu",))
    assert "CONDA_SUBDIR=osx-arm64 conda create" in advice(described, "Python")


def test_intel_mac():
    described = machine(
        architecture="x86_64", native_architecture="x86_64", chip="Intel Core i7", devices=(CPU,), torch_builds=("cpu",)
    )
    assert status(described)["processor"] == BAD
    assert "2.2.2" in advice(described, "processor")
    assert status(described)["Python"] == NOTE


def test_linux_with_a_card():
    card = traits_of("cuda", "NVIDIA A10", memory_bytes=24 * GB, bf16=True)
    assert status(linux(devices=(card, CPU), torch_builds=("cuda", "cpu"))) == {}
    broken = traits_of("cuda", "NVIDIA A10", memory_bytes=24 * GB, bf16=True, trouble="RuntimeError: no kernel image")
    assert "no kernel image" in advice(linux(devices=(broken, CPU), torch_builds=("cuda", "cpu")), "GPU")
    assert "nvidia-smi" in advice(linux(torch_builds=("cuda", "cpu")), "GPU")


def test_linux_without_a_card():
    assert status(linux()) == {"GPU": NOTE}
    assert is_ready(examine(linux()))


def test_gpu_that_fails_or_is_missing():
    failing = traits_of("mps", "Apple GPU", memory_bytes=10 * GB, trouble="RuntimeError: Placeholder storage")
    assert "Placeholder storage" in advice(machine(devices=(failing, CPU)), "Apple GPU")
    assert "not built" in advice(machine(devices=(CPU,), torch_builds=("cpu",)), "Apple GPU")
    assert "not available" in advice(machine(devices=(CPU,)), "Apple GPU")


@pytest.mark.parametrize(
    ("variables", "name", "expected"),
    [
        ({"PYTORCH_ENABLE_MPS_FALLBACK": "1"}, "fallback", None),
        ({"PYTORCH_ENABLE_MPS_FALLBACK": "0"}, "fallback", NOTE),
        ({"PYTORCH_ENABLE_MPS_FALLBACK": ""}, "fallback", NOTE),
        ({"PYTORCH_ENABLE_MPS_FALLBACK": "yes"}, "fallback", BAD),
        ({"PYTORCH_MPS_HIGH_WATERMARK_RATIO": "0.0"}, "memory limits", BAD),
        ({"PYTORCH_MPS_HIGH_WATERMARK_RATIO": "1.0"}, "memory limits", BAD),  # below the low one's default of 1.4
        ({"PYTORCH_MPS_HIGH_WATERMARK_RATIO": "1.5"}, "memory limits", None),
        ({"PYTORCH_MPS_LOW_WATERMARK_RATIO": "much"}, "memory limits", BAD),
        ({"HF_HUB_OFFLINE": "1"}, "Hub", NOTE),
    ],
)
def test_variables(variables, name, expected):
    assert status(machine(variables=variables)).get(name) == expected


@pytest.mark.parametrize(
    ("facts", "name", "expected"),
    [
        ({"python": "3.9.6"}, "Python version", BAD),
        ({"torch": MISSING, "packages": {}, "devices": ()}, "torch", BAD),
        ({"torch": "2.4.1"}, "torch", BAD),
        ({"packages": {"torch": "broken: ImportError: dlopen"}}, "torch", BAD),
        ({"packages": {"tokenizers": "broken: ImportError: wrong architecture"}}, "tokenizers", BAD),
        ({"packages": {"pyarrow": MISSING}}, "pyarrow", BAD),
        ({"transformers": "4.30.0"}, "transformers", BAD),
        ({"free_disk_bytes": GB // 2}, "disk", BAD),
        ({"free_disk_bytes": 3 * GB}, "disk", NOTE),
        ({"swap_used_bytes": 6 * GB}, "swap", NOTE),
        ({"on_battery": True}, "power", NOTE),
        ({"low_power_mode": True}, "low power mode", NOTE),
    ],
)
def test_the_rest(facts, name, expected):
    assert status(machine(**facts))[name] == expected
    assert len(advice(machine(**facts), name).split(" | ")[2]) > 5, "every finding says what to do"


@pytest.mark.parametrize(
    ("described", "expected", "words"),
    [
        (machine(torch_wheel="macosx_14_0_arm64"), OK, ""),
        (machine(torch_wheel="macosx_11_0_universal2"), OK, ""),
        (machine(torch_wheel="macosx_10_9_x86_64"), BAD, "built for another processor; this one is arm64"),
        (machine(torch_wheel="macosx_10_9_x86_64", architecture="x86_64"), BAD, "Fix Python first"),
        (machine(torch_wheel="manylinux_2_28_aarch64"), BAD, "built for Linux"),
        (linux(architecture="aarch64", native_architecture="aarch64", torch_wheel="manylinux_2_28_aarch64"), OK, ""),
        (linux(architecture="aarch64", native_architecture="aarch64"), BAD, "this one is arm64"),
        (linux(system="Windows", architecture="AMD64", native_architecture="AMD64", torch_wheel="win_amd64"), OK, ""),
    ],
)
def test_torch_wheel(described, expected, words):
    assert finding(described, "torch wheel").status == expected
    if words:
        assert words in advice(described, "torch wheel")
        assert "pip install --force-reinstall" in advice(described, "torch wheel")


@pytest.mark.parametrize("wheel", ["", "any"])
def test_builds_that_do_not_tell_are_not_judged(wheel):
    """conda's, and descriptions from before the doctor asked for it."""
    assert finding(machine(torch_wheel=wheel), "torch wheel") is None


def test_fallback_variable_that_comes_too_late():
    too_late = advice(machine(torch_was_loaded=True), "fallback")
    assert "too late" in too_late
    assert "os.environ['PYTORCH_ENABLE_MPS_FALLBACK'] = '1'" in too_late
    assert finding(machine(), "fallback").status == OK
    in_time = machine(torch_was_loaded=True, variables={"PYTORCH_ENABLE_MPS_FALLBACK": "1"})
    assert finding(in_time, "fallback").status == OK


def test_no_advice_is_given_that_cannot_work():
    old = {"architecture": "x86_64", "torch": "2.2.2", "torch_builds": ("cpu",), "devices": (CPU,)}
    assert "Fix Python first" in advice(machine(**old), "torch")
    intel = machine(**old, native_architecture="x86_64", chip="Intel(R) Core(TM) i7")
    assert "pip install" not in advice(intel, "torch"), "no wheel of that torch for Intel Macs"
    assert "pip install" not in advice(intel, "Apple GPU")
    assert "GPU" not in finding(intel, "memory").found
    assert {"bfloat16", "fallback", "memory limits"}.isdisjoint(check.name for check in examine(intel))


def test_a_gpu_that_is_neither_a_macs_nor_nvidias_is_told_of():
    """The emulated one, on Linux: training would run there, not on the CPU."""
    assert "Apple" in finding(linux(devices=(GPU, CPU)), "GPU").found


def test_every_device_is_judged_by_a_real_operation():
    assert "the right result" in finding(machine(), "CPU").found
    assert "the right result" in finding(linux(), "CPU").found
    damaged = replace(CPU, trouble="RuntimeError: illegal instruction")
    assert "illegal instruction" in advice(linux(devices=(damaged,)), "CPU")
    assert not is_ready(examine(machine(devices=(GPU, damaged))))


def test_disk_is_compared_with_what_runs_need():
    found = finding(machine(), "disk").found
    assert "200.0 GB free" in found
    assert "1.4 GB for MiniLM, 3.0 GB for BERT-base" in found


def test_the_gpus_budget_is_its_own_figure_where_it_is_known():
    assert "the GPU may use 10.0 GB" in finding(machine(), "memory").found
    assert "the GPU may use about 16.0 GB" in finding(machine(devices=(CPU,)), "memory").found
    assert "the GPU may use about 48.0 GB" in finding(machine(devices=(CPU,), memory_bytes=64 * GB), "memory").found


def test_memory_of_other_systems():
    assert finding(linux(), "memory").status == OK
    assert status(linux(memory_bytes=4 * GB))["memory"] == NOTE
    card = traits_of("cuda", "NVIDIA T4", memory_bytes=15 * GB, bf16=False)
    assert finding(linux(memory_bytes=4 * GB, devices=(card, CPU)), "memory").status == OK


def test_power_on_linux():
    assert "powerprofilesctl" in advice(linux(low_power_mode=True), "low power mode")
    assert "System Settings" in advice(machine(low_power_mode=True), "low power mode")


@pytest.mark.parametrize("state", [MISSING, "broken: ImportError: wrong architecture"])
def test_tokenizers_that_would_need_rust(state):
    text = advice(machine(packages={"tokenizers": state}), "tokenizers")
    assert "asks for Rust" in text
    assert "pip install" in text
    assert "Rust" not in advice(machine(packages={"pyarrow": state}), "pyarrow")


def test_model_cache():
    assert finding(machine(), "model cache").found == "~/.cache/huggingface/hub, 3 models"
    assert "not created yet" in finding(machine(hub=replace(HUB, cache_exists=False)), "model cache").found
    assert "export HF_HOME=" in advice(machine(hub=replace(HUB, cache_writable=False)), "model cache")


def test_hub():
    assert finding(machine(), "Hub").found == "https://huggingface.co can be reached"
    away = machine(hub=replace(HUB, answers=False, trouble="ConnectError: no route"))
    assert "cannot be reached (ConnectError: no route)" in advice(away, "Hub")
    assert "export HF_HUB_OFFLINE=1" in advice(away, "Hub")
    assert is_ready(examine(away)), "local files and the built-in model work without it"
    assert finding(machine(hub=replace(HUB, answers=None)), "Hub") is None
    assert "unset TRANSFORMERS_OFFLINE" in advice(machine(variables={"TRANSFORMERS_OFFLINE": "yes"}), "Hub")
    assert not is_offline({"HF_HUB_OFFLINE": "0"})


def problems(**facts) -> str:
    checks = [check for check in examine(machine(**facts)) if check.name == "known problem"]
    return "\n".join(f"{check.why} | {check.todo}" for check in checks)


def test_known_problems():
    assert "torch 2.15.0 on macOS 15.1" in finding(machine(), "known problems").found
    assert 'never given back | pip install "torch>=2.13"; or leave padding' in problems(torch="2.12.1")
    assert "never given back" not in problems(torch="2.13.0")
    assert "partly on the CPU" in problems(torch="2.5.1")
    assert "partly on the CPU" not in problems(torch="2.6.0")
    assert "64-bit integers" in problems(release="13.2")
    assert "64-bit integers" not in problems(release="13.3")
    assert problems(release="14.6").endswith("| Update macOS to 15 in System Settings")


def test_faults_with_wrong_results_are_named_once_with_the_release_that_mends_them():
    assert "linear gradients" in advice(machine(torch="2.12.1", chip="Apple M1 Max"), "known faults")
    assert "linear gradients" not in advice(machine(torch="2.12.1", chip="Apple M3 Pro"), "known faults")
    assert 'pip install "torch>=2.' in advice(machine(torch="2.12.1"), "known faults")
    assert finding(machine(torch="2.15.0"), "known faults") is None


def test_no_cure_asks_for_a_torch_that_the_macos_cannot_run():
    assert 'Update macOS to 14 in System Settings, then: pip install "torch>=2.13"' in problems(
        release="13.5", torch="2.8.0"
    )


def test_known_problems_are_those_of_the_apple_gpu():
    for described in (machine(torch_builds=("cpu",), torch="2.5.1"), linux(torch="2.5.1")):
        assert not {"known problem", "known problems", "known faults"} & {check.name for check in examine(described)}


def test_every_known_problem_can_be_met_and_left_behind():
    assert all(nuisance.is_on(MacFacts("2.5.0", "12.3", "Apple M1")) for nuisance in NUISANCES)
    assert not any(nuisance.is_on(MacFacts("2.15.0", "26.0", "Apple M1")) for nuisance in NUISANCES)


@pytest.mark.parametrize(
    ("torch", "floor"),
    [("1.12.1", (12, 3)), ("2.5.1", (12, 3)), ("2.6.0", (13, 0)), ("2.8.0", (13, 0)), ("2.9.0", (14, 0)),
     ("2.14.0", (14, 0)), ("2.15.0", (15, 0))],
)  # fmt: skip
def test_floors(torch, floor):
    assert macos_floor(torch) == floor


def test_newest_torch_for_a_macos():
    assert [newest_torch(macos) for macos in ("12.2", "12.3", "13.1", "14.0", "15.2")] == [
        None,
        "2.5",
        "2.8",
        "2.14",
        "",
    ]


def test_a_machine_is_data():
    described = machine(variables={"HF_HUB_OFFLINE": "1"})
    assert from_json(Machine, json.loads(json.dumps(to_json(described)))) == described


def test_a_description_from_before_these_questions_still_loads():
    old = to_json(machine())
    for name in ("hub", "torch_wheel", "torch_was_loaded"):
        del old[name]
    assert is_ready(examine(from_json(Machine, old)))


def test_command(run_cli, tmp_path):
    code, out, _ = run_cli("doctor", "--json")
    found = json.loads(out)
    assert found["ready"] is (code == 0)
    assert found["machine"]["devices"][-1]["trouble"] == ""
    assert all(found["machine"]["packages"][name] != MISSING for name in ("torch", "tokenizers", "pyarrow"))
    (tmp_path / "friend.json").write_text(json.dumps({"machine": to_json(machine(release="12.1"))}))
    code, out, _ = run_cli("doctor", "--machine", "friend.json")
    assert code == 1
    assert "Not ready" in out
    assert "needs macOS 15" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--machine", "missing.json"], "--machine missing.json: there is no such file"),
        (["--machine"], "needs a value"),
        (["--jsn"], "Did you mean --json?"),
    ],
)
def test_mistakes(run_cli, arguments, message):
    code, _, err = run_cli("doctor", *arguments)
    assert code == 2
    assert message in err
