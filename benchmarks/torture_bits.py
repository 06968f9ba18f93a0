"""Single bits of every file that Pippin reads: noticed, or without any effect; never another result without a word."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from torture_bench import Bench, Tally, last_line
from torture_child import Child
from torture_job import RUN, PippinJob, sha256

#: Of no consequence for what is computed: what happened, as a log and as a page.
_ONLY_SHOWN = {"events.jsonl", "report.html", "report.json", "README.md"}


def bits_of_a_finished_run(bench: Bench, flips: int) -> Tally:
    """One bit in a file of a finished run, then `pippin predict`: refused in words, or the same answers."""
    job, source = _finished(bench)
    wanted = _predicted(job, source)[1]

    def judge(folder: Path, tally: Tally) -> None:
        child, answers = _predicted(job, folder)
        _count(tally, folder, child, same=answers == wanted)

    return _flipped(bench, "finished", source, _files(source / RUN), flips, judge)


def bits_of_an_unfinished_run(bench: Bench, flips: int) -> Tally:
    """One bit in a file of a killed run, then `pippin resume`: refused or said, or the undisturbed weights."""
    job = _pippin(bench)
    source = bench.killed_run()

    def judge(folder: Path, tally: Tally) -> None:
        child = job.call(folder, ["resume", RUN], "again")
        finished = child.wait() == 0
        same = finished and sha256(folder / RUN / "model.safetensors") == bench.reference.weights
        _count(tally, folder, child, same)

    return _flipped(bench, "unfinished", source, _files(source / RUN), flips, judge)


def bits_of_caches(bench: Bench, flips: int) -> Tally:
    """One bit in a cached file, then the same training: made again, or of no effect; never refused."""
    job = _pippin(bench)
    source = bench.fresh("cached")
    kept = os.environ.get("PIPPIN_CACHE")

    def trained(folder: Path) -> Child:
        os.environ["PIPPIN_CACHE"] = str(folder / "cache")
        child = job.call(folder, [*job.command("--overwrite_output_dir"), "--freeze", "core"], "again")
        child.wait()
        return child

    def judge(folder: Path, tally: Tally) -> None:
        child = trained(folder)
        same = child.code == 0 and sha256(folder / RUN / "model.safetensors") == wanted
        tally.count("same weights", same)
        if not same:
            tally.fail(folder, f"exit code {child.code}: {last_line(child)}")

    try:
        trained(source)
        wanted = sha256(source / RUN / "model.safetensors")
        files = [path for path in (source / "cache").rglob("*") if path.is_file()]
        assert files, "nothing was cached"
        return _flipped(bench, "cache", source, files, flips, judge)
    finally:
        os.environ.pop("PIPPIN_CACHE", None)
        if kept is not None:
            os.environ["PIPPIN_CACHE"] = kept


def _flipped(
    bench: Bench, name: str, source: Path, files: list[Path], flips: int, judge: Callable[[Path, Tally], None]
) -> Tally:
    """Some bits of each file, in copies of a folder; the first and the last bytes always among them."""
    tally = Tally()
    for path in sorted(files):
        for bit in _bits(path, flips, bench.draw):
            folder = bench.fresh(f"{name}-bit")
            shutil.copytree(source, folder, dirs_exist_ok=True, symlinks=True)
            hurt = folder / path.relative_to(source)
            data = bytearray(hurt.read_bytes())
            data[bit // 8] ^= 1 << bit % 8
            hurt.write_bytes(data)
            tally.trials += 1
            before = len(tally.failures)
            judge(folder, tally)
            tally.failures[before:] = [f"{hurt.name}, bit {bit}: {each}" for each in tally.failures[before:]]
    return tally


def _bits(path: Path, flips: int, draw: random.Random) -> Iterator[int]:
    size = 8 * path.stat().st_size
    if size:
        chosen = {draw.randrange(size) for _ in range(flips)} | {draw.randrange(8), size - 1 - draw.randrange(8)}
        yield from sorted(chosen)


def _count(tally: Tally, folder: Path, child: Child, same: bool) -> None:
    refused = tally.count("refused in words", child.code == 2 and not child.crashed)
    harmless = tally.count("same result", same)
    silent = tally.count("silent, another result", child.code == 0 and not same)
    if silent or not (refused or harmless):
        tally.fail(folder, f"exit code {child.code}: {last_line(child)}")


def _files(run: Path) -> list[Path]:
    return [path for path in run.rglob("*") if path.is_file() and path.name not in _ONLY_SHOWN]


def _finished(bench: Bench) -> tuple[PippinJob, Path]:
    job, folder = _pippin(bench), bench.fresh("finished")
    child = job.call(folder, job.command("--save_strategy", "no"), "first")
    if child.wait():
        raise RuntimeError(child.said)
    return job, folder


def _predicted(job: PippinJob, folder: Path) -> tuple[Child, str]:
    child = job.call(folder, ["predict", RUN, "--file", str(job.rows), "--quiet"], "predicted")
    child.wait()
    return child, child.said.removeprefix(child.errors)


def _pippin(bench: Bench) -> PippinJob:
    assert isinstance(bench.tool, PippinJob)
    return bench.tool
