"""What to do, on which device, and where the results go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pippin.recipe.training_fields import Interval


@dataclass(frozen=True, kw_only=True)
class RunFields:
    do_train: bool = False
    """Train. If you name any of do_train, do_eval and do_predict, Pippin does only those, with Hugging Face's defaults.
    If you name none, it trains, evaluates, and predicts the test file if there is one, with its own choices."""

    do_eval: bool = False
    """Evaluate on the validation rows."""

    do_predict: bool = False
    """Predict the test rows."""

    output_dir: str | None = None
    """Folder of the run. Default: runs/NAME, with a number added if it exists."""

    overwrite_output_dir: bool = False
    """Replace an earlier run in that folder. Folders that Pippin did not write are never touched."""

    run_name: str | None = None
    """Name of the run in its report. Default: the folder's name."""

    device: str | None = None
    """cpu, cuda, cuda:N or mps. Default: the Apple GPU when there is one, then CUDA, then the CPU."""

    use_cpu: bool = False
    """Train on the CPU even when there is a GPU."""

    processes: int | None = None
    """Train in this many processes on this computer, which share the rows of every step. Default: one."""

    hosts: tuple[str, ...] = ()
    """Train on these computers, with one process on each, started over ssh. Give the names that you give to ssh, and
    include this computer (or localhost): it sends rows and weights to the others."""

    shard: bool = False
    """Spread weights, gradients and optimiser state over the processes (torch's fully_shard), for models that don't
    fit on one CUDA card. Default: each process holds all of them."""

    reduce: Literal["exact", "fast"] | None = None
    """How several processes add up their gradients. `exact`: in a fixed order, so the weights don't depend on the
    number of processes. `fast`: in any order. Default: exact on CPUs and Apple GPUs, fast on CUDA."""

    mps_fallback: Literal["on", "off"] = "on"
    """Operators that the Apple GPU lacks: `on` runs them on the CPU, with copies; `off` stops and names them."""

    verify: Literal["short", "off"] | None = None
    """`short`: before training, compare the GPU with the CPU on a few short rows, and stop if they differ by more than
    rounding. `off`: don't. Default: short on the Apple GPU, off elsewhere."""

    keep_awake: bool = True
    """Keep a Mac awake while it trains (caffeinate -i). Closing the lid still puts a laptop to sleep."""

    bf16: bool | None = None
    """Mixed precision with bfloat16 (weights stay fp32). Default: on for CUDA cards that have it; false: all fp32."""

    fp16: bool = False
    """Mixed precision with float16 and a loss scaler (CUDA)."""

    tf32: bool | None = None
    """TF32 for fp32 matrix products on CUDA. Default: off."""

    torch_compile: bool | None = None
    """Compile the model with torch.compile. By default, only if the rest of the run repays it; false: never."""

    gradient_checkpointing: bool = False
    """Recompute activations in the backward pass: less memory, slower steps."""

    gradient_checkpointing_kwargs: dict[str, Any] | None = None
    """Arguments of gradient checkpointing, as JSON."""

    memory_limit: float | None = None
    """Memory that the job may use, in GB (on the CPU: for the whole process). Default: what is free. If that is little,
    micro-batches get smaller and activations are recomputed, with the same gradient."""

    force: bool = False
    """Start a job even if the forecast says that it doesn't fit into memory."""

    torch_empty_cache_steps: int | None = None
    """Empty the device's cache every N steps."""

    logging_strategy: Interval = "steps"
    """When to log the loss: every logging_steps, every epoch, or never."""

    logging_steps: float | None = None
    """Steps between log lines; below 1, a share of all steps. Default: about twenty lines per run."""

    logging_first_step: bool = False
    """Log the first step too."""

    report_to: tuple[Literal["tensorboard", "wandb", "mlflow", "trackio", "none"], ...] | None = None
    """Trackers that get the figures too: one or several. wandb, mlflow and trackio read their own variables from the
    environment. A run never waits for them. Default: none."""

    logging_dir: str | None = None
    """Folder for TensorBoard's files. Default: TENSORBOARD_LOGGING_DIR, else tensorboard/DATE in the run's folder, so
    that `tensorboard --logdir` with that folder or one above it shows the run."""

    project: str = "huggingface"
    """Project in wandb (where WANDB_PROJECT names none) and in trackio."""

    disable_tqdm: bool = False
    """Print plain lines instead of a progress bar. Default: only if the output is not a terminal, or CI is set."""

    quiet: bool = False
    """Print warnings and errors only, and the results' folder at the end. Short: -q."""

    log_level: Literal["passive", "debug", "info", "warning", "error", "critical"] = "passive"
    """How much transformers and Pippin say; warning and above hide the plan and the progress."""

    save_strategy: Literal["no", "steps", "epoch", "best"] | None = None
    """When to save a checkpoint that the run can continue from. Default: every few minutes (save_minutes), when
    interrupted, and at the end if more than a minute would be lost; removed once the run is finished. Checkpoints
    that you ask for are kept."""

    save_steps: float | None = None
    """Steps between checkpoints; below 1, a share of all steps. Implies save_strategy steps, whose default is 500."""

    save_minutes: float = 5.0
    """Minutes between checkpoints if no save_strategy is given: no more than this is ever lost. 0 for none."""

    save_total_limit: int | None = None
    """How many of the newest checkpoints to keep, besides the best one. Default: 1."""

    resume: bool = False
    """Continue an unfinished run in output_dir, to the same result as if it had never stopped. If nothing was saved,
    start from the beginning."""

    resume_from_checkpoint: str | None = None
    """Like resume: True for the newest good checkpoint, or the folder of one."""
