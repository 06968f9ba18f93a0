"""What stands above a model card for the Hub to read: base model, licence, data, metrics and results."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pippin.data.hub import GLUE, TREC
from pippin.models.loading import hub_name, resolve_model
from pippin.plain_files import read_text
from pippin.report.page.metric_names import metric_title
from pippin.report.report import Report, scores
from pippin.runs.record import Run
from pippin.text import visible

if TYPE_CHECKING:
    from huggingface_hub import EvalResult, ModelCardData

_CARD, _LARGEST_CARD = "README.md", 1 << 20
#: Where the Hub's cache keeps the files of `org/name`.
_IN_CACHE = re.compile(r"models--(.+)")
_LICENSE = re.compile(r"[a-z0-9][a-z0-9.+-]{0,40}")
#: The Hub's names of our metrics; others have none there.
_METRICS = {
    "accuracy": "accuracy", "f1": "f1", "f1_macro": "f1", "matthews_correlation": "matthews_correlation",
    "pearson": "pearsonr", "spearmanr": "spearmanr", "mse": "mse", "mae": "mae", "r2": "r_squared",
}  # fmt: skip
_MISMATCHED = "_mm"


def card_data(run: Run, report: Report, title: str) -> ModelCardData:
    """All that is known for sure, and nothing else."""
    from huggingface_hub import ModelCardData

    base, about_base = base_model(run)
    names = (name for split in ("test", "eval") for name in scores(report.results, split))
    metrics = [_METRICS[name] for name in names if name in _METRICS]
    data, results = dataset_name(run), list(_results(run, report))
    return ModelCardData(
        base_model=base,
        datasets=[data] if data else None,
        eval_results=results or None,
        language="en" if run.data.task else None,  # of somebody's own rows, the base model's need not be theirs
        library_name="transformers",
        license=_license(about_base.get("license")),
        metrics=list(dict.fromkeys(metrics)) or None,
        model_name=visible(title) if results else None,
        pipeline_tag=run.data.pipeline,
        tags=["pippin"],
    )


def base_model(run: Run) -> tuple[str | None, dict[str, Any]]:
    """The Hub's name of the model that this one comes from, and what the card of the model at hand says."""
    name: Any = hub_name(run.recipe.model_name_or_path)
    folder = Path(run.directory, resolve_model(run.recipe.model_name_or_path))
    card = _front_matter(folder / _CARD if folder.is_dir() else _cached_card(run, name))
    if folder.is_dir() and run.recipe.model_name_or_path:
        cached = next(filter(None, map(_IN_CACHE.fullmatch, folder.parts)), None)
        name = cached[1].replace("--", "/") if cached else card.get("base_model")
    return (name if isinstance(name, str) and _is_hub_name(name) else None), card


def dataset_name(run: Run) -> str | None:
    """The Hub's name of the rows; None for somebody's own."""
    if run.data.task:
        return TREC if run.data.task == "trec" else GLUE
    name = run.recipe.dataset_name
    return name if name and _is_hub_name(name) and not Path(run.directory, name).exists() else None


def _results(run: Run, report: Report) -> Iterator[EvalResult]:
    """Scores on whole splits of a data set that others can get too."""
    from huggingface_hub import EvalResult

    data, recipe = dataset_name(run), run.recipe
    is_whole = {
        "test": not (recipe.test_file or recipe.max_predict_samples),
        # Where the data set has no validation rows of its own, they are some of its training rows.
        "eval": data == GLUE and not (recipe.validation_file or recipe.max_eval_samples),
    }
    for prefix in (prefix for prefix, holds in is_whole.items() if data and holds):
        for name, value in scores(report.results, prefix).items():
            plain = name.removesuffix(_MISMATCHED)
            if plain in _METRICS and math.isfinite(value):
                yield EvalResult(
                    task_type=run.data.pipeline,
                    dataset_type=str(data),
                    dataset_name=visible(run.data.name),
                    dataset_config=run.data.task if data == GLUE else recipe.dataset_config_name,
                    dataset_split=_split_of(run, prefix, name != plain),
                    metric_type=_METRICS[plain],
                    metric_value=round(value, 4),
                    metric_name=metric_title(plain),
                )


def _split_of(run: Run, prefix: str, is_mismatched: bool) -> str:
    """A split's name in the data set: MNLI has two to validate on."""
    splits = [name for name in run.data.rows if name.startswith("test" if prefix == "test" else "validation")]
    return next((name for name in splits if name.endswith("_mismatched") == is_mismatched), prefix)


def _cached_card(run: Run, name: str) -> Path | None:
    """The card of a model of the Hub, where it happens to lie in its cache: nothing is asked for."""
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(name, _CARD, cache_dir=run.recipe.cache_dir) if _is_hub_name(name) else None
    return Path(found) if isinstance(found, str) else None


def _front_matter(card: Path | None) -> dict[str, Any]:
    """What stands above a card; nothing where it cannot be read."""
    import yaml

    try:
        text = read_text(card, _LARGEST_CARD) if card else ""
        found = yaml.safe_load(text.split("---", 2)[1]) if text.startswith("---") else None
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        return {}
    return found if isinstance(found, dict) else {}


def _license(value: Any) -> str | None:
    """The Hub's name of a licence, or the only one of a list: of several nobody knows which holds for this model."""
    name = value[0] if isinstance(value, list) and len(value) == 1 else value
    return name if isinstance(name, str) and _LICENSE.fullmatch(name) else None


def _is_hub_name(name: str) -> bool:
    from huggingface_hub.utils import HFValidationError, validate_repo_id

    try:
        validate_repo_id(name)
    except HFValidationError:
        return False
    return True
