"""What the link between several computers costs each step: the gradients' bytes over what TCP reaches on it.

Nothing was measured by us between Macs. Each link's speeds are the least and the most that others report or that follow
from its specification, and gloo itself sends about 1.25 GB/s over the loopback of a slow Linux machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pippin.commands.preflight.memory import Forecast
from pippin.engine.reduce import BUCKET_BYTES, is_branch
from pippin.plan.memory import FULL
from pippin.plan.plan import Plan
from pippin.plan.sharing import SPREAD

#: Exchanges of a few numbers in every step: losses, tokens, whether to stop.
_SMALL = 4


@dataclass(frozen=True)
class Link:
    """Gigabytes a second in each direction, and the seconds until a short message is there."""

    words: str
    slow: float
    fast: float
    latency: float


#: By their names on the command line.
LINKS = {
    # 80 Gbit/s by specification, of which TCP is said to reach about half (swellweb/targetBridge #17); 300 µs over TCP
    # as reported beside Apple's TN3205.
    "thunderbolt5": Link("Thunderbolt 5", 1.25, 5.0, 3e-4),
    "thunderbolt4": Link("Thunderbolt 4", 1.0, 2.05, 3e-4),  # 16.4 Gbit/s reported (jiribrejcha.net, M2 Pro)
    "10gbe": Link("10 Gbit Ethernet", 0.7, 1.18, 2e-4),
    "1gbe": Link("1 Gbit Ethernet", 0.08, 0.118, 3e-4),  # 941 Mbit/s reported (esnet/iperf #1170)
    "wifi": Link("Wi-Fi", 0.02, 0.1, 3e-3),
}


@dataclass(frozen=True)
class LinkCost:
    """Of one optimiser step."""

    link: str
    """Its name, for people."""
    computers: int
    sent_bytes: int
    """By each computer, and as many received."""
    low: float
    """Seconds, where the link is fast."""
    high: float
    steps: int
    """Of the whole training."""


def link_costs(found: Forecast, computers: int, name: str | None) -> tuple[LinkCost, ...]:
    """Over the named link; over each that is known where none is named."""
    chosen = [LINKS[name]] if name else list(LINKS.values())
    return tuple(_cost(each, found.job.plan, found.trained, computers) for each in chosen)


def _cost(link: Link, plan: Plan, trained: int, computers: int) -> LinkCost:
    gradient, others = FULL * trained, (computers - 1) / computers
    sent = int(_times_sent(plan, computers) * others * gradient)
    exchanges = 2 * (computers - 1) * math.ceil(gradient / BUCKET_BYTES) + _SMALL
    waits = exchanges * link.latency
    low, high = (sent / speed / 1e9 + waits for speed in (link.fast, link.slow))
    return LinkCost(link.words, computers, sent, low, high, plan.schedule.steps.value)


def _times_sent(plan: Plan, computers: int) -> int:
    """How often a computer sends the whole gradient, but for its own part."""
    shards = plan.execution.shards.value
    if plan.execution.weights.value == SPREAD:
        return 3  # weights for each pass, and gradients
    if shards and not is_branch(shards, computers):
        return math.ceil(shards / computers) + 1
    return 2
