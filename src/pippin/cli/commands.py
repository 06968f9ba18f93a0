"""The table of commands: what each is for, its words, its flags, its help."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from pippin.cli import flags
from pippin.recipe.fields import Field, fields_of, recipe_fields


@dataclass(frozen=True)
class Command:
    name: str
    summary: str
    """One line for `pippin help`."""
    usage: tuple[str, ...]
    """What may follow the name, one line for each way."""
    about: str
    """Paragraphs for its own help, before the flags."""
    examples: tuple[tuple[str, str], ...] = ()
    """What to type, and what it does."""
    flags: type = flags.NoFlags
    """A dataclass of the command's own flags."""
    takes_recipe: bool = False
    """Whether it takes the settings of a job as flags too."""
    word: str = ""
    """What a word is that is no flag; how many there must and may be."""
    least: int = 0
    most: int | None = 0
    notes: str = ""
    """Paragraphs for its own help, after the flags."""
    unknown: str = ""
    """What to say of a flag that is none of these, in place of which command has it."""

    @cached_property
    def own_fields(self) -> dict[str, Field]:
        return fields_of(self.flags)

    @cached_property
    def fields(self) -> dict[str, Field]:
        """All its flags: its own, and those of the job."""
        return {**self.own_fields, **(recipe_fields() if self.takes_recipe else {})}


_ROWS = "FILE or FOLDER"
_RUN = "RUN folder"

