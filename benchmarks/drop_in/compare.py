"""Scripts for Hugging Face's Trainer, run as they are by `python SCRIPT` and by `pippin exec SCRIPT`, in turns.

    python benchmarks/drop_in/compare.py [--data ../shared/data] [--scripts glue,weighted] [--rows 1024] [--rounds 3]

The data folder holds `trec/` and `glue/MRPC/`. All fine-tune the built-in model, without dropout, so that losses can be
compared: what counts as equal is the script's whole output folder. Seconds are those of the process from outside, of
train() with its evaluations, and of evaluate(), as the Trainers log them. A script that needs a package which is not
installed is left out.
"""

from __future__ import annotations

import argparse
import ast
import csv
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "speed"))
import rows  # noqa: E402
from comparing import Figures, chosen, compared, interleaved, recording  # noqa: E402
from model_folders import builtin_model  # noqa: E402
from outputs import apart, seconds, values  # noqa: E402

SCRIPTS = Path(__file__).resolve().parent / "scripts"
SIDES = {"python": [sys.executable], "pippin exec": [sys.executable, "-m", "pippin", "exec"]}
#: Figure -> the heading of its column.
TIMES = {
    "process_seconds": "process",
    "cpu_seconds": "its CPU",
    "train_seconds": "train()",
    "eval_seconds": "evaluate()",
}


@dataclass(frozen=True)
class Job:
    """A script and what to type behind it; names in braces are filled in."""

    script: str
    words: str


USUAL = "--model {model} --epochs {epochs} --logging_steps {every} --output_dir out"
ON_TREC = f"--train {{trec}}.csv --dev {{trec_test}}.csv {USUAL}"
GLUE = (
    "--model_name_or_path {model} --train_file {mrpc}.csv --validation_file {mrpc_test}.csv --do_train --do_eval "
    "--per_device_train_batch_size 32 --learning_rate 2e-5 --num_train_epochs {epochs} --save_strategy no "
    "--logging_steps {every} --report_to none --cache_dir cache --output_dir out"
)
STREAMED = (
    "--train_file {trec}.jsonl --test_file {trec_test}.jsonl --model {model} --max_steps {steps} "
    "--logging_steps {every} --output_dir out"
)
JOBS = {
    "glue": Job("glue.py", GLUE),
    "glue_dynamic": Job("glue.py", f"{GLUE} --pad_to_max_length False"),
    "own_csv": Job("own_csv.py", f"{{trec}}.csv {USUAL} --batch_size 32"),
    "streamed": Job("streamed.py", STREAMED),
    "streamed_workers": Job("streamed.py", f"{STREAMED} --num_workers 2"),
    "weighted": Job("weighted.py", f"{ON_TREC} --batch_size 32"),
    "callbacks": Job("callbacks.py", ON_TREC),
    "search": Job("search.py", f"{{trec}}.csv {{trec_test}}.csv {USUAL} --rates 2e-5 5e-5"),
    "hooks": Job(
        "hooks.py",
        "--train_csv {trec}.csv --eval_csv {trec_test}.csv --model_name {model} --batch_size 32 --epochs {epochs} "
        "--learning_rate 0.01 --logging_steps {every} --output_dir out",
    ),
    "lora": Job("lora.py", ON_TREC),
    "tagging": Job("tagging.py", f"{ON_TREC} --batch_size 32"),
    "translation": Job(
        "translation.py",
        "--train {mrpc}.csv --dev {mrpc_test}.csv --model {writes} --epochs {epochs} --logging_steps {every} "
        "--output_dir out",
    ),
}


