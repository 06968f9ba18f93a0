"""What the forecast itself costs: CPU seconds and memory of `pippin preflight` for BERT-base on a Mac.

    python benchmarks/preflight/cost.py

A fresh process, imports included; the model's folder holds a configuration and a tokenizer, no weights.
"""

from __future__ import annotations

import importlib
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[1] / "speed")]
recording, made_up_rows, folders = (importlib.import_module(name) for name in ("recording", "rows", "model_folders"))


def main() -> None:
    from transformers import AutoTokenizer, BertConfig

    with tempfile.TemporaryDirectory() as scratch:
        model = Path(scratch, "bert-base")
        BertConfig().save_pretrained(model)
        AutoTokenizer.from_pretrained(folders.builtin_model()).save_pretrained(model)
        file = made_up_rows.made_up(1000, 126).write(Path(scratch, "rows.jsonl"))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        asked = ["--model_name_or_path", str(model), "--chip", "m1", "--memory", "16", "--json"]
        subprocess.run(
            [sys.executable, "-m", "pippin", "preflight", str(file), *asked], check=True, stdout=subprocess.DEVNULL
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    figures = {"cpu_seconds": round(seconds, 1), "peak_resident_bytes": after.ru_maxrss * 1024}
    print(figures)
    print(recording.record("preflight_cost", figures))


if __name__ == "__main__":
    main()
