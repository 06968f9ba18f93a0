"""Each command's own flags; the docstring below each is its help. Those of a job are the fields of a Recipe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class NoFlags:
    """For commands that have none of their own."""


@dataclass(frozen=True)
class TrainFlags:
    config: list[str] | None = None
    """A YAML or JSON file of settings, with the names of the flags. Flags override it."""


@dataclass(frozen=True)
class VerifyFlags(TrainFlags):
    json: bool = False
    """Print the result as JSON."""


@dataclass(frozen=True)
class PreflightFlags(TrainFlags):
    chip: str | None = None
    """A Mac: m1, m1-pro … m5-max. Without it: this computer."""

    gpu_cores: int | None = None
    """If the Mac has fewer than the chip can have."""

    memory: int | None = None
    """Memory of the Mac. Default: the least that this chip is sold with."""

    macos: str | None = None
    """Version of macOS. Default: the oldest that torch runs on."""

    torch: str | None = None
    """Version of torch. Default: the installed one."""

    machine: str | None = None
    """Any computer, as `pippin doctor --json` described it there."""

    link: Literal["thunderbolt5", "thunderbolt4", "10gbe", "1gbe", "wifi"] | None = None
    """What connects several computers (--hosts 2, or their names). Default: each of these is shown."""

    compare: bool = False
    """Show the same job on every Mac chip, by batch size."""

    chart: str | None = None
    """Write that comparison as a picture (.png, .svg or .pdf)."""

    page: str | None = None
    """Write that comparison as a web page (.html)."""

    overwrite: bool = False
    """Replace the files of --chart and --page if they exist."""

    measure: bool = False
    """Also run a few real steps on this computer, in a process of their own, and measure them."""

    json: bool = False
    """Print the answer as JSON."""


@dataclass(frozen=True)
class DoctorFlags:
    json: bool = False
    """Print the description of the machine and the findings as JSON."""

    machine: str | None = None
    """Check the computer described in FILE instead of this one."""


@dataclass(frozen=True)
class PredictFlags:
    text: list[str] | None = None
    """A text to label; may be given several times. For a model of text pairs: --text FIRST --text2 SECOND."""

    text2: list[str] | None = None
    """The second text of each pair."""

    file: str | None = None
    """CSV, TSV, TXT, JSON, JSONL, Parquet or XLSX, with the text columns of the training; for a model that tags words,
    CoNLL too."""

    text_column: tuple[str, ...] = ()
    """The text columns of FILE, if their names differ from those in training."""

    column_names: tuple[str, ...] = ()
    """Names for the columns of a CSV or TSV file whose first line doesn't name them."""

    no_header: bool = False
    """The first line of a CSV or TSV file is a row, too."""

    top_k: int | None = None
    """The K likeliest classes of each text instead of one: label,score,label_2,score_2 … in CSV, a list under "top" in
    JSONL."""

    all_scores: bool = False
    """Add a column score_LABEL for each class, with its probability."""

    aggregation_strategy: Literal["simple", "first"] | None = None
    """For a model that finds spans in a text. `simple`: the spans of transformers' pipeline with that setting, some of
    which may begin or end within a word. `first`: whole words, each judged by its first token. Default: simple."""

    output: str | None = None
    """Where to write: .csv or .jsonl; .conll adds a column of tags to a CoNLL file. Default: standard output, as CSV
    or, if FILE is CoNLL, as that."""

    overwrite: bool = False
    """Replace the file of --output if it exists."""

    encoding: str = "utf-8"
    """Encoding of FILE or of standard input."""

    device: str | None = None
    """cpu, cuda or mps. Default: the best one here."""

    int8: bool = False
    """Faster but inexact: the model computes in 8 bits, so some labels may differ. On the CPU only."""

    quiet: bool = False
    """Print no progress bar and no notes."""


