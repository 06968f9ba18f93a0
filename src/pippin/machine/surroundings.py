"""What the doctor asks of all that surrounds a run: disk, swap, power, the Hub. Pure functions of a Machine."""

from __future__ import annotations

from collections.abc import Iterator

from pippin.machine.check import BAD, NOTE, OK, Check
from pippin.machine.machine import Machine, is_offline
from pippin.text import memory

#: Bytes of weights: the built-in model, and the one that most commands of Hugging Face name.
_MINILM, _BERT_BASE = 91_000_000, 440_000_000
#: A run's model lies on the disk so often at most: as downloaded, the best copy, two more, and the one being written.
_TIMES_ON_DISK = 5
#: The system itself stumbles when the disk is full.
_SPARE_DISK = 2**30
_MUCH_SWAP = 2 * 2**30


def surroundings(machine: Machine) -> Iterator[Check]:
    """Every check of what a run needs around it; nothing where the machine does not tell."""
    for look_at in (_disk, _swap, _power, _cache, _hub):
        yield from look_at(machine)


def disk_need(weights: int) -> int:
    """Bytes that should be free for a run with a model of so many bytes."""
    return _TIMES_ON_DISK * weights + _SPARE_DISK


def _disk(machine: Machine) -> Iterator[Check]:
    if machine.free_disk_bytes is None:
        return
    free, minilm, bert_base = machine.free_disk_bytes, disk_need(_MINILM), disk_need(_BERT_BASE)
    needs = f"a run needs {memory(minilm)} for MiniLM, {memory(bert_base)} for BERT-base"
    found = f"{memory(free)} free in this folder; {needs}"
    why = "a run writes the model and copies of it, and fails when the disk is full"
    if free < minilm:
        yield Check("disk", BAD, found, why, "Free some space, or start in a folder on another disk.")
    elif free < bert_base:
        yield Check("disk", NOTE, found, why, "Enough for small models. Free some space for larger ones.")
    else:
        yield Check("disk", OK, found)


def _swap(machine: Machine) -> Iterator[Check]:
    if machine.swap_used_bytes is None:
        return
    found = f"{memory(machine.swap_used_bytes)} in use"
    if machine.swap_used_bytes > _MUCH_SWAP:
        yield Check(
            "swap", NOTE, found, "memory is short, and swapping makes training very slow", "Close other programs."
        )
    else:
        yield Check("swap", OK, found)


def _power(machine: Machine) -> Iterator[Check]:
    if machine.on_battery:
        yield Check("power", NOTE, "on battery", "long runs drain it, and some laptops run slower", "Plug it in.")
    elif machine.on_battery is not None:
        yield Check("power", OK, "plugged in")
    if machine.low_power_mode:
        mac = "Turn it off: System Settings > Battery > Low Power Mode."
        todo = mac if machine.system == "Darwin" else "powerprofilesctl set balanced"
        yield Check("low power mode", NOTE, "on", "it slows the processor and the GPU down", todo)
    elif machine.low_power_mode is not None:
        yield Check("low power mode", OK, "off")


def _cache(machine: Machine) -> Iterator[Check]:
    if machine.hub is None:
        return
    models = f"{machine.hub.models} {'model' if machine.hub.models == 1 else 'models'}"
    found = f"{machine.hub.cache}, {models if machine.hub.cache_exists else 'not created yet'}"
    if machine.hub.cache_writable:
        yield Check("model cache", OK, found)
        return
    why = "models from the Hub are stored there, but it cannot be written to"
    todo = "export HF_HOME=FOLDER with a folder of your own, or give models as local folders."
    yield Check("model cache", NOTE, found, why, todo)


def _hub(machine: Machine) -> Iterator[Check]:
    cached_only = "models and datasets load only from the cache and local folders"
    if is_offline(machine.variables):
        name = "HF_HUB_OFFLINE" if machine.variables.get("HF_HUB_OFFLINE") else "TRANSFORMERS_OFFLINE"
        yield Check("Hub", NOTE, f"turned off by {name}", cached_only, f"To load from the Hub: unset {name}")
    elif machine.hub is not None and machine.hub.answers is False:
        found = f"{machine.hub.address} cannot be reached ({machine.hub.trouble})"
        todo = "Check the network, or work offline: export HF_HUB_OFFLINE=1"
        yield Check("Hub", NOTE, found, cached_only, todo)
    elif machine.hub is not None and machine.hub.answers:
        yield Check("Hub", OK, f"{machine.hub.address} can be reached")
