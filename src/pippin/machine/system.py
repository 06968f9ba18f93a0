"""Questions to the operating system, without root. Each answers None (or "") where the system does not tell."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path

_MAC = platform.system() == "Darwin"


def total_memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def available_memory() -> int | None:
    """Bytes that programs can still take without swapping."""
    if _MAC:
        said = ask("vm_stat")
        size = re.search(r"page size of (\d+) bytes", said)
        pages = re.findall(r"^Pages (?:free|inactive|speculative|purgeable):\s+(\d+)\.", said, re.MULTILINE)
        return int(size[1]) * sum(map(int, pages)) if size and pages else None
    found = re.search(r"^MemAvailable:\s+(\d+) kB$", _read("/proc/meminfo"), re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def macos_release() -> str:
    said = platform.mac_ver()[0]
    if said != "10.16":
        return said
    # What macOS 11 and newer tell a Python that was built for older ones, as those under Rosetta often are.
    return ask("env", "SYSTEM_VERSION_COMPAT=0", "sw_vers", "-productVersion") or said


def native_architecture() -> str:
    """The processor's own architecture, also where this Python runs translated."""
    if _MAC and ask("sysctl", "-n", "hw.optional.arm64") == "1":
        return "arm64"
    return platform.machine()


def chip_name() -> str:
    if _MAC:
        return ask("sysctl", "-n", "machdep.cpu.brand_string")
    names = re.findall(r"^model name\s*:\s*(.+)$", _read("/proc/cpuinfo"), re.MULTILINE)
    return names[0] if names else platform.processor()


def swap_used() -> int | None:
    if _MAC:
        found = re.search(r"used = ([\d.]+)([KMG])", ask("sysctl", "-n", "vm.swapusage"))
        return int(float(found[1]) * 1024 ** (" KMG".index(found[2]))) if found else None
    sizes = dict(re.findall(r"^(SwapTotal|SwapFree):\s+(\d+) kB$", _read("/proc/meminfo"), re.MULTILINE))
    return (int(sizes["SwapTotal"]) - int(sizes["SwapFree"])) * 1024 if len(sizes) == 2 else None


def on_battery() -> bool | None:
    if _MAC:
        answer = ask("pmset", "-g", "batt")
        return "Battery Power" in answer if answer else None
    states = [_read(str(path)).strip() for path in Path("/sys/class/power_supply").glob("*/online")]
    return "1" not in states if states else None


def low_power_mode() -> bool | None:
    """Whether the system saves power at the cost of speed."""
    if _MAC:
        # Macs that also have a high power mode call it powermode, and its 1 means low as well.
        found = re.search(r"powermode\s+(\d)", ask("pmset", "-g"))
        return found[1] == "1" if found else None
    profile = _read("/sys/firmware/acpi/platform_profile").strip()
    return profile in ("low-power", "quiet") if profile else None


def ask(*command: str) -> str:
    """What a command says; nothing where it cannot be run."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=5, check=False).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


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
