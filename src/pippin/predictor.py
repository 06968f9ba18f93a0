"""A trained model that labels new texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pippin.data.batches import spread_lengths
from pippin.data.dataset import Examples
from pippin.data.encoding import encode
from pippin.data.labels import Labels
from pippin.errors import PippinError
from pippin.machine.backends import get_backend
from pippin.machine.probe import probe
from pippin.models.attention import work_of
from pippin.models.loading import load_config, load_model, load_tokenizer, longest_input, require_trained
from pippin.plan.device import choose_device
from pippin.recipe import Recipe
from pippin.training.inference import Inference
from pippin.training.predictions import Prediction, label_and_score
from pippin.training.run import Run, read_run

_HUB_NAME = re.compile(r"(?!runs/)\w[\w.-]*/\w[\w.-]*")


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
        if path.is_file():
            raise PippinError(f"{folder} is a file; name the folder of a model.")
        if not path.exists() and not is_hub_name(folder):
            raise PippinError(f"{folder}: there is no such folder.")
        run = read_run(path)
        recipe = Recipe(model_name_or_path=folder, device=device)
        backend = get_backend(choose_device(recipe, probe()).value)
        labels = require_trained(recipe)
        config, tokenizer = load_config(recipe), load_tokenizer(recipe)
        model = backend.place(load_model(recipe, config, backend.attention(work_of(config))))
        limit = longest_input(tokenizer, config)
        wanted = run.plan.max_length.value if run else limit or 512
        max_length = min(wanted, limit or wanted)
        # Not the plan's pad lengths: those suit the rows of the training, and new texts can be like anything.
        inference = Inference(model, backend, pad_lengths=spread_lengths(max_length, backend.shape_limit))
        return cls(inference, tokenizer, labels, max_length, run)

    @property
    def text_columns(self) -> tuple[str, ...]:
        """The text columns of the training; none where the folder has no record of it."""
        return self.run.data.text_columns if self.run else ()

    def predict(
        self,
        texts: Iterable[str],
        pairs: Iterable[str] | None = None,
        on_rows: Callable[[int], None] | None = None,
    ) -> list[Prediction]:
        """Label texts (or pairs of texts); answers come in the order of the input.

        Lists, numpy arrays and pandas Series of strings will do. A text that is empty, or no string, is an error.
        """
        firsts = _checked(texts, "texts")
        seconds = None if pairs is None else _checked(pairs, "pairs")
        self._check_pairs(firsts, seconds)
        if not firsts:
            return []
        encoded = encode(Examples(firsts, seconds, None, [], ""), self.tokenizer, self.max_length)
        logits, _ = self.inference.logits(encoded, on_rows)
        answers = zip(*label_and_score(logits, self.labels), strict=True)
        if self.labels.regression:
            return [Prediction(*answer, float(row[0])) for answer, row in zip(answers, logits, strict=True)]
        return [Prediction(*answer) for answer in answers]

    def _check_pairs(self, texts: list[str], pairs: list[str] | None) -> None:
        if pairs is not None and len(pairs) != len(texts):
            raise PippinError(f"{len(texts)} texts but {len(pairs)} pairs: give the second text of each, in order.")
        given = 1 if pairs is None else 2
        if self.text_columns and len(self.text_columns) != given:
            call = "predict(texts, pairs)" if given == 1 else "predict(texts)"
            raise PippinError(
                f"this model was trained on {count_texts(self.text_columns)}, but {given} came. Call {call}."
            )


def count_texts(columns: tuple[str, ...]) -> str:
    """What a model reads, for a message.

    >>> count_texts(("premise", "hypothesis"))
    '2 texts a row (premise, hypothesis)'
    """
    return f"{len(columns)} text{'s' * (len(columns) > 1)} a row ({', '.join(columns)})"


def text_problem(text: Any) -> str | None:
    """What keeps a text from being labelled, if anything."""
    if not isinstance(text, str):
        return f"is {text!r:.40}, not a text"
    if not text.strip():
        return "is empty"
    try:
        text.encode()
    except UnicodeEncodeError:
        return f"holds half of a character ({text!r:.40})"
    return None


def is_hub_name(name: str) -> bool:
    """Whether a name that is no path here can be a model's on the Hub: org/name."""
    return bool(_HUB_NAME.fullmatch(name)) and not Path(name).exists()


def is_in_hub_cache(name: str) -> bool:
    """Whether a model of the Hub was fetched before."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.utils import HFValidationError

    try:
        return isinstance(try_to_load_from_cache(name, "config.json"), str)
    except HFValidationError:
        return False


def _checked(texts: Iterable[str], argument: str) -> list[str]:
    """The texts as a plain list, or a stop at the first that cannot be labelled."""
    if isinstance(texts, str):
        raise PippinError(f"predict() takes a list of texts; put the one text in brackets: {argument}=[text].")
    found = list(texts)
    for place, text in enumerate(found):
        problem = text_problem(text)
        if problem:
            raise PippinError(f"{argument}[{place}] {problem}: every text must be a string with something in it.")
    return [str(text) for text in found]
