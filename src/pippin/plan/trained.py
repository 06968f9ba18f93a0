"""Whether all weights of a model are trained or adapters beside them, and how those that are not trained are kept."""

from __future__ import annotations

from typing import Any, Final

from pippin.errors import PippinError
from pippin.models.facts import ModelFacts
from pippin.plan.memory import FULL, optimiser_bytes
from pippin.plan.plan import ALL_WEIGHTS, IN_FULL, Choice, Precision, Trained
from pippin.recipe import Recipe
from pippin.tasks.base import Reads
from pippin.text import memory

ALL: Final = "all weights"
ADAPTERS: Final = "adapters"
#: All weights are trained where they, their gradients and the optimiser's state take no more of a computer's memory.
_SHARE = 0.25


def choose_trained(recipe: Recipe, model: ModelFacts, memory_bytes: int | None, reads: Reads) -> Choice[Trained]:
    """What was asked for; of language models all weights only where that is easily done.

    ``memory_bytes`` are all that the device has, not what is free: else the same command would train another model
    tomorrow.
    """
    if recipe.train == "lora" and reads != "targets":
        raise PippinError("--train lora is for language models so far. For a classifier: --freeze or --unfreeze N.")
    if model.adapters is not None:
        _check_adapters(recipe, model.adapters)
    if recipe.train == "lora":
        return Choice(ADAPTERS, f"set by --train lora: {_rank(recipe, model)}")
    if recipe.train or reads != "targets" or recipe.freeze or recipe.unfreeze is not None:
        return ALL_WEIGHTS
    if model.size is None or memory_bytes is None:
        return Choice(ADAPTERS, f"LoRA, {_rank(recipe, model)}: how much memory all weights would take is not known")
    needed = model.size.weights * (2 * FULL + optimiser_bytes(recipe.optim, recipe.optim_state == "bf16")[0])
    said = f"{memory(needed)} of {memory(memory_bytes)}"
    if needed <= _SHARE * memory_bytes:
        return Choice(ALL, f"weights, gradient and optimiser state take {said}; for LoRA instead: --train lora")
    return Choice(
        ADAPTERS, f"LoRA, {_rank(recipe, model)}: all weights with gradient and optimiser state would take {said}"
    )


def choose_kept(
    recipe: Recipe, model: ModelFacts, trained: str, precision: Precision, budget: int
) -> Choice[Precision]:
    """In which precision the weights are kept that are not trained."""
    if trained != ADAPTERS:
        return IN_FULL
    if precision != "fp32":
        return Choice(precision, "as products take them")
    whole = FULL * model.size.weights if model.size else 0
    if model.stored != "fp32" and whole > _SHARE * budget > 0:
        return Choice(model.stored, "as they are stored, and widened where used: same results, half the memory")
    return IN_FULL


def _rank(recipe: Recipe, model: ModelFacts) -> str:
    rank = recipe.lora_rank if model.adapters is None else model.adapters.get("r")
    return f"matrices of rank {rank} beside the linear layers"


def _check_adapters(recipe: Recipe, own: dict[str, Any]) -> None:
    """Refuse settings for new adapters where those that are there have others."""
    layers, targets = own.get("layers_to_transform"), own.get("target_modules")
    for flag, asked, found in (
        ("--lora_rank", recipe.lora_rank if recipe.lora_rank != Recipe().lora_rank else None, own.get("r")),
        ("--lora_alpha", recipe.lora_alpha, own.get("lora_alpha")),
        ("--lora_dropout", recipe.lora_dropout or None, own.get("lora_dropout")),
        ("--lora_targets", set(recipe.lora_targets) or None, set(targets) if isinstance(targets, list) else targets),
        ("--unfreeze", recipe.unfreeze, len(layers) if isinstance(layers, list) else None),
    ):
        if asked not in (None, found):
            raise PippinError(
                f"{flag}: the model comes with adapters, and these go on learning as they are. Leave it out, or merge "
                "them into the model first: pippin export RUN --to merged"
            )
