"""A script for Hugging Face's Trainer, as each of several processes runs it.

python with_trainer.py transformers|pippin FOLDER [SETTING=VALUE …]: the log goes to FOLDER/log.json.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch

sys.path[:0] = [str(Path(__file__).parents[1] / "drop_in")]

from small_trainer import Rows, arguments, small_model  # noqa: E402


def main(package: str, folder: str, *settings: str) -> None:
    torch.set_num_threads(1)
    given = {name: json.loads(value) for name, value in (each.split("=", 1) for each in settings)}
    resume = given.pop("resume", None)
    usual = {"eval_strategy": "no", "use_cpu": True, "max_steps": 4, "save_strategy": "no", "dataloader_num_workers": 0}
    module = __import__(package)
    made = arguments(folder, **{**usual, **given})
    trainer = module.Trainer(small_model(), made, train_dataset=Rows(64), eval_dataset=Rows(16, seed=1))
    trainer.train(resume_from_checkpoint=resume)
    metrics = trainer.evaluate()
    trainer.save_model(f"{folder}/model")
    if trainer.is_world_process_zero():
        logs = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
        Path(folder, "log.json").write_text(json.dumps({"losses": logs, "eval_loss": metrics["eval_loss"]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
