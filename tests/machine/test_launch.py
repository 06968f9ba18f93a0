"""Which process this is, by the variables of each launcher."""

from __future__ import annotations

import pytest

from pippin.errors import PippinError
from pippin.machine.launch import Place, complete_environment, place_here

TORCHRUN = {
    "RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "TORCHELASTIC_RESTART_COUNT": "2",
}  # fmt: skip
KUBEFLOW = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "job-worker-0", "MASTER_PORT": "23456"}
SRUN = {
    "SLURM_PROCID": "5", "SLURM_NTASKS": "8", "SLURM_LOCALID": "1", "SLURM_STEP_ID": "0", "SLURM_JOB_ID": "1234567",
    "SLURM_STEP_NODELIST": "gpu[07-10],big", "SLURM_STEP_TASKS_PER_NODE": "2(x3),1",
}  # fmt: skip


@pytest.mark.parametrize(
    ("variables", "place"),
    [
        ({}, Place()),
        (TORCHRUN, Place(3, 4, 1, 2, "torchrun", 2)),
        (KUBEFLOW, Place(1, 2, 0, 1, "torchrun")),
        (SRUN, Place(5, 8, 1, 2, "srun")),
        ({**SRUN, **TORCHRUN}, Place(3, 4, 1, 2, "torchrun", 2)),  # torchrun within a Slurm job
        ({name: value for name, value in SRUN.items() if name != "SLURM_STEP_ID"}, Place()),  # a batch script, alone
        ({"WORLD_SIZE": "2"}, Place()),
    ],
)
def test_launchers(variables, place):
    assert place_here(variables) == place


def test_srun_says_where_to_meet():
    variables = dict(SRUN)
    complete_environment(variables)
    assert (variables["RANK"], variables["WORLD_SIZE"], variables["LOCAL_RANK"]) == ("5", "8", "1")
    assert variables["MASTER_ADDR"] == "gpu07"
    assert 20_000 <= int(variables["MASTER_PORT"]) < 30_000
    given = {**SRUN, "MASTER_ADDR": "mine", "MASTER_PORT": "9"}
    complete_environment(given)
    assert (given["MASTER_ADDR"], given["MASTER_PORT"]) == ("mine", "9")


@pytest.mark.parametrize(
    ("changed", "told"),
    [({"RANK": "4"}, "RANK=4 and WORLD_SIZE=4 contradict"), ({"RANK": "x"}, "RANK=x .* is not a whole number")],
)
def test_nonsense_is_refused(changed, told):
    with pytest.raises(PippinError, match=told):
        place_here({**TORCHRUN, **changed})
