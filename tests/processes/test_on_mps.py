"""Several processes on (emulated) Apple GPUs: torch's own way goes wrong without a word, and Pippin's does not."""

from __future__ import annotations

import os
import subprocess
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from every_job import write_data
from groups import finished, outcome
from test_processes import PROGRAM, TORCHRUN

pytestmark = pytest.mark.skipif("emulated_mps" not in packages_distributions(), reason="needs the emulated Apple GPU")
#: The last release in which a collective does nothing under the variable (pytorch #173808).
RELEASE = "release=2.10.0, memory=16"
BY_HAND = """
import torch
import torch.distributed as distributed
distributed.init_process_group("gloo")
rank = distributed.get_rank()
torch.manual_seed(rank)
model = torch.nn.Linear(4, 1, bias=False).to("mps")
distributed.broadcast(model.weight.data, src=0)
model(torch.ones(2, 4, device="mps") * (rank + 1)).sum().backward()
distributed.all_reduce(model.weight.grad)
with open(f"found{rank}", "w") as file:
    print(model.weight.sum().item(), model.weight.grad.sum().item(), file=file)
distributed.destroy_process_group()
"""


def begin(processes: int, *words: object, fallback: str) -> subprocess.Popen[str]:
    """By torchrun: a process that is forked has no emulated device of its own."""
    variables = {"EMULATED_MPS": RELEASE, "PYTORCH_ENABLE_MPS_FALLBACK": fallback, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [*TORCHRUN, "--nproc_per_node", str(processes), *map(str, words)],
        env={**os.environ, **variables}, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def test_torchs_own_collectives_do_nothing():
    """Data parallelism as one writes it by hand; DistributedDataParallel, which does more, raises."""
    Path("by_hand.py").write_text(BY_HAND)
    finished(begin(2, "by_hand.py", fallback="1"))
    (one, gradient), (other, other_gradient) = (Path(f"found{rank}").read_text().split() for rank in range(2))
    assert one != other, "each process has weights of its own, and nobody is told"
    assert {gradient, other_gradient} == {"8.0", "16.0"}, "and the gradients of its own rows"


def test_pippins_end_with_the_same_weights(tiny_model):
    """With the variable, which Pippin sets, and without it."""
    write_data()
    jobs = (PROGRAM, tiny_model)
    finished(
        begin(1, *jobs, "of1", "jobs=classes,tokens", fallback="1"),
        begin(2, *jobs, "of2", "jobs=classes,tokens", fallback="1"),
        begin(2, *jobs, "without", "jobs=tokens", "mps_fallback=off", fallback="0"),
    )
    for job in ("classes", "tokens"):
        assert outcome(f"of1/{job}") == outcome(f"of2/{job}")
    assert outcome("of1/tokens") == outcome("without/tokens")
    assert '"value": "mps"' in Path("of2/classes/run.json").read_text()
