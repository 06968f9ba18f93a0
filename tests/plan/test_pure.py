"""Planning is a pure function of plain data: for any computer, without torch or transformers."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys

class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "transformers", "tokenizers", "safetensors"):
            raise ImportError(f"planning imports {name}")

sys.meta_path.insert(0, Refusing())
import builtins, os
import numpy as np
from pippin.machine.faults import MacFacts
from pippin.machine.machine import Machine
from pippin.machine.traits import apple_gpu, traits_of
from pippin.machine.work import Work
from pippin.models.facts import ModelFacts, ModelSize
from pippin.models.families import FAMILIES
from pippin.plan.facts import Rows, TaskFacts
from pippin.plan.make import make_plan
from pippin.recipe import Recipe
from pippin.records import from_json, to_json

def refuse(*words, **named):
    raise AssertionError("planning reads a file or the environment")

bert = ModelFacts(
    FAMILIES["bert"], "", None, 12, 768, 512, ModelSize(12, 768, 3072, 12, 30522, outputs=6), Work(heads=12)
)
rows = Rows(np.random.default_rng(0).integers(5, 120, 5000), (np.arange(5, 120),), has_validation=True, words=9000)
task = TaskFacts(("accuracy", "loss"), "accuracy", outputs=6)

def machine(*devices):
    return Machine("Linux", "6", "arm64", "3.12", "2.13.0", "5.0", 8, 8 << 30, (*devices, traits_of("cpu", "a CPU")))

m1 = machine(apple_gpu(MacFacts("2.13.0", "15.0", "Apple M1"), 5 << 30, budget_bytes=16 << 27))
h200 = machine(traits_of("cuda", "NVIDIA H200", memory_bytes=141 << 30, budget_bytes=139 << 30))
builtins.open = os.environ.__class__.__getitem__ = refuse
for each in (m1, h200, machine()):
    assert from_json(Machine, to_json(each)) == each
    plan = make_plan(Recipe(per_device_train_batch_size=64), each, task, bert, rows)
    run, batches = plan.execution, plan.batches
    values = [run.device, run.precision, run.layout, run.step, batches.micro_batch, batches.micro_tokens]
    print(*(choice.value for choice in values), len(plan.batches.pad_lengths.value), sep=", ")
"""


def test_plans_for_computers_that_are_not_here():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    m1, h200, cpu = done.stdout.splitlines()
    assert m1.startswith("mps, fp32, padded, plain calls, ")
    assert 1 <= int(m1.split(", ")[4]) < 64, "made to fit"
    assert m1.endswith(", 0, 8"), "few shapes"
    assert h200 == "cuda, bf16, packed, captured, 64, 0, 0"
    assert cpu == "cpu, fp32, packed, plain calls, 64, 512, 0"
