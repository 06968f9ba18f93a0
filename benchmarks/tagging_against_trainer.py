"""Entity F1 on test rows: Pippin beside run_ner.py's way under the Trainer, and Pippin's own hyper-parameters.

    python benchmarks/tagging_against_trainer.py FOLDER --names wnut,wikiann [--model FOLDER] [--seeds 1,2,3]

FOLDER holds NAME_train.jsonl and NAME_test.jsonl with the columns tokens and tags. `trainer` and `pippin` share
run_ner.py's hyper-parameters (learning rate 5e-5, 3 epochs, batch 8); `automatic` names none. F1 is counted by Pippin
on all sides, as its tests hold it against seqeval.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from recording import RESULTS, record
from trec_against_trainer import paired

WAYS = ("trainer", "pippin", "automatic")


def with_trainer(train: Path, test: Path, model: str, seed: int) -> float:
    import numpy as np
    from transformers import (
        AutoModelForTokenClassification,
        AutoTokenizer,
        DataCollatorForTokenClassification,
        Trainer,
        TrainingArguments,
        set_seed,
    )

    from pippin.data.tables import read_table
    from pippin.models.labels import Labels
    from pippin.tasks.tokens.metrics import Scored, score
    from pippin.tasks.tokens.task import TokensTask

    set_seed(seed)
    tokenizer = AutoTokenizer.from_pretrained(model)
    tables = [read_table(path).columns for path in (train, test)]
    names = sorted({tag for table in tables for row in table["tags"] for tag in row})

    def features(table: dict) -> list[dict]:
        encoded = tokenizer(table["tokens"], is_split_into_words=True, truncation=True, max_length=128)
        rows = []
        for place, row in enumerate(table["tags"]):
            own = encoded.word_ids(place)
            first = [word is not None and word != before for before, word in zip([None, *own], own, strict=False)]
            labels = [names.index(row[word]) if is_first else -100 for word, is_first in zip(own, first, strict=True)]
            rows.append({**{name: encoded[name][place] for name in encoded}, "labels": labels})
        return rows

    with tempfile.TemporaryDirectory() as out:
        trainer = Trainer(
            AutoModelForTokenClassification.from_pretrained(model, num_labels=len(names)).float(),
            TrainingArguments(
                out, seed=seed, report_to=[], save_strategy="no", disable_tqdm=True, per_device_eval_batch_size=64
            ),  # fmt: skip
            DataCollatorForTokenClassification(tokenizer),
            train_dataset=features(tables[0]),
        )
        trainer.train()
        found = trainer.predict(features(tables[1]))
    counted = found.label_ids != -100
    rows = np.broadcast_to(np.arange(len(counted))[:, None], counted.shape)[counted]
    scored = Scored(found.predictions.argmax(-1)[counted], found.label_ids[counted], rows, rows, rows)
    return score(TokensTask(labels=Labels(tuple(names))), scored)["f1"]


def with_pippin(train: Path, test: Path, model: str, seed: int, **settings: object) -> float:
    import pippin

    with tempfile.TemporaryDirectory() as out:
        report = pippin.train(
            train, test_file=str(test), model_name_or_path=model, seed=seed, output_dir=out + "/run", quiet=True,
            **settings,
        )  # fmt: skip
    return report.results["test_f1"]


def run(way: str, folder: Path, name: str, model: str, seed: int) -> float:
    import torch

    torch.set_num_threads(2)
    files = folder / f"{name}_train.jsonl", folder / f"{name}_test.jsonl"
    if way == "trainer":
        return with_trainer(*files, model, seed)
    classic = {"do_train": True, "do_predict": True, "task_name": "ner"} if way == "pippin" else {}
    return with_pippin(*files, model, seed, **classic)


def main() -> None:
    from pippin.models.loading import resolve_model

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--names", default="wnut,wikiann")
    parser.add_argument("--model", default=None)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    names, ways, seeds = (getattr(arguments, each).split(",") for each in ("names", "ways", "seeds"))
    figures: dict[str, dict] = {}
    with ProcessPoolExecutor(arguments.processes, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        jobs = {
            (name, way, seed): pool.submit(run, way, arguments.folder, name, resolve_model(arguments.model), int(seed))
            for name in names
            for seed in seeds
            for way in ways
        }
        for (name, way, seed), job in jobs.items():
            figures.setdefault(name, {}).setdefault(way, []).append(round(job.result(), 4))
            print(f"{name:12} {way:10} seed {seed} {figures[name][way][-1]:.4f}", flush=True)
    for name, scores in figures.items():
        print(name, {way: round(statistics.mean(values), 4) for way, values in scores.items()})
        if "trainer" in scores:
            figures[name]["minus trainer"] = {
                way: paired(scores[way], scores["trainer"]) for way in ways if way != "trainer"
            }
    print(record("tagging_against_trainer", figures, arguments.results))


if __name__ == "__main__":
    main()
