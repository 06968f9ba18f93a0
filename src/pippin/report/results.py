"""Results under Hugging Face's keys, and the Report made of them."""

from __future__ import annotations

import torch

from pippin.data.encoding import EncodedSplits
from pippin.engine.inference import Evaluation
from pippin.engine.loop import Outcome
from pippin.report.report import Report
from pippin.runs.data_card import baseline_scores, baselines, metric_suffix
from pippin.tasks.base import Dataset


def train_results(outcome: Outcome, rows: int, model: torch.nn.Module) -> dict[str, float]:
    """What train_results.json holds."""
    return {
        "epoch": round(outcome.epochs, 4),
        "total_flos": count_flops(model, outcome.tokens_seen),
        "train_loss": outcome.loss,
        "train_runtime": round(outcome.seconds, 4),
        "train_samples": rows,
        "train_samples_per_second": round(outcome.rows_seen / outcome.seconds, 3),
        "train_steps_per_second": round(outcome.steps / outcome.seconds, 3),
    }


def evaluation_results(evaluations: dict[str, Evaluation], prefix: str) -> dict[str, float]:
    """What eval_results.json holds; the keys of MNLI's second set end in _mm."""
    results: dict[str, float] = {}
    for name, evaluation in evaluations.items():
        results |= evaluation.results(prefix, metric_suffix(name))
    return results


def make_report(
    folder: str,
    results: dict[str, float],
    data: Dataset,
    rows: EncodedSplits,
    outcome: Outcome | None,
    evaluations: dict[str, Evaluation],
    tests: dict[str, Evaluation],
) -> Report:
    """The Report; the task shows the test rows where they have labels, else the validation rows."""
    judged_on, judged = next(iter([*tests.items(), *evaluations.items()]), ("", None))
    examples = {**data.validation, **data.test}
    scorers = {
        (prefix, split): each.scorer
        for prefix, found in (("eval", evaluations), ("test", tests))
        for split, each in found.items()
    }
    easy = {place: each for place, each in baselines(data.task, rows).items() if place in scorers}
    remarks = (scorers[place].remarks(place[1].replace("_", " "), each) for place, each in easy.items())
    return Report(
        folder=folder,
        results=results,
        main_metric=data.task.main_metric,
        text_columns=data.columns.text,
        best_step=outcome.best_step if outcome else None,
        stopped_early=bool(outcome and outcome.stopped_early),
        peak_memory=outcome.peak_memory if outcome else 0,
        saving_seconds=round(outcome.saving_seconds, 3) if outcome else 0.0,
        baselines=baseline_scores(easy),
        baseline_answer=next((each.answer for each in easy.values()), ""),
        remarks=tuple(next(filter(None, remarks), ())),
        command=data.task.command,
        parts=judged.scorer.parts(examples[judged_on], data.columns, judged_on) if judged else (),
    )


def count_flops(model: torch.nn.Module, tokens: int) -> float:
    """Floating-point operations of training on so many tokens, by transformers' rule: 6 × parameters × tokens."""
    embeddings = {id(module.weight) for module in model.modules() if isinstance(module, torch.nn.Embedding)}
    return 6.0 * tokens * sum(p.numel() for p in model.parameters() if id(p) not in embeddings)
