"""Copies of the model while training, under checkpoints/step-N, each a folder that transformers can load."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from pippin.errors import PippinError

#: Copies kept when the user names no number.
_KEEP = 2


class Copies:
    """Writes copies whole (staging, then rename) and deletes only those that it wrote itself."""

    def __init__(self, folder: Path, tokenizer: Any, limit: int | None):
        self.folder, self.tokenizer, self.limit = folder, tokenizer, limit or _KEEP
        self.written: list[Path] = []

    def save(self, model: Any, step: int, best_step: int) -> Path:
        """Write a copy and drop the oldest beyond the limit, never the best one."""
        final, partial = self._path(step), self.folder / f".step-{step}.partial"
        if final in self.written:
            return final
        self.folder.mkdir(exist_ok=True)
        shutil.rmtree(partial, ignore_errors=True)
        model.save_pretrained(partial)
        self.tokenizer.save_pretrained(partial)
        os.rename(partial, final)
        self.written.append(final)
        for old in self.written[: -self.limit]:
            if old != self._path(best_step):
                shutil.rmtree(old)
                self.written.remove(old)
        return final

    def load(self, model: Any, step: int) -> None:
        """Put the weights of a copy back into the model."""
        from safetensors.torch import load_model

        shards = sorted(self._path(step).glob("*.safetensors"))
        if not shards:
            raise PippinError(f"{self._path(step)}: the copy of the best model is gone, so it cannot be kept.")
        for shard in shards:
            load_model(model, shard, strict=len(shards) == 1)

    def drop_all(self) -> None:
        """Delete every copy that this run wrote."""
        for path in self.written:
            shutil.rmtree(path)
        self.written.clear()
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _path(self, step: int) -> Path:
        return self.folder / f"step-{step}"
