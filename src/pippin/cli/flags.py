"""Each command's own flags; the docstring below each is its help. Those of a job are the fields of a Recipe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class NoFlags:
    """For commands that have none of their own."""


@dataclass(frozen=True)
class TrainFlags:
    config: list[str] | None = None
    """A YAML or JSON file of settings, under the names of the flags. Flags win over it."""


@dataclass(frozen=True)
class VerifyFlags(TrainFlags):
    json: bool = False
    """Print the result as JSON."""


@dataclass(frozen=True)
class PreflightFlags(TrainFlags):
    chip: str | None = None
    """A Mac: m1, m1-pro … m5-max. Without it: this computer."""

    gpu_cores: int | None = None
    """If it has fewer than the chip's most."""

    memory: int | None = None
    """Of the whole Mac. Default: the least that it is sold with."""

    macos: str | None = None
    """Default: the oldest that torch runs on."""

    torch: str | None = None
    """Default: the installed one."""

    machine: str | None = None
    """A computer with any GPU or none, as `pippin doctor --json` described it there."""

    link: Literal["thunderbolt5", "thunderbolt4", "10gbe", "1gbe", "wifi"] | None = None
    """What connects several computers (--hosts 2, or their names). Default: each of these is shown."""

    compare: bool = False
    """The same job on every chip, by batch size."""

    chart: str | None = None
    """That comparison as a picture (.png, .svg or .pdf)."""

    page: str | None = None
    """That comparison as a web page (.html)."""

    overwrite: bool = False
    """Replace the files of --chart and --page if they are there already."""

    measure: bool = False
    """On this computer: run one real step in a process of its own, and say what it took."""

    json: bool = False
    """Print the answer as JSON."""


@dataclass(frozen=True)
class DoctorFlags:
    json: bool = False
    """Print the description of the machine and the findings as JSON."""

    machine: str | None = None
    """Judge the machine described in FILE instead of this one."""


@dataclass(frozen=True)
class PredictFlags:
    text: list[str] | None = None
    """A text to label; may be given several times. For a model of text pairs: --text FIRST --text2 SECOND."""

    text2: list[str] | None = None
    """The second text of each pair."""

    file: str | None = None
    """CSV, TSV, JSON, JSONL or Parquet. The text columns are those of the training."""

    text_column: tuple[str, ...] = ()
    """The text columns of FILE, when they have other names than in training."""

    top_k: int | None = None
    """The K likeliest classes of each text instead of one: label,score,label_2,score_2 … in CSV, a list under "top" in
    JSONL."""

    all_scores: bool = False
    """A column score_LABEL for each class, with its probability."""

    output: str | None = None
    """Where to write: .csv or .jsonl. Default: CSV on standard output."""

    overwrite: bool = False
    """Replace FILE of --output if it is there already. Without it, that is refused."""

    encoding: str = "utf-8"
    """Encoding of FILE or of standard input."""

    device: str | None = None
    """cpu, cuda or mps. Default: the best one here."""

    int8: bool = False
    """Inexact, and faster: the model computes in 8 bits, so labels may differ from the exact model's. On the CPU
    only."""

    quiet: bool = False
    """No progress bar and no notes."""


@dataclass(frozen=True)
class BenchFlags:
    model_name_or_path: str | None = None
    """Another model: a folder or a name on the Hub."""

    device: tuple[str, ...] = ()
    """Only these: cpu, mps, cuda. An emulated device is measured only if it is named here."""

    minutes: float | None = None
    """Time for all of it. Default: 2, and 10 with --full."""

    repeats: int = 5
    """At most so many repeats of each setting."""

    cool_down: float = 0.0
    """Rest before each repeat, for laptops that get hot; in addition to the minutes."""

    against: Literal["transformers"] | None = None
    """Also train with Hugging Face's Trainer, padded as run_glue.py does."""

    full: bool = False
    """BERT-base; with random weights where it was never fetched from the Hub: speed only."""

    compare: bool = False
    """Show the bench.json of several machines together: --compare A B …"""

    output_dir: str | None = None
    """New or empty. Default: runs/bench, numbered where that is taken."""

    json: bool = False
    """Print bench.json instead of tables."""


@dataclass(frozen=True)
class ReportFlags:
    output: str | None = None
    """The page. Default: report.html in the run's folder; runs.html here for several runs; index.html in the folder of
    all runs."""

    overwrite: bool = False
    """Replace a file that is not a page of Pippin's."""


@dataclass(frozen=True)
class RunsFlags:
    open: bool = False
    """Also write the index page, FOLDER/index.html, and open it in the browser."""

    json: bool = False
    """Print the runs as JSON."""


@dataclass(frozen=True)
class ExecFlags:
    data_dir: str | None = None
    """GLUE's files for load_dataset("glue", TASK), as for `pippin train --task_name TASK --data_dir`."""
