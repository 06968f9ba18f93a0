"""Hugging Face's own tests of the Trainer, with transformers' classes and with Pippin's in their place.

    python benchmarks/drop_in/hugging_face_tests.py CHECKOUT [--tests tests/trainer] [-k EXPRESSION]

CHECKOUT is a checkout of huggingface/transformers, best of the release that is installed. Its tests run twice, by
`python -m pytest` and by `pippin exec -m pytest`, without the Hub: those that need it fail on both sides. Needed beside
what Pippin's own tests need: `pip install parameterized`. Printed and recorded is what passes on one side alone.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import recording  # noqa: E402

SIDES = {"transformers": [], "pippin": ["-m", "pippin", "exec"]}
#: Loaded by pytest as a plugin: the file itself is left out of the checkout.
PLUGIN = """
def pytest_terminal_summary(terminalreporter):
    import transformers
    homes = (transformers.Trainer.__module__, transformers.TrainingArguments.__module__)
    terminalreporter.write_line("\\nTrainer of " + ", ".join(homes))
"""


def outcomes(side: str, checkout: Path, tests: str, expression: str, scratch: Path) -> dict[str, str]:
    """By test: passed, failed, error or skipped."""
    report = scratch / f"{side}.xml"
    (scratch / "whose_trainer.py").write_text(PLUGIN)
    words = ["-m", "pytest", tests, "-q", "-p", "whose_trainer", "-p", "no:cacheprovider", f"--junitxml={report}"]
    command = [sys.executable, *SIDES[side], *words, "--continue-on-collection-errors", "-k", expression]
    path = os.pathsep.join(filter(None, [str(scratch), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": path}
    ended = subprocess.run(
        command, cwd=checkout, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    whose = re.search(r"^Trainer of (.*)$", ended.stdout, re.MULTILINE)
    if whose is None or not report.exists() or any(side not in place for place in whose[1].split(", ")):
        raise SystemExit(f"{side}: the tests could not be run\n{ended.stdout[-3000:]}")
    found = {}
    for case in ElementTree.parse(report).iter("testcase"):
        kinds = {child.tag for child in case}
        outcome = next((kind for kind in ("error", "failure", "skipped") if kind in kinds), "passed")
        found[f"{case.get('classname')}::{case.get('name')}"] = outcome
    return found


def version_of(checkout: Path) -> str:
    text = (checkout / "src" / "transformers" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(.*)"', text, re.MULTILINE)
    return found[1] if found else "unknown"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--tests", default="tests/trainer")
    parser.add_argument("-k", dest="expression", default="", help="as pytest takes it")
    parser.add_argument("--name", default="hugging_face_tests", help="of the recorded file")
    parser.add_argument("--results", type=Path, default=recording.RESULTS)
    arguments = parser.parse_args()
    if not (arguments.checkout / arguments.tests).exists():
        raise SystemExit(f"{arguments.checkout / arguments.tests}: there is nothing. Name a checkout of transformers.")
    with tempfile.TemporaryDirectory() as scratch:
        found = {
            side: outcomes(side, arguments.checkout.resolve(), arguments.tests, arguments.expression, Path(scratch))
            for side in SIDES
        }
    passed = {side: {test for test, outcome in one.items() if outcome == "passed"} for side, one in found.items()}
    lost, gained = (sorted(passed[one] - passed[other]) for one, other in (SIDES, [*SIDES][::-1]))
    for side, one in found.items():
        counts = {outcome: [*one.values()].count(outcome) for outcome in ("passed", "failure", "error", "skipped")}
        print(f"{side:14}" + "".join(f"{count:6} {outcome}" for outcome, count in counts.items()))
    print(f"{len(passed['transformers']) - len(lost)} of {len(passed['transformers'])} that pass pass under Pippin")
    for title, names in (("only under transformers", lost), ("only under Pippin", gained)):
        print(*[f"{title}: {name}" for name in names], sep="\n", end="\n" if names else "")
    figures = {
        "tests_of": version_of(arguments.checkout),
        "pass_under_transformers": len(passed["transformers"]),
        "of_these_under_pippin": len(passed["transformers"]) - len(lost),
        "only_under_transformers": lost,
        "only_under_pippin": gained,
        "on_neither_side": sorted(
            test for test, outcome in found["transformers"].items() if outcome in ("failure", "error")
        ),
        "skipped": [*found["transformers"].values()].count("skipped"),
    }
    print(recording.record(arguments.name, figures, arguments.results))
    return int(bool(lost))


if __name__ == "__main__":
    raise SystemExit(main())
