"""Between devices: copies, pinned memory, tensors that meet on two devices, other processes."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
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


@pytest.fixture
def gloo(tmp_path: Path) -> Iterator[Any]:
    import torch.distributed as distributed

    distributed.init_process_group(
        "gloo", store=distributed.FileStore(str(tmp_path / "store"), 1), rank=0, world_size=1
    )
    yield distributed
    distributed.destroy_process_group()


def gathered(distributed: Any) -> list[float]:
    """What the only process gathers from itself, over zeros."""
    found = torch.zeros(2, device="mps")
    distributed.all_gather_into_tensor(found, torch.ones(2, device="mps"))
    return found.tolist()


@pytest.mark.parametrize("fallback", [False, True])
def test_collectives_raise_since_2_11(mps: Any, gloo: Any, fallback: bool) -> None:
    gloo.all_reduce(torch.ones(2))
    words = "'c10d::allreduce_' .* distributed operators can not fall back to CPU"
    for release in ("2.11.0", "2.15.0"):
        with mps.pretend(release=release, fallback=fallback), pytest.raises(NotImplementedError, match=words):
            gloo.all_reduce(torch.ones(2, device="mps"))


@pytest.mark.filterwarnings("ignore:.*is deprecated:FutureWarning")
def test_collectives_did_nothing_before(mps: Any, gloo: Any) -> None:
    """With the variable that their error advises: pytorch #173808."""
    with (
        mps.pretend(release="2.10.0"),
        pytest.raises(NotImplementedError, match="c10d::_allgather_base_.*PYTORCH_ENABLE_MPS_FALLBACK=1"),
    ):
        gathered(gloo)
    with mps.pretend(release="2.10.0", fallback=True):
        assert gathered(gloo) == [0, 0]
    with mps.pretend(release="2.10.0", fallback=True, known_bugs=False), pytest.raises(NotImplementedError):
        gathered(gloo)


BROADCAST = """
import sys, torch, torch.distributed as distributed
rank, store = int(sys.argv[1]), distributed.FileStore(sys.argv[2], 2)
distributed.init_process_group("gloo", store=store, rank=rank, world_size=2)
x = torch.tensor([1000 + rank], device="mps")
distributed.broadcast(x, src=0)
print(x.item())
"""


def test_a_broadcast_leaves_each_process_its_own(tmp_path: Path) -> None:
    """As reported: no error, and every process but the first goes on with its own numbers."""
    variables = os.environ | {"EMULATED_MPS": "release=2.10.0", "PYTORCH_ENABLE_MPS_FALLBACK": "1"}
    both = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", BROADCAST, str(rank), str(tmp_path / "store")],
            env=variables, stdout=subprocess.PIPE, text=True,
        )
        for rank in range(2)
    ]  # fmt: skip
    assert [process.communicate()[0].strip() for process in both] == ["1000", "1001"]


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
