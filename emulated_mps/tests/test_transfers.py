"""Between devices: copies, pinned memory, tensors that meet on two devices, other processes."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional

pytestmark = pytest.mark.emulated_mps

MIXED: dict[str, Callable[[torch.Tensor, torch.Tensor], Any]] = {
    "add": torch.add,
    "add in place": lambda ours, theirs: theirs.clone().add_(ours),
    "matmul": torch.matmul,
    "linear": lambda ours, theirs: functional.linear(theirs, ours[0]),
    "embedding": lambda ours, theirs: functional.embedding(ours.long(), theirs[0]),
    "layer_norm": lambda ours, theirs: functional.layer_norm(theirs, (3,), ours[0, 0]),
    "conv1d": lambda ours, theirs: functional.conv1d(theirs, ours.transpose(0, 1)[:, :, :1].repeat(1, 3, 1)),
    "attention": lambda ours, theirs: functional.scaled_dot_product_attention(theirs, ours, theirs),
    "cross_entropy": lambda ours, theirs: functional.cross_entropy(theirs[0], ours[0, 0].long()),
    "cat": lambda ours, theirs: torch.cat([theirs, ours]),
}


@pytest.mark.parametrize("name", MIXED)
def test_tensors_of_two_devices_do_not_meet(name: str) -> None:
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        MIXED[name](torch.ones(1, 3, 3), torch.ones(1, 3, 3, device="mps"))


def test_but_a_number_or_an_index_may_be_on_the_cpu() -> None:
    x = torch.arange(4.0, device="mps")
    assert (x + torch.tensor(1.0)).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert x[torch.tensor([0, 3])].tolist() == [0.0, 3.0]
    x[torch.tensor([True, False, False, False])] = 9.0
    assert x[0].item() == 9.0


def test_copies_that_do_not_wait_are_counted(mps: Any) -> None:
    before = mps.non_blocking_copies()
    x = torch.ones(2).to("mps")
    x.cpu()
    assert mps.non_blocking_copies() == before
    torch.ones(2).to("mps", non_blocking=True)
    x.to("cpu", non_blocking=True)
    x.copy_(torch.zeros(2), non_blocking=True)
    assert mps.non_blocking_copies() == before + 3
    x.clone().copy_(x, non_blocking=True)  # within the device nothing can go wrong
    assert mps.non_blocking_copies() == before + 3


def test_pinned_memory_came_with_2_14(mps: Any) -> None:
    with mps.pretend(release="2.13.0"):
        for pin in (lambda: torch.ones(2).pin_memory(), lambda: torch.empty(2, pin_memory=True)):
            with pytest.raises(RuntimeError, match='storage on different device "mps:0"'):
                pin()
    with mps.pretend(release="2.14.0"):
        assert torch.ones(2).pin_memory().tolist() == [1.0, 1.0]


def test_a_loader_does_not_pin() -> None:
    with pytest.warns(UserWarning, match="'pin_memory' argument is set as true but not supported on MPS"):
        batches = list(torch.utils.data.DataLoader(list(range(4)), batch_size=2, pin_memory=True))
    assert [batch.tolist() for batch in batches] == [[0, 1], [2, 3]]


def test_processes_cannot_sum_over_the_device(tmp_path: Path) -> None:
    import torch.distributed as distributed

    distributed.init_process_group(
        "gloo", store=distributed.FileStore(str(tmp_path / "store"), 1), rank=0, world_size=1
    )
    try:
        distributed.all_reduce(torch.ones(2))
        with pytest.raises(
            NotImplementedError, match="'c10d::allreduce_' .* distributed operators can not fall back to CPU"
        ):
            distributed.all_reduce(torch.ones(2, device="mps"))
    finally:
        distributed.destroy_process_group()


@pytest.mark.filterwarnings("ignore")
def test_nccl_is_refused(tmp_path: Path) -> None:
    import torch.distributed as distributed

    store = distributed.FileStore(str(tmp_path / "store"), 1)
    with pytest.raises((RuntimeError, ValueError), match="(?i)nccl"):
        distributed.init_process_group("nccl", store=store, rank=0, world_size=1)


def test_pickles_come_back_to_the_device() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = pickle.loads(pickle.dumps(torch.arange(3, device="mps")))
    assert found.device.type == "mps"
    assert found.tolist() == [0, 1, 2]
