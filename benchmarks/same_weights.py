"""The weights and scores of a few jobs, for a comparison of two states of the source: they must not differ in a bit.

    python benchmarks/same_weights.py --glue DIR [--json FILE] [--against FILE]

Each job runs as a command of its own, on the CPU and on the emulated Apple GPU. With --against, exits with 1 where
anything differs from an earlier --json.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

DEVICES = {"cpu": "", "mps": "1"}
#: Figures of all_results.json that no clock decides.
_CLOCKS = ("runtime", "per_second")


def jobs(glue: Path) -> dict[str, list[list[str]]]:
    """By name: the commands of a job, one after the other; the last leaves the model in `run`."""
    mrpc = [
        "train", "--task_name", "mrpc", "--data_dir", str(glue), "--do_train", "--do_eval", "--max_seq_length", "128",
        "--per_device_train_batch_size", "32", "--learning_rate", "2e-5", "--num_train_epochs", "1", "--output_dir",
        "run", "--overwrite_output_dir", "--max_train_samples", "384", "--max_eval_samples", "128",
    ]  # fmt: skip
    short = ["train", "--max_steps", "24", "--output_dir", "run", "--logging_steps", "3"]
    return {
        "demo": [["train", "--output_dir", "run", "--overwrite_output_dir"]],
        "mrpc": [mrpc],
        "frozen core": [["train", "--freeze", "core", "--output_dir", "run"]],
        "resumed": [[*short, "--save_steps", "5", "--interrupt"], ["resume", "run"]],
        "bf16": [[*short, "--bf16"]],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--glue", type=Path, required=True, help="a folder of GLUE's own files, with MRPC in it")
    parser.add_argument("--only", default="", help="jobs and devices, as in `demo,cpu`")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--against", type=Path)
    arguments = parser.parse_args()
    found: dict[str, dict[str, object]] = {}
    for device, emulated in DEVICES.items():
        for name, commands in jobs(arguments.glue.absolute()).items():
            key = f"{name}, {device}"
            if arguments.only and not all(part in (name, device) for part in arguments.only.split(",")):
                continue
            with tempfile.TemporaryDirectory() as folder:
                found[key] = _outcome(commands, Path(folder), emulated)
            print(key, json.dumps(found[key]), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n")
    if not arguments.against:
        return 0
    wanted = json.loads(arguments.against.read_text())
    other = [key for key, outcome in found.items() if wanted.get(key) != outcome]
    print(f"{len(found) - len(other)} of {len(found)} the same" + (f"; other: {'; '.join(other)}" if other else ""))
    return int(bool(other))


def _outcome(commands: list[list[str]], folder: Path, emulated: str) -> dict[str, object]:
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "PIPPIN_CACHE": str(folder / "cache"), "HF_HUB_OFFLINE": "1"}
    environment |= {"EMULATED_MPS": emulated} if emulated else {}
    for command in commands:
        program = [sys.executable, "-m", "pippin", *command]
        if "--interrupt" in command:
            program = [sys.executable, "-c", _INTERRUPTED, *(word for word in command if word != "--interrupt")]
        done = subprocess.run(program, cwd=folder, env=environment, capture_output=True, text=True)
        if done.returncode != (143 if "--interrupt" in command else 0):
            raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    results = json.loads((folder / "run" / "all_results.json").read_text())
    weights = hashlib.sha256((folder / "run" / "model.safetensors").read_bytes()).hexdigest()
    return {"weights": weights, **{key: value for key, value in results.items() if not key.endswith(_CLOCKS)}}


#: Sends itself SIGTERM when the twelfth step is logged.
_INTERRUPTED = """
import os, signal, sys
from pippin.cli.main import main
from pippin.report.progress import TrainingProgress
shown = TrainingProgress.on_event
def on_event(self, name, figures):
    shown(self, name, figures)
    if name == "log" and figures["step"] == 12:
        os.kill(os.getpid(), signal.SIGTERM)
TrainingProgress.on_event = on_event
sys.exit(main(sys.argv[1:]))
"""

if __name__ == "__main__":
    raise SystemExit(main())