@dataclass(frozen=True)
class ChatFlags:
    text: list[str] | None = None
    """A prompt to answer; may be given several times, and each is a chat of its own."""

    file: str | None = None
    """Prompts to answer: CSV, TSV, TXT (one a line), JSON, JSONL, Parquet or XLSX. Found by itself: a column messages,
    prompt, question, instruction or text. Of a chat that ends with an answer, the model is asked what stands before."""

    text_column: tuple[str, ...] = ()
    """The column of FILE that holds the prompts; of several, the parts of a prompt."""

    column_names: tuple[str, ...] = ()
    """Names for the columns of a CSV or TSV file whose first line doesn't name them."""

    no_header: bool = False
    """The first line of a CSV or TSV file is a row, too."""

    complete: bool = False
    """Go on from each text instead of answering it: for models that were trained on plain texts. No chat template is
    used."""

    system: str | None = None
    """The system message of every chat that has none of its own."""

    max_new_tokens: int | None = None
    """Most tokens of an answer. Default: 512; in a chat on a terminal, 2048."""

    temperature: float | None = None
    """Draw tokens at random: below 1 the likely ones more often, above 1 less often. 0: take the likeliest token each
    time. Default: for --text, --file and standard input, the likeliest, so that answers repeat; in a chat on a
    terminal, as the model's own generation_config.json says."""

    top_p: float | None = None
    """Draw only from the likeliest tokens that together have this probability."""

    top_k: int | None = None
    """Draw only from the K likeliest tokens."""

    repetition_penalty: float | None = None
    """Above 1, tokens that were there before become less likely."""

    seed: int | None = None
    """Draw the same tokens every time."""

    generate: dict[str, Any] | None = None
    """Other settings of transformers' generate, such as '{"num_beams": 4}'. With beams, an answer comes all at once."""

    output: str | None = None
    """Where to write every row with its answer: .csv or .jsonl. Default for --file: standard output, as CSV or, if FILE
    is JSON or Parquet, as JSONL."""

    overwrite: bool = False
    """Replace the file of --output if it exists."""

    encoding: str = "utf-8"
    """Encoding of FILE or of standard input."""

    device: str | None = None
    """cpu, cuda or mps. Default: the best one here."""

    quiet: bool = False
    """Print no progress bar and no notes."""


@dataclass(frozen=True)
class ExportFlags:
    to: Literal["merged", "peft", "mlx", "gguf"] | None = None
    """merged: the whole model for transformers. peft: the adapters for peft. mlx: the adapters, or the whole model, for
    mlx-lm. gguf: the whole model in one file for llama.cpp and its kin."""

    output: str | None = None
    """Where to write. Default: beside the run, such as runs/chats-merged or runs/chats.gguf."""

    overwrite: bool = False
    """Replace an earlier export, if it is still as Pippin wrote it."""

    precision: Literal["fp32", "bf16", "fp16"] | None = None
    """That of the weights of a whole model. Default: as the base model is stored, or the run's own model."""

    file: str | None = None
    """Rows whose prompts are compared, like those of the training; up to 200. Default: a few built-in prompts."""

    text_column: tuple[str, ...] = ()
    """The columns of FILE that hold the prompts, if their names don't tell."""


@dataclass(frozen=True)
class BenchFlags:
    model_name_or_path: str | None = None
    """The model: a folder or a name on the Hub. Default: the built-in one."""

    device: tuple[str, ...] = ()
    """Measure only these: cpu, mps, cuda. An emulated device is measured only if you name it."""

    minutes: float | None = None
    """Minutes for everything. Default: 2, or 10 with --full."""

    repeats: int = 5
    """Repeat each setting at most this many times."""

    cool_down: float = 0.0
    """Rest this long before each repeat, for laptops that get hot. Not counted in the minutes."""

    against: Literal["transformers"] | None = None
    """Also train with Hugging Face's Trainer, padded as run_glue.py pads."""

    full: bool = False
    """Use BERT-base, with random weights if it was never downloaded: this measures speed only."""

    compare: bool = False
    """Show the bench.json files of several machines together: --compare A B …"""

    output_dir: str | None = None
    """A new or empty folder. Default: runs/bench, with a number added if it exists."""

    json: bool = False
    """Print bench.json instead of tables."""


@dataclass(frozen=True)
class ReportFlags:
    output: str | None = None
    """The page. Default: report.html in the run's folder, runs.html for several runs, index.html for all runs."""

    overwrite: bool = False
    """Replace a file that Pippin did not make."""


@dataclass(frozen=True)
class RunsFlags:
    open: bool = False
    """Write FOLDER/index.html, a page with all runs, and open it in the browser."""

    json: bool = False
    """Print the runs as JSON."""


@dataclass(frozen=True)
class ExecFlags:
    data_dir: str | None = None
    """Folder with GLUE's files, for load_dataset("glue", TASK)."""
