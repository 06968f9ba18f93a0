"""The doctor judges machines that we do not have, each described in a few lines."""

from __future__ import annotations

import json

import pytest

from pippin.machine.check import BAD, NOTE, OK
from pippin.machine.doctor import examine, is_ready
from pippin.machine.mac_checks import macos_floor, newest_torch
from pippin.machine.machine import MISSING, Device, Machine
from pippin.records import from_json, to_json

GB = 2**30
CPU = Device("cpu", "some processor", None, bf16=True)
GPU = Device("mps", "Apple GPU", 10 * GB, bf16=True)


def machine(**facts) -> Machine:
    """A healthy M4 MacBook, but for what is said."""
    healthy = {
        "system": "Darwin", "release": "15.1", "architecture": "arm64", "python": "3.12.4", "torch": "2.13.0",
        "transformers": "5.22.2", "cpu_cores": 10, "memory_bytes": 24 * GB, "devices": (GPU, CPU),
        "native_architecture": "arm64", "chip": "Apple M4", "torch_builds": ("mps", "cpu"),
        "packages": {"torch": "2.13.0", "tokenizers": "0.23.3"}, "free_disk_bytes": 200 * GB, "swap_used_bytes": 0,
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
            "devices": (CPU,),
            **facts,
        }  # fmt: skip
    )


def status(described: Machine) -> dict[str, str]:
    """Names of all that is not ok."""
    return {check.name: check.status for check in examine(described) if check.status != OK}


def advice(described: Machine, name: str) -> str:
    check = next(check for check in examine(described) if check.name == name and check.status != OK)
    return f"{check.found} | {check.why} | {check.todo}"


def test_healthy_m4():
    assert status(machine()) == {}
    assert is_ready(examine(machine()))


def test_first_mac_that_could():
    """macOS 12.4 with arm64 Python and a torch of that time's line."""
    described = machine(release="12.4", chip="Apple M1", torch="2.5.1", packages={"torch": "2.5.1"})
    assert status(described) == {"bfloat16": NOTE}
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
    card = Device("cuda", "NVIDIA A10", 24 * GB, bf16=True)
    assert status(linux(devices=(card, CPU), torch_builds=("cuda", "cpu"))) == {}
    broken = Device("cuda", "NVIDIA A10", 24 * GB, bf16=True, trouble="RuntimeError: no kernel image")
    assert "no kernel image" in advice(linux(devices=(broken, CPU), torch_builds=("cuda", "cpu")), "GPU")
    assert "nvidia-smi" in advice(linux(torch_builds=("cuda", "cpu")), "GPU")


def test_linux_without_a_card():
    assert status(linux()) == {"GPU": NOTE}
    assert is_ready(examine(linux()))


def test_gpu_that_fails_or_is_missing():
    failing = Device("mps", "Apple GPU", 10 * GB, bf16=True, trouble="RuntimeError: Placeholder storage")
    assert "Placeholder storage" in advice(machine(devices=(failing, CPU)), "Apple GPU")
    assert "not built" in advice(machine(devices=(CPU,), torch_builds=("cpu",)), "Apple GPU")
    assert "not available" in advice(machine(devices=(CPU,)), "Apple GPU")


@pytest.mark.parametrize(
    ("variables", "name", "expected"),
    [
        ({"PYTORCH_ENABLE_MPS_FALLBACK": "1"}, "fallback", None),
        ({"PYTORCH_ENABLE_MPS_FALLBACK": "0"}, "fallback", NOTE),
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
    assert "needs macOS 14" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--machine", "missing.json"], "cannot be read"),
        (["--machine"], "needs a value"),
        (["--jsn"], "Did you mean --json?"),
    ],
)
def test_mistakes(run_cli, arguments, message):
    code, _, err = run_cli("doctor", *arguments)
    assert code == 2
    assert message in err
