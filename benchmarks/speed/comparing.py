"""Ways to do the same work, run in turns in fresh processes and compared round by round.

A way runs in a process of its own, since what one library sets (threads, denormals, allocators, a captured graph) must
not reach the other. Speeds of different rounds are never divided by each other.
"""

from __future__ import annotations

import importlib
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
#: `benchmarks/recording.py`, for the scripts of this folder.
recording = importlib.import_module("recording")

Figures = dict[str, Any]
Way = Callable[[], Figures]


def fresh(function: Callable[..., Figures], *arguments: Any, **settings: Any) -> Figures:
    """What a function returns in a new process, with the memory that it took at most and its seconds from outside."""
    start = time.perf_counter()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        figures = pool.submit(_with_peaks, function, arguments, settings).result()
    return {**figures, "process_seconds": round(time.perf_counter() - start, 2)}


def interleaved(ways: dict[str, Way], rounds: int, say: str = "samples_per_second") -> dict[str, list[Figures]]:
    """The figures of each way, round by round; each round begins with another way. A failed way holds its error."""
    found: dict[str, list[Figures]] = {name: [] for name in ways}
    names = list(ways)
    for number in range(rounds):
        for name in [*names[number % len(names) :], *names[: number % len(names)]]:
            try:
                found[name].append(ways[name]())
                words = f"{found[name][-1][say]:10.2f} {say}"
            except Exception as error:  # the other ways can still be compared with each other
                found[name].append({"error": str(error)})
                words = found[name][-1]["error"][:200]
            print(f"round {number + 1}  {name:36} {words}", flush=True)
    return found


def compared(
    found: dict[str, list[Figures]],
    bases: Iterable[str],
    figure: str = "samples_per_second",
    more_is_better: bool = True,
) -> Figures:
    """For each way the median of a figure, and how many times better it is than the bases: median, least, most."""
    summary: Figures = {}
    for name, rounds in found.items():
        values = [one[figure] for one in rounds if "error" not in one]
        summary[name] = {figure: round(statistics.median(values), 2) if values else None, "rounds": rounds}
        for base in bases:
            pairs = [
                (own[figure], other[figure])
                for own, other in zip(rounds, found.get(base, []), strict=False)
                if "error" not in own and "error" not in other
            ]
            ratios = sorted(own / other if more_is_better else other / own for own, other in pairs)
            if ratios and base != name:
                summary[name][f"times {base}"] = {
                    "median": round(statistics.median(ratios), 2),
                    "least": round(ratios[0], 2),
                    "most": round(ratios[-1], 2),
                }
    return summary


def show(title: str, summary: Figures, figure: str = "samples_per_second", beside: Iterable[str] = ()) -> None:
    """Print a comparison as a table; ``beside`` are further figures, each as the median over the rounds."""
    print(f"\n{title}\n{'':36} {figure}")
    for name, one in summary.items():
        if one[figure] is None:
            print(f"{name:36} failed: {one['rounds'][0]['error'][:120]}")
            continue
        words = [f"{name:36} {one[figure]:10.2f}"]
        for key, ratio in one.items():
            if key.startswith("times "):
                words.append(f"{ratio['median']:.2f} ({ratio['least']:.2f} to {ratio['most']:.2f}) {key}")
        for other in beside:
            values = [found[other] for found in one["rounds"] if found.get(other) is not None]
            if values:
                words.append(f"{other} {statistics.median(values):.4g}")
        print("   ".join(words))


def chosen(ways: dict[str, Way], names: str | None) -> dict[str, Way]:
    """The ways that a comma-separated list names; all without one."""
    wanted = [name.strip() for name in names.split(",")] if names else list(ways)
    unknown = [name for name in wanted if name not in ways]
    if unknown:
        raise SystemExit(f"there is no {unknown[0]!r}; there are: {', '.join(ways)}")
    return {name: ways[name] for name in wanted}


def _with_peaks(function: Callable[..., Figures], arguments: tuple[Any, ...], settings: dict[str, Any]) -> Figures:
    try:
        figures = dict(function(*arguments, **settings))
    except Exception as error:  # not every error can be sent to another process as it is
        traceback.print_exc()
        raise RuntimeError(f"{type(error).__name__}: {error}") from None
    figures["peak_resident_bytes"] = _peak_resident_bytes()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        figures["peak_gpu_allocated_bytes"] = torch.cuda.max_memory_allocated()
        figures["peak_gpu_reserved_bytes"] = torch.cuda.max_memory_reserved()
    return figures


def _peak_resident_bytes() -> int:
    """Linux carries ru_maxrss over from the parent into a new process, so its own high-water mark is read instead."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
