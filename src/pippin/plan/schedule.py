"""How long the job trains, and when it evaluates, logs and saves."""

from __future__ import annotations

import math
from typing import Any

from pippin.errors import PippinError
from pippin.plan.facts import TaskFacts
from pippin.plan.hyperparameters import HUGGING_FACE
from pippin.plan.plan import Choice
from pippin.recipe import Recipe

#: Evaluations of a language model, which may see each row but once or twice.
_FEWEST_EVALUATIONS = 4


def steps_in_epoch(rows: int, batch: int, drop_last: int) -> int:
    """With rows left out that do not fill a last micro-batch of ``drop_last``."""
    if drop_last:
        rows = max(rows // drop_last * drop_last, 1)
    return math.ceil(rows / batch)


def choose_schedule(
    recipe: Recipe, task: TaskFacts, epochs: Choice[float], steps_per_epoch: int, has_validation: bool
) -> dict[str, Any]:
    """All of the plan's schedule that is not simply the user's, and the warm-up."""
    steps = _choose_steps(recipe, epochs.value, steps_per_epoch)
    if recipe.max_steps > 0:
        epochs = Choice(round(steps.value / steps_per_epoch, 2), "from --max_steps")
    evaluates = _choose_eval_steps(recipe, task, steps.value, steps_per_epoch, has_validation)
    # The loss of thousands of tokens can tell which adapters are best; the accuracy of a few rows cannot.
    follows_loss = task.reads == "targets" and not recipe.is_classic and evaluates.value > 0
    best, patience = _choose_best_metric(recipe, task, evaluates.value > 0), _choose_patience(recipe)
    if follows_loss and not best.value:
        best = Choice("loss", "that of the validation rows tells")
    greater = recipe.greater_is_better
    return {
        "epochs": epochs,
        "steps": steps,
        "warmup_steps": _choose_warmup_steps(recipe, steps.value),
        "logging_steps": _choose_logging_steps(recipe, steps.value, steps_per_epoch),
        "eval_steps": evaluates,
        "save_steps": _choose_save_steps(recipe, steps.value, steps_per_epoch),
        "best_metric": best,
        "patience": patience,
        "first_evaluation": _first_evaluation(recipe, steps_per_epoch),
        "keeps_best": recipe.load_best_model_at_end or patience.value > 0 or follows_loss,
        "saves_best": recipe.save_strategy == "best",
        "greater_is_better": best.value not in task.lower_is_better if greater is None else greater,
    }


def _choose_steps(recipe: Recipe, epochs: float, steps_per_epoch: int) -> Choice[int]:
    if recipe.max_steps > 0:
        return Choice(recipe.max_steps, "set by --max_steps")
    return Choice(max(1, math.ceil(epochs * steps_per_epoch)), f"{steps_per_epoch} per epoch")


def _choose_warmup_steps(recipe: Recipe, steps: int) -> Choice[int]:
    if recipe.lr_scheduler_type in ("constant", "reduce_lr_on_plateau"):
        return Choice(0, f"the schedule {recipe.lr_scheduler_type} has none")
    if recipe.warmup_steps:
        return Choice(_steps(recipe.warmup_steps, steps), "as requested")
    if recipe.warmup_ratio is not None:
        return Choice(math.ceil(recipe.warmup_ratio * steps), "set by --warmup_ratio")
    if recipe.warmup_steps is not None:
        return Choice(0, "as requested")
    if recipe.is_classic:
        return Choice(0, HUGGING_FACE)
    return Choice(math.ceil(0.1 * steps), "10% of the steps")


def _choose_logging_steps(recipe: Recipe, steps: int, steps_per_epoch: int) -> Choice[int]:
    if recipe.logging_strategy == "no":
        return Choice(0, "set by --logging_strategy no")
    if recipe.logging_strategy == "epoch":
        return Choice(steps_per_epoch, "once per epoch")
    if recipe.logging_steps is not None:
        return Choice(_steps(recipe.logging_steps, steps), "as requested")
    return Choice(min(500, max(1, steps // 20)), "about 20 lines in all")


def _choose_eval_steps(
    recipe: Recipe, task: TaskFacts, steps: int, steps_per_epoch: int, has_validation: bool
) -> Choice[int]:
    strategy = recipe.eval_strategy
    if not has_validation:
        if strategy not in (None, "no") or recipe.eval_on_start:
            flag = "--eval_on_start" if recipe.eval_on_start else f"--eval_strategy {strategy}"
            raise PippinError(f"{flag}: there are no validation rows. Give some with --validation_file.")
        return Choice(0, "there are no validation rows")
    if strategy is None:
        if recipe.eval_steps is not None:
            strategy = "steps"
        elif recipe.is_classic:
            return Choice(0, HUGGING_FACE + ": only at the end")
        elif task.reads == "targets" and steps < _FEWEST_EVALUATIONS * steps_per_epoch:
            return Choice(math.ceil(steps / _FEWEST_EVALUATIONS), f"{_FEWEST_EVALUATIONS} times in all")
        else:
            return Choice(steps_per_epoch, "once per epoch")
    if strategy == "no":
        return Choice(0, "set by --eval_strategy no")
    if strategy == "epoch":
        return Choice(steps_per_epoch, "once per epoch, as requested")
    if recipe.eval_steps is not None:
        return Choice(_steps(recipe.eval_steps, steps), "as requested")
    if recipe.logging_steps is not None:
        return Choice(_steps(recipe.logging_steps, steps), "as often as logging")
    return Choice(500, HUGGING_FACE)


def _first_evaluation(recipe: Recipe, steps_per_epoch: int) -> int:
    """The step before which --eval_delay, in steps or epochs, lets no evaluation be."""
    by_steps = recipe.eval_strategy == "steps" or (recipe.eval_strategy is None and recipe.eval_steps is not None)
    return math.ceil(round(recipe.eval_delay * (1 if by_steps else steps_per_epoch), 6))


def _choose_best_metric(recipe: Recipe, task: TaskFacts, evaluates: bool) -> Choice[str]:
    wishes = {
        "--load_best_model_at_end": recipe.load_best_model_at_end,
        "--early_stopping_patience": recipe.early_stopping_patience,
        "--save_strategy best": recipe.save_strategy == "best",
        "--lr_scheduler_type reduce_lr_on_plateau": recipe.lr_scheduler_type == "reduce_lr_on_plateau",
    }
    asked = [flag for flag, wished in wishes.items() if wished]
    if not asked and recipe.is_classic:
        return Choice("", HUGGING_FACE)
    if not asked:
        return Choice("", "a small validation set can't tell which epoch is best")
    if not evaluates:
        raise PippinError(
            f"{asked[0]} needs evaluations while training: add --eval_strategy epoch, "
            "and --validation_file where there are no validation rows."
        )
    if recipe.metric_for_best_model:
        name = recipe.metric_for_best_model.removeprefix("eval_")
        if name not in task.metrics:
            raise PippinError(f"--metric_for_best_model {name}: this task has {', '.join(sorted(set(task.metrics)))}.")
        return Choice(name, "as requested")
    if recipe.is_classic:
        return Choice("loss", HUGGING_FACE)
    return Choice(task.main_metric, "the task's main metric")


def _choose_patience(recipe: Recipe) -> Choice[int]:
    if recipe.early_stopping_patience is not None:
        return Choice(recipe.early_stopping_patience, "without improvement stop the run; a tie is no improvement")
    return Choice(0, "never stops early")


def _choose_save_steps(recipe: Recipe, steps: int, steps_per_epoch: int) -> Choice[int]:
    if recipe.save_strategy == "epoch":
        return Choice(steps_per_epoch, "once per epoch, as requested")
    if recipe.save_strategy == "steps" or (recipe.save_strategy is None and recipe.save_steps is not None):
        return Choice(_steps(recipe.save_steps or 500, steps), "as requested")
    if recipe.save_strategy == "best":
        return Choice(0, "whenever a model is the best so far")
    return Choice(0, "only the final model is saved")


def _steps(value: float, total: int) -> int:
    """A number of steps, or below 1 a share of all of them."""
    return math.ceil(value * total) if value < 1 else int(value)
