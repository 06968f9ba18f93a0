"""How rows go through a script's model: packed or cut where nothing speaks against it, else as they are given."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from pippin.drop_in.language_forward import LanguageForward
from pippin.drop_in.packed_forward import PackedForward
from pippin.machine.drivers.base import Backend
from pippin.models.families import caps_scores, family_of
from pippin.plan.layout import PACKED
from pippin.plan.plan import Choice

AS_GIVEN, CUT = "as the script gives them", "cut to the longest"


def choose_rows(model: Any, args: Any, backend: Backend | None, takes_loss: bool = True) -> Choice[str]:
    """``takes_loss``: whether the script leaves the loss to the model, and so does not look at its logits."""
    problem = _problem(model, args, backend)
    if problem is None and _writes(_core(model)) and not takes_loss:
        problem = "the script computes its own loss from the logits of a language model"
    if problem is not None or backend is None:
        return Choice(AS_GIVEN, problem or "")
    family, _ = family_of(_core(model).config)
    assert family is not None
    core = _core(model)
    short = "" if family.causal or reads_every_token(core) else "; the last layer computes first tokens only"
    short = "; in training, logits are made of learnt tokens alone" if _writes(core) else short
    if backend.traits.packed_attention is None:
        return Choice(CUT, f"columns of padding alone are left out{short}")
    return Choice(PACKED, f"end to end without padding{short}")


def forward_for(
    model: Any, backend: Backend, on_refusal: Callable[[str], None], in_half: bool, known_hooks: frozenset[int]
) -> PackedForward:
    """What stands in for the model's forward where its rows are not taken as the script gives them."""
    core = _core(model)
    family, _ = family_of(core.config)
    assert family is not None
    if _writes(core):
        return LanguageForward(core, model, family, backend, on_refusal, in_half, known_hooks)
    return PackedForward(model, family, backend, on_refusal, in_half, known_hooks, reads_every_token(core))


def reads_every_token(model: Any) -> bool:
    """Whether this is a tagger: one answer for each token, where classifiers have one for each row."""
    from transformers import AutoModelForTokenClassification

    return type(model) is AutoModelForTokenClassification._model_mapping.get(type(model.config), None)


def _writes(model: Any) -> bool:
    """Whether this is a language model."""
    from transformers import AutoModelForCausalLM

    return type(model) is AutoModelForCausalLM._model_mapping.get(type(model.config), None)


def _problem(model: Any, args: Any, backend: Backend | None) -> str | None:
    if backend is None:
        return f"Pippin does not know the device {args.device.type}"
    by_kernel = backend.traits.packed_attention == "kernel"
    problems = {
        "DataParallel copies the model for each GPU": args.n_gpu > 1,
        "the model is spread over several processes": args.world_size > 1 and _is_spread(args),
        "torch_compile compiles the model's own forward": args.torch_compile,
        "use_liger_kernel replaces parts of the model": getattr(args, "use_liger_kernel", False),
        "neftune_noise_alpha scales its noise by a row's padded length": args.neftune_noise_alpha,
        "full_determinism rules out the device's own attention": args.full_determinism and by_kernel,
    }
    problem = next((words for words, holds in problems.items() if holds), None) or _problem_of_model(model)
    if problem is None and by_kernel:
        config = _core(model).config
        if config.hidden_size // config.num_attention_heads % 8:
            return "the device's attention kernel does not support heads of this width"
        if caps_scores(config):
            return "no kernel here caps attention's scores, as this model does"
    return problem


def _is_spread(args: Any) -> bool:
    """Whether no process has all of the model; else each has, and they share gradients."""
    return any(getattr(args, name, None) for name in ("fsdp", "deepspeed", "parallelism_config"))


def _problem_of_model(model: Any) -> str | None:
    core = _core(model)
    config = getattr(core, "config", None)
    if config is None:
        return f"{type(core).__name__} is not one of transformers' models"
    family, why = family_of(config)
    if family is None:
        return why
    from transformers import AutoModelForSequenceClassification

    expected = AutoModelForSequenceClassification._model_mapping.get(type(config), None)
    if type(core) is not expected and not reads_every_token(core) and not _writes(core):
        name = type(core).__name__
        if type(core).__module__.partition(".")[0] == "transformers":
            return f"only classifiers, taggers and decoders can be packed, and {name} is another kind of model"
        return f"{name} is not one of transformers' own classes, and may do more than they do"
    if _is_patched(core) or getattr(core, "_compiled_call_impl", None) is not None:
        return "the script has replaced the model's forward"
    if (part := _foreign_part(core)) is not None:
        return f"the script has replaced the model's {part}"
    if config.output_attentions or config.output_hidden_states:
        return "the model is set up to return more than logits"
    if not config.return_dict:
        return "the model is set up to return tuples (return_dict=False)"
    if config._attn_implementation not in (None, "sdpa", "eager"):
        return f"the script has chosen {config._attn_implementation} attention"
    return None


def _core(model: Any) -> Any:
    """The model itself where adapters are laid over it, but for those that add tokens to the rows."""
    adapters = getattr(model, "peft_config", {}).values()
    adds_tokens = any(getattr(config, "is_prompt_learning", True) for config in adapters)
    return model.get_base_model() if hasattr(model, "get_base_model") and not adds_tokens else model


def _foreign_part(model: Any) -> str | None:
    """The name of a part that transformers does not give such a model; adapters may lie over its own."""
    import torch

    with torch.device("meta"):
        stock = {name: type(module) for name, module in type(model)(copy.deepcopy(model.config)).named_modules()}
    adapted: set[str] = set()
    for name, module in model.named_modules():
        if name and "forward" in module.__dict__:
            return name
        kind = getattr(module, "stands_for", type(module))  # a guard of the device's
        if kind.__module__.startswith("peft."):
            adapted.add(name)
        elif stock.get(name) is not kind and not any(name.startswith(f"{over}.") for over in adapted):
            return name
    return None


def _is_patched(model: Any) -> bool:
    """Whether a forward of somebody's own hangs on the model; accelerate keeps the one that it wraps."""
    own = model.__dict__.get("_original_forward", model.__dict__.get("forward"))
    return own is not None and getattr(own, "__func__", None) is not type(model).forward
