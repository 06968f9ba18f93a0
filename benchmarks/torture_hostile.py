"""Folders from somebody else: links, hard links and FIFOs in the place of every file of a run.

No command may change anything outside the folder, wait for ever, or end in a traceback.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from torture_bench import Bench, Tally, last_line
from torture_job import RUN, PippinJob

KINDS = ("symbolic link", "link to a folder", "hard link", "FIFO", "folder")
#: Names that no run has, but that an earlier or careless program would write to.
_FORESEEABLE = (".report.html.partial", ".run.json.partial", ".pippin-lock", ".pippin-staging", "device-error.md")


def hostile_folders(bench: Bench, only: tuple[str, ...] = ()) -> Tally:
    """Every name of a run, in every kind, under report, resume, predict and a new run into the same folder."""
    job, tally = bench.tool, Tally()
    assert isinstance(job, PippinJob)
    source = bench.killed_run()
    names = sorted({path.relative_to(source / RUN).parts[0] for path in (source / RUN).rglob("*")} | set(_FORESEEABLE))
    commands = {
        "report": ["report", RUN],
        "resume": ["resume", RUN],
        "predict": ["predict", RUN, "--text", "the dog", "--quiet"],
        "train": job.command("--overwrite_output_dir"),
    }
    for name in only or names:
        for kind in KINDS:
            for command, words in commands.items():
                folder = bench.fresh("hostile")
                shutil.copytree(source, folder, dirs_exist_ok=True, symlinks=True)
                secret = folder / "outside" / "authorized_keys"
                secret.parent.mkdir()
                secret.write_text("mine\n")
                _plant(folder / RUN / name, kind, secret)
                child = job.call(folder, words, "hostile")
                tally.trials += 1
                try:
                    code = child.wait()
                except TimeoutError:
                    tally.fail(folder, f"{command} hangs with a {kind} as {name}")
                    continue
                untouched = secret.read_text() == "mine\n" and os.listdir(secret.parent) == [secret.name]
                tally.count("nothing outside changed", untouched)
                tally.count("refused in words", code == 2)
                tally.count("went on", code == 0)
                if not untouched or code not in (0, 2) or child.crashed:
                    tally.fail(folder, f"{command}, {kind} as {name}: exit code {code}, {last_line(child)}")
    return tally


def _plant(path: Path, kind: str, secret: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    if kind == "symbolic link":
        path.symlink_to(secret)
    elif kind == "link to a folder":
        path.symlink_to(secret.parent)
    elif kind == "hard link":
        path.hardlink_to(secret)
    elif kind == "FIFO":
        os.mkfifo(path)
    else:
        path.mkdir()
