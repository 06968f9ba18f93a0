"""The same kills under settings that change what the next step depends on, several at a time."""

from __future__ import annotations

from dataclasses import replace

from torture_bench import Bench, Tally
from torture_job import PippinJob
from torture_kills import killed_at_random, killed_inside_saves

_EVALUATED = "--eval_strategy steps --eval_steps 3"
SETTINGS = {
    "bf16, accumulation, cosine": "--bf16 --gradient_accumulation_steps 2 --lr_scheduler_type cosine --warmup_steps 5",
    "recomputed, smoothing, no clipping": "--gradient_checkpointing --label_smoothing_factor 0.1 --max_grad_norm 0",
    "layers frozen, best kept": f"--freeze 1 {_EVALUATED} --load_best_model_at_end --metric_for_best_model loss",
    "core frozen": "--freeze core --weight_decay 0.1",
    "sgd, last batch dropped, own order": "--optim sgd --dataloader_drop_last --data_seed 7 --seed 3",
    "adafactor, polynomial": "--optim adafactor --lr_scheduler_type polynomial --warmup_ratio 0.2",
    "noise, decay, epsilon": "--neftune_noise_alpha 5 --weight_decay 0.1 --adam_epsilon 1e-6 --adam_beta1 0.8",
    "half state, patience": f"--optim_state bf16 {_EVALUATED} --early_stopping_patience 50",
    "grouped by length, rmsprop": "--train_sampling_strategy group_by_length --optim rmsprop",
    "in order, adagrad, evaluated first": f"--train_sampling_strategy sequential --optim adagrad {_EVALUATED} "
    "--eval_on_start",
    "epochs, saved by epoch": "--max_steps -1 --num_train_epochs 6 --save_strategy epoch",
    "head's own rate, deterministic": "--head_learning_rate 1e-2 --full_determinism --lr_scheduler_type constant",
}


def killed_under_settings(bench: Bench, kills: int, names: list[str] | None = None) -> Tally:
    """Some kills at random and inside saves for each; all must go on to what the same settings give undisturbed."""
    job, total = bench.tool, Tally()
    assert isinstance(job, PippinJob)
    for number, name in enumerate(names or SETTINGS):
        other = Bench(replace(job, name=f"settings-{number}", settings=tuple(SETTINGS[name].split())), bench.folder)
        for tally in (killed_at_random(other, kills - kills // 2), killed_inside_saves(other, kills // 2)):
            total.trials += tally.trials
            for outcome, count in tally.outcomes.items():
                total.outcomes[outcome] = total.outcomes.get(outcome, 0) + count
            total.failures += [f"{name}: {failure}" for failure in tally.failures]
    return total
