"""A trained model that labels new texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pippin.data.dataset import Examples
from pippin.data.encoding import encode
from pippin.data.labels import Labels
from pippin.errors import PippinError
from pippin.machine.backends import get_backend
from pippin.machine.probe import probe
from pippin.models.loading import load_config, load_model, load_tokenizer, longest_input
from pippin.plan.device import choose_device
from pippin.recipe import Recipe
from pippin.training.inference import Inference
from pippin.training.predictions import label_and_score
from pippin.training.run import Run, read_run


@dataclass(frozen=True)
class Prediction:
    """One text's answer. For regression the label is the number, and there is no score."""

    label: str
    score: float | None


class Predictor:
    """Tokenizer, model and device together."""

    def __init__(self, inference: Inference, tokenizer: Any, labels: Labels, max_length: int, run: Run | None):
        self.inference, self.tokenizer, self.labels = inference, tokenizer, labels
        self.max_length, self.run = max_length, run

    @classmethod
    def load(cls, folder: str, device: str | None = None) -> Predictor:
        """Load a run's folder, or any folder or Hub name of a transformers classifier."""
        path = Path(folder)
        if path.is_dir() and not (path / "config.json").is_file():
            raise PippinError(f"{folder} holds no trained model (no config.json). Has its training finished?")
        is_hub_name = folder.count("/") == 1 and not folder.startswith((".", "/", "~", "runs/"))
        if not path.exists() and not is_hub_name:
            raise PippinError(f"{folder}: there is no such folder.")
        run = read_run(path)
        recipe = Recipe(model_name_or_path=folder, device=device)
        config, tokenizer = load_config(recipe), load_tokenizer(recipe)
        backend = get_backend(choose_device(recipe, probe()).value)
        model = backend.place(load_model(recipe, config))
        regression = config.num_labels == 1
        labels = Labels(() if regression else tuple(config.id2label[i] for i in range(config.num_labels)), regression)
        limit = longest_input(tokenizer, config)
        wanted = run.plan.max_length.value if run else limit or 512
        inference = Inference(model, backend, pad_token=tokenizer.pad_token_id or 0)
        return cls(inference, tokenizer, labels, min(wanted, limit or wanted), run)

    def predict(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None = None,
        on_rows: Callable[[int], None] | None = None,
    ) -> list[Prediction]:
        """Label texts (or pairs of texts); answers come in the order of the input."""
        if isinstance(texts, str):
            raise PippinError("predict() takes a list of texts; put the one text in brackets: predict([text]).")
        if not texts:
            return []
        examples = Examples(list(texts), None if pairs is None else list(pairs), None, [], "")
        encoded = encode(examples, self.tokenizer, self.max_length)
        logits, _ = self.inference.logits(encoded, on_rows)
        return [Prediction(label, score) for label, score in zip(*label_and_score(logits, self.labels), strict=True)]
