"""What the machine tells of its power without root. Each answers None where it does not."""

from __future__ import annotations

import re
from pathlib import Path

from pippin.machine.system import ask

_POWERCAP = Path("/sys/class/powercap")


def package_joules(folder: Path = _POWERCAP) -> float | None:
    """Energy that the processors have used so far, by Linux's counters, which start anew when they are full."""
    try:
        counters = [int(path.read_text()) for path in sorted(folder.glob("intel-rapl:?/energy_uj"))]
    except (OSError, ValueError):  # many systems keep them for root
        return None
    return sum(counters) / 1e6 if counters else None


def nvidia_watts(index: int) -> float | None:
    """What an NVIDIA card draws now, by the driver's own tool."""
    said = ask("nvidia-smi", f"--id={index}", "--query-gpu=power.draw", "--format=csv,noheader,nounits")
    try:
        return float(said)
    except ValueError:
        return None


def battery_watts() -> float | None:
    """What a Mac draws from its battery now: the whole computer, screen included. By documentation, not seen on one."""
    said = ask("ioreg", "-rn", "AppleSmartBattery")
    found = {name: int(value) for name, value in re.findall(r'"(InstantAmperage|Voltage)" = (\d+)', said)}
    if '"ExternalConnected" = No' not in said or len(found) < 2:
        return None
    current = found["InstantAmperage"]  # milliamperes; negative ones are written as 64 bits without a sign
    drawn = 2**64 - current if current >= 2**63 else 0
    return drawn * found["Voltage"] / 1e6 or None
