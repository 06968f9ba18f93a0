"""What each process of a group runs in the tests: every kind of job, by the Python API.

python every_job.py MODEL FOLDER [SETTING=VALUE …]: runs in FOLDER/JOB; the report of each job is printed as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch

sys.path[:0] = [str(Path(__file__).parents[1])]

import pippin  # noqa: E402
from helpers import make_rows  # noqa: E402
from pippin.engine.group import joined  # noqa: E402
from pippin.machine.launch import place_here  # noqa: E402
from pippin.tasks import registry  # noqa: E402
from toy_task import VowelTask  # noqa: E402

#: The settings of each, beside those that all have. Of 13 rows a batch, no two processes get as many.
JOBS = {
    "classes": {"test": "rows.json", "label_smoothing_factor": 0.1, "load_best_model_at_end": True},
    "numbers": {"label_column": "size", "do_regression": True, "warmup_steps": 2},
    "tokens": {"task_name": "vowels", "data_dir": "letters"},
    "head": {"freeze": "core"},
    "layers": {"freeze": "1", "gradient_accumulation_steps": 2, "class_weights": "balanced"},
    "short": {"max_train_samples": 30, "batch_size": 3},  # fewer rows than shards
}


def write_data() -> None:
    """In the current folder, the same for all."""
    rows = [{**row, "size": len(row["text"]) / 10} for row in make_rows(120)]
    Path("rows.json").write_text(json.dumps(rows))
    Path("letters").mkdir()
    for seed, (split, count) in enumerate({"train": 60, "validation": 20, "test": 20}.items()):
        lines = [row["text"] for row in make_rows(count, seed=seed)]
        Path(f"letters/{split}.csv").write_text("\n".join(["text", *lines]) + "\n")


def main(model: str, folder: str, *settings: str) -> None:
    registry.register(VowelTask())
    more = dict(each.split("=") for each in settings)
    wanted = more.pop("jobs", ",".join(JOBS)).split(",")
    with joined(place_here()):  # one group for all jobs, as in a program that trains several models
        for name in wanted:
            own = {"batch_size": 13, "max_steps": 5, "eval_strategy": "steps", "eval_steps": 2, **JOBS[name], **more}
            data = None if "task_name" in own else "rows.json"
            if data:
                own = {"text_column": "text", "label_column": "label", **own}
            report = pippin.train(data, model=model, output=f"{folder}/{name}", quiet=True, **own)
            print(json.dumps({"job": name, "results": report.results}), flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(*sys.argv[1:])
