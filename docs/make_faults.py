"""Writes docs/apple_gpu_faults.md from the table of known faults, so that the page cannot fall behind the code.

python docs/make_faults.py
"""

from __future__ import annotations

from pathlib import Path

from pippin.machine.faults import HAZARDS, Hazard, Remedy

PAGE = Path(__file__).parent / "apple_gpu_faults.md"
INTRO = """# Known faults

Some releases of torch give wrong results on the Apple GPU without any error. The numbers below are those of PyTorch's
issue tracker, where others reported these faults. If your job would meet one of them on your torch, macOS and chip,
Pippin works around it or refuses the job. The plan lists under `guards` what it can foresee.

Each entry says which releases have the fault and how we know. If a fix is visible in the code of PyTorch's macOS
packages ("wheels"), we looked there. Otherwise we go by the date of the fix: the branch of torch 2.13 was cut in the
week of 8 June 2026, and that of 2.14 in the week of 10 August. If in doubt, Pippin assumes that a fault is there for
one more release. We measured none of this on a Mac.
"""
TITLES = {
    Remedy.FEWER_ROWS: "Large batches",
    Remedy.PLAIN_ATTENTION: "Attention",
    Remedy.SAME_RANDOMNESS: "Dropout",
    Remedy.FLAT_LINEARS: "Linear layers",
    Remedy.INPUT_GRADIENT: "Normalisation",
    Remedy.REFUSAL: "Models that are refused",
    Remedy.KEPT_OFF: "Faults that can't occur with Pippin",
}
SLOW = """## Slow, but not wrong

Before torch 2.14, linear layers over one token of each row are up to 8.5 times slower in half precision (#189847).

## Faults that nobody has reported yet

Some faults show up as NaN. So every evaluation and prediction, on any device, stops if an output of the model is NaN or
infinite. The message names the file and the rows, and what you can try: the CPU, another precision, another release of
torch. If this happens while a model trains, the last step is saved first. To compare your own model with the CPU, use
[`pippin verify`](apple_gpu.md#verify).
"""


def page() -> str:
    parts = [INTRO]
    for remedy in dict.fromkeys(hazard.remedy for hazard in HAZARDS):
        parts.append(f"## {TITLES[remedy]}\n\n**What Pippin does:** {remedy.value}.\n")
        parts += [f"{entry(hazard)}\n" for hazard in HAZARDS if hazard.remedy is remedy]
    return "\n".join([*parts, SLOW])


def entry(hazard: Hazard) -> str:
    evidence = hazard.evidence[:1].upper() + hazard.evidence[1:]
    return f"- *{hazard.name}*: {hazard.wrong} ({hazard.source}; {_where(hazard)}). {evidence}."


def _where(hazard: Hazard) -> str:
    """`torch before 2.14, macOS 26, M1`: the releases and chips that have it."""
    since, fixed = (".".join(map(str, each)) for each in (hazard.since, hazard.fixed_in or ()))
    if hazard.fixed_in and any(hazard.since):
        last = f"{hazard.fixed_in[0]}.{hazard.fixed_in[1] - 1}"
        torch = f"torch {since} to {last}"
    elif hazard.fixed_in:
        torch = f"torch before {fixed}"
    else:
        torch = f"torch {since} and later" if any(hazard.since) else "every torch"
    return ", ".join(filter(None, [torch, _macos(hazard), _chips(hazard.generations)]))


def _chips(generations: tuple[int, ...]) -> str:
    if len(generations) > 2:
        return f"M{generations[0]} to M{generations[-1]}"
    return " and ".join(f"M{each}" for each in generations)


def _macos(hazard: Hazard) -> str:
    since, fixed = (each[0] if each else 0 for each in (hazard.since_macos, hazard.fixed_in_macos))
    if since and fixed:
        return f"macOS {since}" if fixed == since + 1 else f"macOS {since} to {fixed - 1}"
    return f"macOS {since} and later" if since else f"macOS before {fixed}" if fixed else ""


if __name__ == "__main__":
    PAGE.write_text(page())
