"""What to do, on which device, and where the results go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pippin.recipe.training_fields import Interval


@dataclass(frozen=True, kw_only=True)
class RunFields:
    do_train: bool = False
    """Train. Naming any of do_train, do_eval, do_predict means: exactly those, with Hugging Face's defaults.
    Naming none means: train, evaluate, and predict where there is a test file, with Pippin's own choices."""

    do_eval: bool = False
    """Evaluate on the validation rows."""

    do_predict: bool = False
    """Predict the test rows."""

    output_dir: str | None = None
    """Folder of the run. Default: runs/NAME, numbered when taken."""

    overwrite_output_dir: bool = False
    """Start anew in a folder that Pippin wrote. Other folders are never touched."""

    run_name: str | None = None
    """Name of the run in its report. Default: the folder's name."""

    device: str | None = None
    """cpu, cuda, cuda:N or mps. Default: the Apple GPU when there is one, then CUDA, then the CPU."""

    use_cpu: bool = False
    """Train on the CPU even when there is a GPU."""

    processes: int | None = None
    """Train in so many processes on this computer, which share the rows of every step. Default: one."""

    hosts: tuple[str, ...] = ()
    """Train on these computers, one process on each, started over ssh: names as ssh takes them, with this computer's
    (or localhost) among them. Rows and weights are sent from here."""

    shard: bool = False
    """Spread weights, gradients and optimiser state over the processes (torch's fully_shard), for models that do not
    fit on one CUDA card. Default: each process holds all of them."""

    reduce: Literal["exact", "fast"] | None = None
    """How several processes add up their gradients. `exact`: in a fixed order, so that the weights do not depend on
    their number. `fast`: as is quickest. Default: exact on CPUs and Apple GPUs, fast on CUDA."""

    mps_fallback: Literal["on", "off"] = "on"
    """Operators that the Apple GPU lacks: `on` runs them on the CPU, with copies; `off` stops with their name."""

    verify: Literal["short", "off"] | None = None
    """Before training, compare a few short rows on the GPU with the CPU (`short`), and stop where they differ by more
    than rounding; or do not (`off`). Default: short on the Apple GPU, off elsewhere."""

    keep_awake: bool = True
    """Keep a Mac from falling asleep while it trains (caffeinate -i). A closed lid still puts a laptop to sleep."""

    bf16: bool | None = None
    """Mixed precision with bfloat16 (weights stay fp32). Default: on CUDA cards that have it; false: all in fp32."""

    fp16: bool = False
    """Mixed precision with float16 and a loss scaler (CUDA)."""

    tf32: bool | None = None
    """TF32 for fp32 matrix products on CUDA. Default: off."""

    torch_compile: bool | None = None
    """Compile the model with torch.compile. Default, and when on: where the rest of the run repays it; false: never."""

    gradient_checkpointing: bool = False
    """Recompute activations in the backward pass: less memory, slower steps."""

    gradient_checkpointing_kwargs: dict[str, Any] | None = None
    """Arguments of gradient checkpointing, as JSON."""

    memory_limit: float | None = None
    """Memory of the device that the job may use, in GB (on the CPU: of the whole process). Default: what is free.
    Where it is little, micro-batches get smaller and activations are recomputed, with the same gradient."""

    force: bool = False
    """Try a job that needs more memory than there is, by a forecast, instead of refusing it."""

    torch_empty_cache_steps: int | None = None
    """Empty the device's cache every N steps."""

    logging_strategy: Interval = "steps"
    """When to log the loss: every logging_steps, every epoch, or never."""

    logging_steps: float | None = None
    """Steps between log lines; below 1, a share of all steps. Default: about twenty lines a run."""

    logging_first_step: bool = False
    """Log the first step too."""

    report_to: tuple[Literal["tensorboard", "wandb", "mlflow", "trackio", "none"], ...] | None = None
    """Trackers that get the figures too, each through its own library: one or several. wandb, mlflow and trackio read
    their own environment variables; a run never waits for them. Default: none."""

    logging_dir: str | None = None
    """Folder for TensorBoard's files. Default: TENSORBOARD_LOGGING_DIR, else tensorboard/DATE in the run's folder, so
    that `tensorboard --logdir` with that folder or one above it shows the run."""

    project: str = "huggingface"
    """Project in wandb (where WANDB_PROJECT names none) and in trackio."""

    disable_tqdm: bool = False
    """Plain lines instead of the live progress bar, as where the output is no terminal or CI is set."""

    quiet: bool = False
    """Print warnings and errors only, and at the end where the results are. Short: -q."""

    log_level: Literal["passive", "debug", "info", "warning", "error", "critical"] = "passive"
    """How much transformers and Pippin say; warning and above hide the plan and the progress."""

    save_strategy: Literal["no", "steps", "epoch", "best"] | None = None
    """When to save a checkpoint, from which the run can go on. Default: every few minutes (save_minutes), when
    interrupted, and at the end where more than a minute would be lost; removed when the run is finished. Those that
    are asked for stay."""

    save_steps: float | None = None
    """Steps between checkpoints; below 1, a share of all steps. Naming it means save_strategy steps. There: 500."""

    save_minutes: float = 5.0
    """Minutes between checkpoints where no save_strategy is named: no more than this is ever lost. 0 for none."""

    save_total_limit: int | None = None
    """Checkpoints to keep, the newest ones; the best one stays besides. Default: 1."""

    resume: bool = False
    """Go on where an unfinished run in output_dir stopped, to the same result as if it never had; from the start
    where nothing was saved yet."""

    resume_from_checkpoint: str | None = None
    """As resume: True for the newest good checkpoint, or the folder of one."""
