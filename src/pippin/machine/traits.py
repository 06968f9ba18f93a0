"""What a device is and can do, as plain data: saved, loaded, or made by hand for a computer that is not here.

Planning needs no more of a device than this; its driver is for running.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pippin.machine.faults import MacFacts, precision_problems

MPS, CUDA, CPU = "mps", "cuda", "cpu"


@dataclass(frozen=True)
class DeviceTraits:
    """One device that torch can train on. The defaults are those of a plain device such as the CPU."""

    kind: str
    """The driver's name."""
    name: str
    """What it is called by its maker."""
    unit: str = ""
    """What tells it from others of its name; empty where nobody knows."""
    memory_bytes: int | None = None
    """Memory of its own, or for a GPU that shares the computer's, what it may use; None when unknown."""
    budget_bytes: int | None = None
    """Bytes that a job may hold, with those that the process holds already; None when unknown, or nobody looked."""
    held_bytes: int = 0
    """Bytes that the process holds on it already."""
    bf16: bool = True
    """Whether bfloat16 works on it, and has units for it."""
    trouble: str | None = None
    """What went wrong when a small operation was tried on it; empty when it worked, None when nothing was tried."""
    mac: MacFacts | None = None
    """Of the Apple GPU: what decides which faults it has."""
    is_gpu: bool = True
    tf32: bool = False
    shape_limit: int | None = None
    """Most lengths that batches are padded to, each with up to three numbers of rows; None: any shape is fine."""
    evaluation_tokens: int = 2048
    """Padded tokens per batch where nothing is trained."""
    packed_attention: Literal["kernel", "groups"] | None = None
    """How rows attend that lie end to end: by a kernel of the device, or in groups of like lengths, each padded for
    attention alone; None where neither pays."""
    saves_from_own_memory: bool = False
    """Whether the copy that a checkpoint is written from lies in the same memory as the model."""
    captures_steps: bool = False
    """Whether whole steps can be recorded and replayed."""
    bf16_by_default: bool = False
    """Whether bfloat16 is what the device is fast in, where it has it."""
    full_speed_elements: int | None = None
    """Elements of hidden states (tokens × width) in a micro-batch from which on it is at full speed; None: unknown."""
    keeps_scores: Literal["always", "with dropout", "never"] = "with dropout"
    """When training keeps attention's scores for the backward pass; never thanks to a kernel."""
    mask_bytes: int = 4
    """Bytes for each element of a dropout mask."""
    own_memory_bytes: int = 0
    """What the device's own libraries take out of a job's memory, by a cautious guess."""
    verifies_first: bool = False
    """Whether training begins with a comparison with the CPU, unless the recipe says otherwise."""
    precision_problems: dict[str, str] = field(default_factory=dict)
    """Why a precision cannot be used."""
    collectives: str | None = None
    """torch.distributed's backend for tensors on it; None: it has none, and what is sent goes through CPU memory."""
    exact_by_default: bool = True
    """Whether several processes add their gradients in a fixed order unless asked otherwise: it costs little here."""


#: What all devices of a kind have in common, in the order in which a job prefers them.
TRAITS = {
    traits.kind: traits
    for traits in (
        DeviceTraits(
            MPS,
            "Apple GPU",
            mac=MacFacts("", "", ""),
            shape_limit=8,  # each new shape costs a compiled graph and memory that older releases never give back
            evaluation_tokens=8192,
            keeps_scores="always",
            verifies_first=True,  # wrong results without an error were reported of many releases
            own_memory_bytes=64 << 20,  # compiled graphs
        ),
        DeviceTraits(
            CUDA,
            "NVIDIA GPU",
            tf32=True,
            evaluation_tokens=65536,
            packed_attention="kernel",
            captures_steps=True,
            bf16_by_default=True,
            keeps_scores="never",
            mask_bytes=1,
            collectives="nccl",
            exact_by_default=False,  # small shards leave a fast GPU idle
            own_memory_bytes=96 << 20,  # workspaces of cuBLAS, and pieces that the allocator cannot use
        ),
        DeviceTraits(
            CPU,
            "CPU",
            is_gpu=False,
            packed_attention="groups",
            collectives="gloo",
            saves_from_own_memory=True,
            full_speed_elements=512 * 768,  # 512 tokens of BERT-base, 1024 of MiniLM
            precision_problems={"fp16": "float16 training needs a GPU; on the CPU use --bf16 or neither"},
        ),
    )
}


def traits_of(kind: str, name: str, **facts: Any) -> DeviceTraits:
    """A device of a kind.

    >>> traits_of("cuda", "NVIDIA H200", memory_bytes=141 << 30).captures_steps
    True
    """
    return replace(TRAITS[kind], name=name, **facts)


def apple_gpu(mac: MacFacts, memory_bytes: int | None, **facts: Any) -> DeviceTraits:
    """The GPU of a Mac, of whose memory it may use so much."""
    problems = precision_problems(mac)
    name = f"{mac.chip or 'Apple'} GPU"
    return traits_of(
        MPS, name, memory_bytes=memory_bytes, mac=mac, bf16="bf16" not in problems, precision_problems=problems, **facts
    )