COMMANDS = {
    command.name: command
    for command in (
        Command(
            "train",
            "Fine-tune a model on a file, a folder, a known task, or the built-in questions.",
            ("[FILE|FOLDER] [--flag value ...] [--config FILE]",),
            """
            Fine-tune a model for text classification (or regression) and save it as transformers does.

            What is left out is chosen from the model, the data and the machine, and printed with its reason before
            training. Flags may be written --like_this or --like-this; a YAML or JSON file of the same names goes in
            with --config, and flags win over it. Hugging Face's run_glue.py flags work under their own names.
            """,
            (
                ("pippin train", "the built-in questions with the built-in model"),
                ("pippin train reviews.csv", "your own rows: CSV, TSV, JSON, JSONL or Parquet"),
                ("pippin train reviews.csv --label_column stars --text_column title,body", ""),
                ("pippin train reviews.csv --model FacebookAI/roberta-base --lr 2e-5 --epochs 3 --batch_size 32", ""),
                (
                    "pippin train --task_name mrpc --data_dir glue_data --model_name_or_path "
                    "google-bert/bert-base-cased --do_train --do_eval --learning_rate 2e-5 --num_train_epochs 3 "
                    "--output_dir runs/mrpc",
                    "",
                ),
            ),
            flags.TrainFlags,
            takes_recipe=True,
            word=_ROWS,
            most=1,
        ),
        Command(
            "preflight",
            "Will this job run, fit and finish in time, here or on another computer?",
            ("[FILE|FOLDER|RUN] [--flag value ...] [--chip NAME ... | --machine FILE] [--compare] [--json]",),
            """
            Takes the words of `pippin train` (or the folder of a run) and answers before anything starts: will it run,
            will it fit, how long will it take? One training step and one evaluation of the real model are run with
            fake tensors, which have shapes and no contents; the model's weights are neither loaded nor downloaded.
            Nothing is written but the files of --chart and --page.
            """,
            (
                ("pippin preflight reviews.csv", "on this computer"),
                ("pippin preflight reviews.csv --chip m1 --memory 8", "on a small Mac"),
                (
                    "pippin preflight reviews.csv --machine machine.json",
                    "as `pippin doctor --json` described it",
                ),
                ("pippin preflight --model google-bert/bert-base-cased --chip m3-max --compare --page macs.html", ""),
            ),
            flags.PreflightFlags,
            takes_recipe=True,
            word=_ROWS,
            most=1,
            notes="""
            Exit code 0 when it runs and fits, 1 when not, 2 when the question cannot be answered. Times on Macs are
            estimates from published runs, not measured by us; how far they are off is said with them.
            """,
        ),
        Command(
            "doctor",
            "Is this computer ready? What was found, and what to type where it is not.",
            ("[--json] [--machine FILE]",),
            """
            Looks at this computer (system, Python, torch, its GPU, memory, packages, disk, power, the Hub) and says for
            each what was found, why it matters and what to type. Nothing is changed. The Hub is asked once whether it
            answers, unless HF_HUB_OFFLINE is set. Exit code 0 when nothing stands in the way, else 1.
            """,
            (
                ("pippin doctor", ""),
                ("pippin doctor --json > machine.json", "for a bug report, or for a friend"),
                ("pippin doctor --machine machine.json", "judge a computer that was described elsewhere"),
            ),
            flags.DoctorFlags,
        ),
        Command(
            "resume",
            "Go on with a run that was interrupted, to the result that it would have had.",
            ("RUN [--flag value ...]",),
            """
            Goes on with a run that was interrupted, killed, or stopped by a full disk. The settings are those of
            RUN/run.json, the place is the newest checkpoint of which every byte verifies, and the result is the one
            that the run would have had, bit for bit on the same device. (On CUDA some kernels differ from run to run by
            themselves: --full_determinism.)
            """,
            (
                ("pippin resume runs/reviews", ""),
                ("pippin resume runs/reviews --epochs 5", "what may change is applied and said; the rest is refused"),
            ),
            flags.TrainFlags,
            takes_recipe=True,
            word=_RUN,
            least=1,
            most=1,
        ),
        Command(
            "verify",
            "Does the GPU give the CPU's results for this model and these rows?",
            ("[FILE|FOLDER] [--flag value ...] [--json]",),
            """
            Takes the words of `pippin train`, and instead of training runs the model on a few of the rows, once on the
            CPU in fp32 and once on the device that training would use: logits with and without gradients, loss, the
            gradient of every parameter, the weights after one optimiser step, a row alone and beside a longer one, and
            all of it a second time; for causal models, that no token sees a later one; for models with a window, rows
            that are padded beyond it. Dropout is off, and labels are others than the rows have, so that a model that
            knows them has gradients to compare. What may differ follows from the rounding of the precision; NaN is
            always a difference.

            Where something differs by more, the model is walked through, and the first module is named that is wrong
            alone, given what the CPU's was given.
            """,
            (
                ("pippin verify", "the built-in questions with the built-in model"),
                ("pippin verify reviews.csv --bf16", "your rows and model, in the precision that you will train in"),
                ("pippin verify --json > verify.json", "for a bug report"),
            ),
            flags.VerifyFlags,
            takes_recipe=True,
            word=_ROWS,
            most=1,
            notes="""
            Exit code 0 when all agrees, 1 when something does not, 2 when it cannot be compared. Nothing is written,
            unless the device fails: then a text to report it with.
            """,
        ),
        Command(
            "predict",
            "Label texts with a trained model.",
            ("RUN [--text TEXT ...] [--file FILE] [--output FILE] [--flag value ...]",),
            """
            Label texts with a trained model: a Pippin run, any folder of a transformers classifier, or its name on
            the Hugging Face Hub (org/name). Without --text and --file, each line of standard input is a text.
            """,
            (
                ('pippin predict runs/reviews --text "What a lovely film" --text "Dull."', ""),
                ("pippin predict runs/reviews --file new.csv --output labelled.csv", ""),
                ("pippin predict runs/reviews --file new.csv --top_k 3", "the three likeliest classes of each text"),
                ("cat lines.txt | pippin predict runs/reviews > labelled.csv", ""),
            ),
            flags.PredictFlags,
            word=_RUN,
            least=1,
            most=1,
            notes="""
            Every row of the input comes back in its place, with the columns label and score added (predicted_label and
            predicted_score where the input has such columns); where the model predicts numbers, with the column value.
            A row whose text is empty or blank comes back too, with these left empty (null in JSONL). How many there are
            is said at the end.

            Rows are read, labelled and written some thousand at a time, so a file may be larger than the memory (but
            for JSON that is not one object per line). FILE of --output appears when all is done, and only if all went
            well.

            In CSV, a text or label that a spreadsheet would run as a formula (it begins with = + - @, a tab or a line
            end, and is no number) gets an apostrophe in front. JSONL holds every text and label unchanged.
            """,
        ),
        Command(
            "bench",
            "How fast is a model on each device of this machine, and which one to use?",
            ("[FILE|FOLDER] [--flag value ...]", "--compare a.json b.json [c.json ...]"),
            """
            Three tests on every device of this machine: inference by batch size, length and precision; fine-tuning on
            1000 rows; and training of the head alone on the frozen core. Takes about two minutes with the built-in
            model and questions, and ends with one sentence: which device to use, and why. Devices take turns, so that a
            machine that gets hot or busy gets slower for all of them alike. What there is no time for is left out, and
            said.
            """,
            (
                ("pippin bench", "the built-in model and questions, two minutes"),
                ("pippin bench --against transformers", "beside Hugging Face's Trainer on the same work"),
                ("pippin bench --full", "BERT-base, ten minutes"),
                ("pippin bench reviews.csv --minutes 5 --device cpu", ""),
                ("pippin bench --compare mine.json yours.json", "machines side by side; nothing is run"),
            ),
            flags.BenchFlags,
            word=_ROWS,
            most=None,
            notes="""
            Writes bench.json, bench.md and charts as PNG and SVG: speed_up (where there is something to compare),
            throughput and memory. Ctrl-C ends it early, with the files of what was measured so far.
            """,
        ),
        Command(
            "exec",
            "Run your own script for Hugging Face's Trainer, unmodified, with Pippin's in its place.",
            (
                "[--data_dir FOLDER] [flags of Python] SCRIPT [words of the script ...]",
                "[--data_dir FOLDER] [flags of Python] -m PACKAGE.MODULE [words of the module ...]",
            ),
            """
            Runs a script written for Hugging Face's Trainer as `python SCRIPT ...` would, without an edit, with
            Pippin's Trainer and TrainingArguments in place of transformers': faster, and with checkpoints that cannot
            be half written.
            """,
            (
                ("pippin exec train.py --epochs 3", "your own script; everything after its name is its own"),
                (
                    "pippin exec run_glue.py --model_name_or_path google-bert/bert-base-cased --task_name mrpc "
                    "--do_train --do_eval --max_seq_length 128 --per_device_train_batch_size 32 --learning_rate 2e-5 "
                    "--num_train_epochs 3 --output_dir runs/mrpc --overwrite_output_dir --use_mps_device",
                    "",
                ),
                ("pippin exec --data_dir glue_data run_glue.py --task_name mrpc ...", ""),
                (
                    "pippin exec -u -m my_package.train --epochs 3",
                    "a module, and a flag of Python's (-u, -W, -X …)",
                ),
            ),
            flags.ExecFlags,
            word="SCRIPT",
            most=None,
            notes="""
            What is different for the script, and only in its process:

            - Trainer, TrainingArguments, Seq2SeqTrainer and Seq2SeqTrainingArguments are Pippin's, also for packages
            that build on them. Arguments that transformers removed are taken again, as Python keywords and as flags.

            - Names and arguments that transformers, datasets and evaluate dropped since 2023 are back, where they are
            gone.

            - Where the Hub cannot be reached, evaluate.load computes the usual metrics here (accuracy, f1, precision,
            recall, matthews_correlation, mse, mae, pearsonr, spearmanr, xnli, glue), and load_dataset("glue", TASK)
            takes the Hub's cache. Each is said on a line that begins with `pippin:`.

            - PYTORCH_ENABLE_MPS_FALLBACK is set before torch is imported, unless you have set it.

            Exit codes and errors are the script's own. Exit code 2 with one line means that Pippin could not go on.
            """,
            unknown="The script's own flags go behind its name: pippin exec SCRIPT.py …",
        ),
        Command(
            "runs",
            "All runs of a folder: scores, status, when and how long.",
            ("[FOLDER] [--open] [--json]",),
            """
            Lists the runs in FOLDER (default: runs) and in folders below it, the newest first, with the score of the
            test rows where there are any, else of the validation rows. A run that did not finish keeps the score of its
            last evaluation, and the command that resumes it stands below the table.
            """,
            (
                ("pippin runs", ""),
                ("pippin runs --open", "the same as a page in the browser, with a link to each run's own"),
                ("pippin runs experiments --json", "for other programs"),
            ),
            flags.RunsFlags,
            word="FOLDER",
            most=1,
        ),
        Command(
            "report",
            "The web page of a run, of several beside each other, or of all.",
            ("[RUN ...] [--output FILE] [--overwrite]",),
            """
            Every run writes RUN/report.html while it goes on: open it in a browser, and it follows the run. This
            command rebuilds the page from the run's records, also for a run that was killed. Several runs go on one
            page: results beside each other, curves over each other, and the settings in which they differ. Without a
            run, or with a folder that holds runs, it writes an index of all runs there.
            """,
            (
                ("pippin report runs/reviews", "rebuild runs/reviews/report.html"),
                ("pippin report runs/a runs/b --output both.html", "compare two runs"),
                ("pippin report", "runs/index.html: all runs, each with a link to its page"),
            ),
            flags.ReportFlags,
            word=_RUN,
            most=None,
            notes="""
            A page needs no server and asks for nothing outside itself. It holds texts of the validation or test rows
            that the model got wrong: think of that before you send it to somebody.
            """,
        ),
        Command(
            "completion",
            "Print a script that completes commands, flags and files in zsh, bash or fish.",
            ("zsh|bash|fish",),
            """
            Prints a script with which the TAB key completes commands, flags, their values, files and runs. Install it
            once, as below, and again after an update of Pippin.
            """,
            (
                ("pippin completion zsh", "print the script for zsh"),
                ("mkdir -p ~/.zfunc && pippin completion zsh > ~/.zfunc/_pippin", ""),
                ("echo 'fpath+=~/.zfunc' >> ~/.zshrc", ""),
                ("echo 'autoload -Uz compinit; compinit' >> ~/.zshrc", "install it for zsh"),
                ("pippin completion bash > ~/.pippin-completion.bash", ""),
                ("echo 'source ~/.pippin-completion.bash' >> ~/.bashrc", "for bash; on a Mac: ~/.bash_profile"),
                ("pippin completion fish > ~/.config/fish/completions/pippin.fish", "for fish"),
            ),
            word="SHELL",
            least=1,
            most=1,
            notes="Then open a new terminal, type `pippin tr` and press TAB.",
        ),
        Command("help", "Explain a command, with all its flags.", ("[COMMAND]",), "", word="COMMAND", most=1),
        Command("version", "Print the version.", ("",), ""),
    )
}
