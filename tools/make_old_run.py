"""Make the unfinished run that tests keep loading, so that a newer Pippin goes on with what an older one saved.

    python tools/make_old_run.py tests/checkpoints/format-1

Run it once for each format of checkpoints (pippin/checkpoints/manifest.py) and check the folder in; never again after.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

os.environ.setdefault("OMP_NUM_THREADS", "1")


def main(folder: Path) -> None:
    from transformers import BertConfig, BertModel, set_seed

    from conftest import make_rows, save_tiny_tokenizer
    from pippin.cli.main import main as pippin
    from pippin.report.progress import TrainingProgress

    folder.mkdir(parents=True)
    os.chdir(folder)
    rows = make_rows(60)
    Path("words.csv").write_text("text,label\n" + "".join(f"{row['text']},{row['label']}\n" for row in rows))
    set_seed(0)
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    vocabulary = save_tiny_tokenizer(Path("model"))
    BertModel(BertConfig(vocab_size=vocabulary, max_position_embeddings=64, **sizes)).save_pretrained("model")
    command = ["train", "words.csv", "--model_name_or_path", "model", "--max_steps", "20", "--logging_steps", "2"]
    command += ["--per_device_train_batch_size", "8", "--learning_rate", "1e-2", "--use_cpu"]
    shown = TrainingProgress.on_event

    def stop_at_ten(self: TrainingProgress, name: str, figures: dict) -> None:
        shown(self, name, figures)
        if name == "log" and figures["step"] == 10:
            os.kill(os.getpid(), signal.SIGTERM)

    pippin([*command, "--output_dir", "whole"])
    Path("whole_results.json").write_text(Path("whole/train_results.json").read_text())
    TrainingProgress.on_event = stop_at_ten  # type: ignore[method-assign]
    pippin([*command, "--output_dir", "run"])
    for path in sorted(Path("whole").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    Path("whole").rmdir()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
