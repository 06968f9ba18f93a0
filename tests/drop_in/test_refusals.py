"""Settings that the device at hand cannot do are refused before anything is loaded."""

from __future__ import annotations

import pytest
import torch

from pippin.drop_in import arguments as refusals
from pippin.drop_in.arguments import TrainingArguments
from pippin.errors import PippinError
from pippin.machine.traits import TRAITS


@pytest.fixture(autouse=True)
def _one_process(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)


@pytest.mark.emulated_mps
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"deepspeed": {"x": 1}}, "deepspeed: it spreads a model over several processes"),
        ({"fsdp": "full_shard"}, "fsdp: it spreads"),
        ({"parallelism_config": object()}, "parallelism_config: it spreads"),
        ({"use_liger_kernel": True}, "Triton"),
        ({"optim": "paged_adamw_8bit"}, "optim=paged_adamw_8bit"),
        ({"optim": "adamw_torch_4bit"}, "Use optim=adamw_torch, or optim=adafactor"),
        ({"optim": "lion_32bit"}, "optim=lion_32bit"),
        ({"tf32": True}, "only NVIDIA GPUs have TF32"),
    ],
    ids=lambda given: given.get("optim", next(iter(given))) if isinstance(given, dict) else "",
)
def test_the_apple_gpu_refuses(given, words):
    with pytest.raises(PippinError) as error:
        TrainingArguments("out", **given)
    assert words in str(error.value)


@pytest.mark.emulated_mps
def test_the_apple_gpu_refuses_several_processes(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(PippinError, match=r"2 processes \(WORLD_SIZE\), but .*gloo and nccl"):
        TrainingArguments("out")


@pytest.mark.emulated_mps
@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_the_apple_gpu_refuses_a_precision_that_its_torch_lacks(precision, monkeypatch):
    from pippin.machine.drivers import mps
    from pippin.machine.faults import MacFacts

    monkeypatch.setattr(mps, "facts", lambda: MacFacts("2.5.0", "15.0", "Apple M1"))
    with pytest.raises(PippinError, match=rf"^{precision}=True: .* on the Apple GPU needs torch"):
        TrainingArguments("out", **{precision: True})


@pytest.mark.emulated_mps
def test_the_apple_gpu_takes_what_it_can():
    args = TrainingArguments("out", use_mps_device=True, fp16=True, optim="adafactor", gradient_checkpointing=True)
    assert args.device.type == "mps"
    assert TrainingArguments("out", no_cuda=True, optim="paged_adamw_8bit").device.type == "cpu"


class Stub:
    """A kind of device that is here, or not."""

    def __init__(self, kind: str, *here: object):
        self.kind, self.here, self.asked, self.traits = kind, here, False, TRAITS[kind]

    def devices(self) -> list[object]:
        self.asked = True
        return list(self.here)


def test_several_processes_touch_no_gpu_before_each_has_its_own(monkeypatch):
    apple, gpu, cpu = backends = [Stub("mps"), Stub("cuda", "H200"), Stub("cpu", "Xeon")]
    monkeypatch.setattr(refusals, "all_backends", lambda: backends)
    args = TrainingArguments("out", use_cpu=True)
    assert refusals._backend_at_hand(args, several=True) is cpu
    args.use_cpu = False
    assert refusals._backend_at_hand(args, several=True) is None
    assert not gpu.asked
    assert refusals._backend_at_hand(args, several=False) is gpu


@pytest.mark.skipif(not hasattr(torch, "accelerator"), reason="torch before 2.6")
def test_accelerators_that_pippin_does_not_know_are_left_to_transformers(monkeypatch):
    backends = [Stub("mps"), Stub("cuda"), Stub("cpu", "Xeon")]
    monkeypatch.setattr(refusals, "all_backends", lambda: backends)
    args = TrainingArguments("out", use_cpu=True)
    args.use_cpu = False
    for others, expected in ((False, backends[-1]), (True, None)):
        monkeypatch.setattr(torch.accelerator, "is_available", lambda others=others: others)
        assert refusals._backend_at_hand(args, several=False) is expected


def test_the_old_switch_for_the_apple_gpu_is_no_error_without_one(capsys, monkeypatch):
    monkeypatch.setattr("pippin.drop_in.notices._said", set())
    assert TrainingArguments("out", use_mps_device=True, use_cpu=True).device.type == "cpu"
    assert "use_mps_device: there is no Apple GPU" in capsys.readouterr().err
