"""Apple's chips, as far as a forecast needs them. Published figures; none was measured by us.

Arithmetic is cores × 256 operations × clock, so that a chip with fewer cores has its share. From M2 Ultra on, clocks of
the largest chips are estimates. Half precision has the same rate on M1 to M4; what M5 adds for it is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pippin.errors import PippinError, nearest


@dataclass(frozen=True)
class Chip:
    name: str
    """As Apple and torch write it."""
    gpu_cores: int
    """The most that this chip is sold with."""
    tera_flops: float
    """fp32 operations a second of so many cores, in units of 10¹²."""
    bandwidth: float
    """GB/s of its memory."""
    memory: tuple[int, ...]
    """GB that it is sold with."""

    @property
    def generation(self) -> int:
        return int(self.name.split()[1][1:])

    def with_cores(self, cores: int) -> Chip:
        return replace(self, gpu_cores=cores, tera_flops=self.tera_flops * cores / self.gpu_cores)


CHIPS: dict[str, Chip] = {
    key: Chip(f"Apple {key.replace('-', ' ').title()}", cores, flops, bandwidth, memory)
    for key, cores, flops, bandwidth, memory in (
        ("m1", 8, 2.6, 68, (8, 16)),
        ("m1-pro", 16, 5.3, 200, (16, 32)),
        ("m1-max", 32, 10.6, 400, (32, 64)),
        ("m1-ultra", 64, 21.2, 800, (64, 128)),
        ("m2", 10, 3.6, 100, (8, 16, 24)),
        ("m2-pro", 19, 6.8, 200, (16, 32)),
        ("m2-max", 38, 13.6, 400, (32, 64, 96)),
        ("m2-ultra", 76, 27.2, 800, (64, 128, 192)),
        ("m3", 10, 3.6, 100, (8, 16, 24)),
        ("m3-pro", 18, 6.4, 150, (18, 36)),
        ("m3-max", 40, 14.3, 400, (36, 48, 64, 96, 128)),
        ("m3-ultra", 80, 28.0, 819, (96, 256, 512)),
        ("m4", 10, 4.0, 120, (16, 24, 32)),
        ("m4-pro", 20, 8.6, 273, (24, 48, 64)),
        ("m4-max", 40, 17.2, 546, (36, 48, 64, 128)),
        ("m5", 10, 4.5, 153, (16, 24, 32)),
        ("m5-pro", 20, 9.0, 307, (24, 48, 64)),
        ("m5-max", 40, 18.0, 614, (36, 48, 64, 128)),
    )
}


def find_chip(name: str) -> Chip:
    """By a name such as m1-pro, `M1 Pro` or `Apple M1 Pro`."""
    key = name.lower().removeprefix("apple").strip().replace(" ", "-").replace("_", "-")
    if key not in CHIPS:
        raise PippinError(f"--chip {name}: choose from {', '.join(CHIPS)}." + nearest(key, list(CHIPS), "--chip "))
    return CHIPS[key]


def gpu_budget(memory: int) -> int:
    """Bytes that Metal recommends the GPU to use, of so many bytes of memory: 2/3, or 3/4 of more than 36 GB."""
    return memory * 2 // 3 if memory <= 36 * 2**30 else memory * 3 // 4