def missing_packages(script: Path) -> list[str]:
    """What a script imports and this computer does not have."""
    names = set()
    for node in ast.walk(ast.parse(script.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    packages = {name.partition(".")[0] for name in names} - {"optuna"}  # search.py wants it by a flag of its own only
    return sorted(name for name in packages if find_spec(name) is None)


def prepared(data: Path, count: int, tests: int, scratch: Path) -> dict[str, str]:
    """Files of rows in the forms that the scripts read; gives the names without their endings."""
    found = {}
    for name, (train, test) in rows.find(data, "trec,mrpc").items():
        for end, part in (("", train.sample(count)), ("_test", test.sample(tests))):
            path = scratch / f"{name}{end}"
            part.write(path.with_suffix(".jsonl"))
            with path.with_suffix(".csv").open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(["text", "label"] if part.pairs is None else ["sentence1", "sentence2", "label"])
                writer.writerows(zip(part.texts, *([part.pairs] if part.pairs else []), part.labels, strict=True))
            found[path.name] = str(path)
    return found


def without_dropout(model: Path, folder: Path) -> Path:
    """A copy of a model whose configuration has no dropout."""
    shutil.copytree(model, folder)
    config = json.loads((folder / "config.json").read_text())
    config.update(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, classifier_dropout=0.0)
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def that_writes(model: Path, folder: Path) -> Path:
    """An encoder-decoder with random weights and another model's tokenizer."""
    import torch
    from transformers import AutoTokenizer, T5Config, T5ForConditionalGeneration

    tokenizer = AutoTokenizer.from_pretrained(model)
    config = T5Config(
        vocab_size=len(tokenizer), d_model=256, d_kv=32, d_ff=1024, num_layers=4, num_heads=8, dropout_rate=0.0,
        pad_token_id=tokenizer.pad_token_id, eos_token_id=tokenizer.sep_token_id,
        decoder_start_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    torch.manual_seed(0)
    T5ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def run(side: str, job: Job, names: dict[str, str], folder: Path) -> Figures:
    """One run in a folder of its own, where its outputs stay until the next."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    words = [word.format(**names) for word in job.words.split()]
    command = [*SIDES[side], str(SCRIPTS / job.script), *words]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    offline = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    ended = subprocess.run(
        command, cwd=folder, env={**os.environ, **offline}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    taken, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode:
        raise RuntimeError(f"exit code {ended.returncode}: {ended.stdout[-2000:]}")
    said = [line for line in ended.stdout.splitlines() if line.startswith("pippin: ")]
    if any("rows go through" in line for line in said) != (side == "pippin exec"):
        raise RuntimeError(f"whose Trainer was it? {said}")
    return {
        "process_seconds": round(taken, 2),
        "cpu_seconds": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2),
        "train_seconds": seconds(folder / "out", "train_runtime"),
        "eval_seconds": seconds(folder / "out", "eval_runtime"),
        "said": said,
    }


def same(folders: dict[str, Path]) -> Figures:
    """How far apart the outputs of the last round are."""
    theirs, ours = (values(folder / "out") for folder in folders.values())
    found = apart(theirs, ours)
    flipped = [name for name in found.unlike if name.endswith(".prediction")]
    return {
        "losses_apart": found.most(r"trainer_state\.json:.*\.loss$"),
        "metrics_apart": found.most(r"results\.json:eval_(?!samples)"),
        "weights_apart": found.most(r"^[^:]*\.safetensors:"),
        "predictions_unlike": len(flipped),
        "unlike": sorted(set(found.unlike) - set(flipped)) + found.only_in_one,
    }


def measure(job: Job, names: dict[str, str], rounds: int, scratch: Path) -> Figures:
    """Both sides of one script."""
    folders = {side: scratch / "runs" / side for side in SIDES}
    ways = {side: partial(run, side, job, names, folders[side]) for side in SIDES}
    found = interleaved(ways, rounds, say="process_seconds")
    if any("error" in one for side in found.values() for one in side):
        return {"rounds": found}
    times = {figure: compared(found, ("python",), figure, more_is_better=False) for figure in TIMES}
    return {
        **{
            figure: {
                **{side: times[figure][side][figure] for side in SIDES},
                "times faster": times[figure]["pippin exec"].get("times python"),
            }
            for figure in TIMES
            if all(one[figure] for side in found.values() for one in side)
        },
        **same(folders),
        "rounds": found,
    }


def table(figures: dict[str, Figures]) -> Iterator[str]:
    """Seconds of both sides, how many times faster Pippin is, and how far apart the results are."""
    yield f"{'':20}" + "".join(f"{heading:>26}" for heading in TIMES.values()) + "   losses  metrics  weights apart"
    for name, one in figures.items():
        if "losses_apart" not in one:
            errors = [run["error"] for side in one["rounds"].values() for run in side if "error" in run]
            yield f"{name:20} failed: {errors[0].splitlines()[-1]}"
            continue
        cells = ""
        for figure in TIMES:
            found = one.get(figure)
            words = (
                f"{found['python']:.1f} → {found['pippin exec']:.1f} s  {found['times faster']['median']:.2f}×"
                if found
                else "-"
            )
            cells += f"{words:>26}"
        yield f"{name:20}{cells}  {one['losses_apart']:7.1e}  {one['metrics_apart']:7.1e}  {one['weights_apart']:7.1e}"
        if one["unlike"]:
            yield f"{'':20}not alike: {', '.join(one['unlike'][:3])}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--scripts", help=f"of {', '.join(JOBS)}")
    parser.add_argument("--rows", type=int, default=1024)
    parser.add_argument("--tests", type=int, default=400, help="rows to evaluate on")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--logging_steps", type=int, default=1)
    parser.add_argument("--model", type=Path, help="a folder; the built-in one without")
    parser.add_argument("--name", default="drop_in", help="of the recorded file")
    parser.add_argument("--results", type=Path, default=recording.RESULTS)
    arguments = parser.parse_args()
    figures: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        names = {
            **prepared(arguments.data, arguments.rows, arguments.tests, scratch),
            "model": str(without_dropout(arguments.model or Path(builtin_model()), scratch / "model")),
            "writes": str(that_writes(arguments.model or Path(builtin_model()), scratch / "writes")),
            "epochs": str(arguments.epochs),
            "steps": str(arguments.epochs * -(-arguments.rows // 32)),
            "every": str(arguments.logging_steps),
        }
        for name, job in chosen(JOBS, arguments.scripts).items():
            lacking = missing_packages(SCRIPTS / job.script)
            if lacking:
                print(f"\n{name} is left out: {', '.join(lacking)} not installed", flush=True)
                continue
            print(f"\n{name}", flush=True)
            figures[name] = measure(job, names, arguments.rounds, scratch)
    print("", *table(figures), sep="\n")
    settings = {name: getattr(arguments, name) for name in ("rows", "tests", "epochs", "rounds")}
    print(recording.record(arguments.name, {**settings, "scripts": figures}, arguments.results))
    return int(not all("losses_apart" in one for one in figures.values()))


if __name__ == "__main__":
    raise SystemExit(main())
