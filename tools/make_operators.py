"""Make src/pippin/machine/operators.txt: what torch's Apple GPU backend can run, in every release.

    python tools/make_operators.py

Downloads the macOS wheel of each minor release of torch with pip (2 GB in all, one at a time, deleted when read) and
reads its list of operators with its own torchgen. Needs neither a Mac nor torch. The same wheels give the same file.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from pippin.machine.operators import BY_HAND, DATA, FORMAT, Fact, Operator

OLDEST = (1, 12)
#: Patch releases of the first two: 1.12.1 brought 27 operators.
PATCHES = ("1.12.1", "1.13.1")
PLATFORMS = ("macosx_11_0_arm64", "macosx_14_0_arm64")

HEADER = """\
# What torch's Apple GPU backend registers, by release. Made by tools/make_operators.py: do not edit.
# OPERATOR RELEASE=FACTS>DELEGATE ...: from RELEASE on; `-`: no such operator; letters: Fact in machine/operators.py.
"""

# What is registered by hand is in no yaml. It was read out of libtorch_cpu.dylib of every macOS wheel up to LAST_READ:
# the strings that the functions TORCH_LIBRARY_IMPL_init_aten_MPS_* pass on. In the source these are the lists of
# aten/src/ATen/mps/MPSFallback.mm and, for HAND_NATIVE, the bitwise operators of that time.
LAST_READ = "2.15.0"
_SVD = "linalg_svd linalg_svd.U"
_SHIFTS = "bitwise_left_shift.Tensor_out bitwise_right_shift.Tensor_out"
_BITWISE = "bitwise_and.Tensor_out bitwise_or.Tensor_out bitwise_xor.Tensor_out bitwise_not.out"
_REPEAT = "repeat_interleave.Tensor repeat_interleave.self_Tensor repeat_interleave.self_int"
_FFT = "_fft_c2c _fft_r2c"
#: Each list holds from its release until the next one that is named.
REGISTERED = {
    Fact.ALWAYS_CPU: {
        "1.12.0": f"embedding_renorm_ {_SVD} {_SHIFTS} {_BITWISE} {_REPEAT} {_FFT}"
        " linalg_vector_norm sgn.out nonzero masked_select",
        "1.13.0": f"embedding_renorm_ {_SVD} {_SHIFTS} {_REPEAT} {_FFT} linalg_vector_norm sgn.out nonzero",
        "2.0.0": f"embedding_renorm_ {_SVD} {_SHIFTS} im2col col2im linalg_vector_norm sgn.out upsample_nearest3d.vec",
        "2.1.0": f"embedding_renorm_ {_SVD} {_SHIFTS} im2col col2im sgn.out upsample_nearest3d.vec",
        "2.2.0": f"embedding_renorm_ {_SVD} {_SHIFTS} im2col col2im upsample_nearest3d.vec",
        "2.5.0": f"embedding_renorm_ {_SVD} im2col col2im upsample_nearest3d.vec",
        "2.6.0": f"embedding_renorm_ {_SVD} col2im upsample_nearest3d.vec",
        "2.8.0": f"embedding_renorm_ {_SVD}",
        "2.14.0": "embedding_renorm_",
    },
    Fact.HAND_NATIVE: {"1.13.0": _BITWISE, "2.1.0": ""},
    # Says that input and weight are on different devices; with both on the GPU it is an internal error.
    Fact.REFUSES: {"1.13.0": "_slow_conv2d_forward"},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=DATA, help=f"the file to write (default: {DATA})")
    output = parser.parse_args().output
    tables = {}
    for release in list_releases():
        start = time.perf_counter()
        tables[release] = register_by_hand(release, read_release(release))
        counts = [sum(fact in operator.facts for operator in tables[release].values()) for fact in (Fact.MPS, Fact.CPU)]
        print(
            f"torch {release}: {len(tables[release])} operators, {counts[0]} with an MPS kernel, {counts[1]} with a"
            f" CPU kernel ({time.perf_counter() - start:.0f} s)",
            flush=True,
        )
        if sort_key(release) > sort_key(LAST_READ):
            print(f"  what it registers by hand is taken from {LAST_READ}: read its binary, then update REGISTERED")
    output.write_text(write_tables(tables), encoding="utf-8", newline="\n")
    print(f"{output}: {output.stat().st_size / 1000:.0f} kB")


def sort_key(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("."))


def python_version(release: str) -> str:
    """A Python that the release has wheels for, as pip writes it."""
    return "310" if release.startswith("1.") else "311"


def pip(*arguments: str, release: str) -> str:
    """Run pip for a Mac with the Python of a release, and return what it prints."""
    target = [word for platform in PLATFORMS for word in ("--platform", platform)]
    target += ["--python-version", python_version(release), "--only-binary=:all:", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", *arguments, *target]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def list_releases() -> list[str]:
    """The first release of every minor one that pip finds for a Mac, and the patches named above."""
    found = set()
    for example in ("1.12.0", "2.0.0"):
        line = re.search(r"Available versions: (.*)", pip("index", "versions", "torch", release=example))
        if not line:
            raise SystemExit("pip index versions torch: no line of available versions; is this another pip?")
        found |= {each for each in line[1].split(", ") if python_version(each) == python_version(example)}
    firsts: dict[tuple[int, ...], str] = {}
    for release in sorted(found, key=sort_key):
        firsts.setdefault(sort_key(release)[:2], release)
    chosen = {release for minor, release in firsts.items() if minor >= OLDEST} | (found & set(PATCHES))
    return sorted(chosen, key=sort_key)


def read_release(release: str) -> dict[str, Operator]:
    """Download a release's wheel, and read its operators in a process that sees its torchgen."""
    with tempfile.TemporaryDirectory(prefix="torch-wheel-") as name:
        folder = Path(name)
        pip("download", "--quiet", "--no-deps", "--no-cache-dir", "--dest", name, f"torch=={release}", release=release)
        (wheel,) = folder.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder, [each for each in archive.namelist() if each.startswith("torchgen/")])
        wheel.unlink()
        code = (
            "from pippin.machine.operators import read_torchgen\n"
            "import torchgen\n"
            f"assert torchgen.__file__.startswith({name!r}), torchgen.__file__\n"
            "for name, operator in read_torchgen(): print(name, operator)"
        )
        paths = [name, *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        command = [sys.executable, "-c", code]
        printed = subprocess.run(
            command, check=True, stdout=subprocess.PIPE, text=True, env=environment, cwd=name
        ).stdout
    return {each.split()[0]: Operator.parse(each.split()[1]) for each in printed.splitlines()}


def register_by_hand(release: str, operators: dict[str, Operator]) -> dict[str, Operator]:
    """Add what the yaml does not say."""
    added: dict[str, set[Fact]] = {}
    for fact, lists in REGISTERED.items():
        started = [each for each in lists if sort_key(each) <= sort_key(release)]
        for name in lists[started[-1]].split() if started else []:
            added.setdefault(name, set()).add(fact)
    if missing := sorted(set(added) - set(operators)):
        raise SystemExit(f"torch {release} has no operator {', '.join(missing)}: REGISTERED is wrong")
    assert not any(operator.facts & BY_HAND for operator in operators.values())
    return {
        name: Operator(operator.facts | added.get(name, set()), operator.delegate)
        for name, operator in operators.items()
    }


def write_tables(tables: dict[str, dict[str, Operator]]) -> str:
    """All releases in one text: a line for every operator, with the releases in which it changed."""
    lines = [f"format {FORMAT}", " ".join(["releases", *tables])]
    for name in sorted({name for operators in tables.values() for name in operators}):
        line, before = name, "-"
        for release, operators in tables.items():
            state = str(operators[name]) if name in operators else "-"
            if state != before:
                line += f" {release}={state}"
            before = state
        lines.append(line)
    return HEADER + "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
