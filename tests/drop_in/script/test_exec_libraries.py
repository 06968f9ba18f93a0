"""A script in the manner of an old run_glue.py: what it imports, gives and fetches, with today's libraries."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("datasets")
pytest.importorskip("evaluate")
pytest.importorskip("accelerate")

SOURCE = Path(__file__).parents[3] / "src"

A_PACKAGE = """
from transformers import Trainer
class TheirTrainer(Trainer):
    pass
"""

OLD_SCRIPT = """
import json
from dataclasses import dataclass, field

import datasets
import evaluate
import numpy as np
from datasets import load_dataset
from transformers import Trainer, TrainingArguments
from transformers import AdamW, AutoConfig, AutoModelForSequenceClassification, AutoTokenizer, HfArgumentParser
from transformers import Seq2SeqTrainer, Seq2SeqTrainingArguments
import transformers
from transformers.trainer import Trainer as SameTrainer
from transformers.training_args import TrainingArguments as SameArguments
from transformers.utils import check_min_version, send_example_telemetry
import a_package

check_min_version("4.30.0")


@dataclass
class Own:
    model: str
    task_name: str
    use_auth_token: bool = field(default=False)


own, args = HfArgumentParser((Own, TrainingArguments)).parse_args_into_dataclasses()
send_example_telemetry("old_script", own)
token = {"use_auth_token": True if own.use_auth_token else None}
rows = load_dataset("glue", own.task_name, **token)
config = AutoConfig.from_pretrained(own.model, num_labels=2, finetuning_task=own.task_name, **token)
tokenizer = AutoTokenizer.from_pretrained(own.model, use_fast=True, **token)
model = AutoModelForSequenceClassification.from_pretrained(own.model, config=config, **token)
rows = rows.map(lambda row: tokenizer(row["sentence1"], row["sentence2"], truncation=True), batched=True)
metric = evaluate.load("glue", own.task_name)


def compute_metrics(predicted):
    return metric.compute(predictions=np.argmax(predicted.predictions, axis=1), references=predicted.label_ids)


trainer = Trainer(
    model=model, args=args, train_dataset=rows["train"], eval_dataset=rows["validation"],
    compute_metrics=compute_metrics, tokenizer=tokenizer,
)
trainer.train()
found = trainer.evaluate()
csv = load_dataset("csv", data_files="rows.csv", use_auth_token=None, task="text-classification")

def is_ours(kind, home):
    return any(base.__module__ == f"pippin.drop_in.{home}" for base in kind.__mro__)


print("FOUND", json.dumps({
    "trainer is ours": is_ours(Trainer, "trainer") and is_ours(type(trainer), "trainer"),
    "seq2seq is ours": is_ours(Seq2SeqTrainer, "trainer"),
    "every way to import": SameTrainer is Trainer is transformers.Trainer is transformers.trainer.Trainer,
    "arguments": SameArguments is TrainingArguments is transformers.TrainingArguments,
    "arguments are ours": is_ours(type(args), "arguments"),
    "seq2seq arguments": is_ours(Seq2SeqTrainingArguments, "arguments"),
    "packages": issubclass(a_package.TheirTrainer, Trainer),
    "splits": {name: len(part) for name, part in rows.items()},
    "classes": rows["train"].features["label"].names,
    "labels": [rows["train"]["label"][:3], rows["test"]["label"][:1]],
    "keys": sorted(found),
    "kinds": [type(metric).__name__, type(AdamW([model.classifier.bias])).__name__],
    "csv rows": len(csv["train"]),
    "old metric": datasets.load_metric("accuracy").compute(predictions=[1, 0], references=[1, 1]),
    "combined": evaluate.combine(["accuracy", "f1"]).compute(predictions=[1, 0], references=[1, 1]),
}))
"""


@pytest.fixture
def glue_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "glue_data" / "MRPC"
    folder.mkdir(parents=True)
    header, rows = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String", ["the cat\tthe dog", "my soup\tyour soup"] * 8
    for name in ("train", "dev"):
        (folder / f"{name}.tsv").write_text(
            "\n".join([header, *(f"{n % 2}\t1\t2\t{row}" for n, row in enumerate(rows))])
        )
    header = header.replace("Quality", "index")
    (folder / "test.tsv").write_text("\n".join([header, *(f"{n}\t1\t2\t{row}" for n, row in enumerate(rows[:4]))]))
    return folder.parent


def test_old_script_runs_with_our_classes_metrics_and_rows(tmp_path: Path, tiny_model: Path, glue_folder: Path) -> None:
    (tmp_path / "old_script.py").write_text(OLD_SCRIPT)
    (tmp_path / "a_package.py").write_text(A_PACKAGE)
    (tmp_path / "rows.csv").write_text("text,label\na,0\nb,1\n")
    flags = "--do_train --max_steps 2 --per_device_train_batch_size 4 --overwrite_output_dir --use_mps_device"
    command = [sys.executable, "-m", "pippin", "exec", "--data_dir", str(glue_folder), "old_script.py"]
    done = subprocess.run(
        [*command, "--model", str(tiny_model), "--task_name", "mrpc", "--output_dir", "out", *flags.split()],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE), "HF_HOME": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "1"},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.partition("FOUND ")[2].splitlines()[0])
    assert {name for name, value in found.items() if value is False} == set()
    assert found["splits"] == {"train": 16, "validation": 16, "test": 4}
    assert found["classes"] == ["not_equivalent", "equivalent"]
    assert found["labels"] == [[0, 1, 0], [-1]]
    assert {"eval_accuracy", "eval_f1", "eval_loss"} <= set(found["keys"])
    assert found["kinds"] == ["LocalMetric", "AdamW"]
    assert found["csv rows"] == 2
    assert found["old metric"] == {"accuracy": 0.5}
    assert found["combined"] == {"accuracy": 0.5, "f1": pytest.approx(2 / 3)}
    notes = [line for line in done.stderr.splitlines() if line.startswith("pippin: ")]
    assert sum("Trainer and TrainingArguments are Pippin's" in note for note in notes) == 1
    assert any("load_dataset('glue', 'mrpc'): from" in note for note in notes)
    assert any("evaluate.load('glue', 'mrpc'): computed by Pippin, since HF_HUB_OFFLINE=1" in note for note in notes)


FIRST_IMPORTS = {
    "a module that needs one of them half way": "from transformers.integrations import TensorBoardCallback",
    "both at once": "from transformers import Trainer, TrainingArguments as first",
    "one of them alone": "import transformers; first = transformers.TrainingArguments",
}
CHECK_CLASSES = """
from transformers import Trainer, TrainingArguments
import transformers
for kind in (globals().get("first", Trainer), Trainer, TrainingArguments, transformers.Trainer):
    print(any(base.__module__.startswith("pippin.") for base in kind.__mro__))
"""


@pytest.mark.parametrize("first", FIRST_IMPORTS)
def test_classes_are_ours_whatever_is_imported_first(tmp_path: Path, first: str) -> None:
    (tmp_path / "imports.py").write_text(FIRST_IMPORTS[first] + CHECK_CLASSES)
    done = subprocess.run(
        [sys.executable, "-m", "pippin", "exec", "imports.py"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )
    assert done.stdout.split() == ["True"] * 4, done.stderr


def test_nothing_is_replaced_in_this_process() -> None:
    import evaluate
    import transformers

    assert transformers.Trainer.__module__ == "transformers.trainer"
    assert evaluate.load.__closure__ is None
    assert not {"AfterImport", "EvaluateStandIn"} & {type(finder).__name__ for finder in sys.meta_path}
