"""Which torch runs on which macOS. Read out of PyTorch's macOS wheels, not measured by us."""

from __future__ import annotations

from pippin.machine.check import release

#: torch releases from this one on -> the oldest macOS that they run on, newest first.
_MACOS_FLOORS = (((2, 15), (15, 0)), ((2, 9), (14, 0)), ((2, 6), (13, 0)), ((1, 12), (12, 3)))
#: The newest torch for a macOS: (oldest macOS, torch release).
_NEWEST_TORCH = (((15, 0), ""), ((14, 0), "2.14"), ((13, 0), "2.8"), ((12, 3), "2.5"))


def macos_floor(torch: str) -> tuple[int, ...]:
    wanted = release(torch)
    return next((floor for first, floor in _MACOS_FLOORS if wanted >= first), _MACOS_FLOORS[-1][1])


def newest_torch(macos: str) -> str | None:
    """The newest torch release for a macOS: empty for any, None where there is none with a GPU."""
    return next((torch for floor, torch in _NEWEST_TORCH if release(macos) >= floor), None)
