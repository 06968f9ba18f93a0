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

            Anything you leave out is chosen from the model, the data and the computer, and printed with the reason
            before training. Write flags --like_this or --like-this. A YAML or JSON file with the same names can be
            given with --config; flags override it. The flags of Hugging Face's run_glue.py work under their own names.
            """,
            (
                ("pippin train", "the built-in questions with the built-in model"),
                ("pippin train reviews.csv", "your own rows: CSV, TSV, TXT, JSON, JSONL, Parquet or XLSX"),
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
            Takes the same arguments as `pippin train` (or the folder of a run) and answers before anything starts:
            will it run, will it fit, how long will it take? It runs one training step and one evaluation of the real
            model with fake tensors, which have a shape but no data; the model's weights are not loaded or downloaded.
            It writes nothing but the files of --chart and --page.
            """,
            (
                ("pippin preflight reviews.csv", "on this computer"),
                ("pippin preflight reviews.csv --chip m1 --memory 8", "on a small Mac"),
                (
                    "pippin preflight reviews.csv --machine machine.json",
                    "as `pippin doctor --json` described it",
                ),
                ("pippin preflight --model google-bert/bert-base-cased --compare --page macs.html", "on every Mac"),
            ),
            flags.PreflightFlags,
            takes_recipe=True,
            word=_ROWS,
            most=1,
            notes="""
            Exit code 0 if it runs and fits, 1 if not, 2 if the question can't be answered. Times on Macs are estimates
            from published runs, not measured by us; they are printed with their error.
            """,
        ),
        Command(
            "doctor",
            "Is this computer ready, and what to type if it isn't.",
            ("[--json] [--machine FILE]",),
            """
            Checks this computer (system, Python, torch, its GPU, memory, packages, disk, power, the Hub) and says for
            each what it found, why that matters and what to type. It changes nothing. It contacts the Hub once, unless
            HF_HUB_OFFLINE is set. Exit code 0 if nothing stands in the way, else 1.
            """,
            (
                ("pippin doctor", ""),
                ("pippin doctor --json > machine.json", "for a bug report, or for a friend"),
                ("pippin doctor --machine machine.json", "check a computer that was described elsewhere"),
            ),
            flags.DoctorFlags,
        ),
        Command(
            "resume",
            "Continue an interrupted run, to the same result as if it had never stopped.",
            ("RUN [--flag value ...]",),
            """
            Continues a run that was interrupted, killed, or stopped by a full disk. It takes its settings from
            RUN/run.json and starts at the newest checkpoint whose every byte verifies. The result is the one that the
            run would have had without the interruption, bit for bit on the same device. (On CUDA, some kernels give
            slightly different results from run to run, unless you train with --full_determinism.)
            """,
            (
                ("pippin resume runs/reviews", ""),
                ("pippin resume runs/reviews --epochs 5", "what can change is applied and shown; the rest is refused"),
            ),
            flags.TrainFlags,
            takes_recipe=True,
            word=_RUN,
            least=1,
            most=1,
        ),
        Command(
            "verify",
            "Does the GPU compute the same results as the CPU for this model and these rows?",
            ("[FILE|FOLDER] [--flag value ...] [--json]",),
            """
            Takes the same arguments as `pippin train`. Instead of training, it runs the model on a few of the rows,
            once on the CPU in fp32 and once on the device that training would use, and compares logits with and without
            gradients, the loss, the gradient of every parameter, the weights after one optimiser step, and a row alone
            and beside a longer one, all of it twice. For causal models it checks that no token sees a later one, and
            for models with a window, rows that are padded beyond it. Dropout is off, and the labels differ from the
            rows' own, so that a trained model still has gradients to compare. The tolerance follows from the rounding
            of the precision; NaN is always a difference.

            If something differs by more, Pippin names the first module that gives a wrong result for the CPU's input.
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
            Exit code 0 if everything agrees, 1 if something doesn't, 2 if there is nothing to compare. Nothing is
            written, unless the device fails: then a text to report it with.
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
            predicted_score if the input has such columns already), or the column value if the model predicts numbers.
            If a row's text is empty or blank, they are left empty (null in JSONL), and Pippin reports how many there
            were.

            Rows are read, labelled and written a few thousand at a time, so a file can be larger than the memory
            (except JSON, unless it has one object per line). The file of --output appears when everything is done, and
            only if all went well.

            In CSV, a text or label that a spreadsheet would run as a formula (it begins with = + - @, a tab or a line
            break, and isn't a number) gets an apostrophe in front. JSONL holds every text and label unchanged.
            """,
        ),
        Command(
            "chat",
            "Talk with a language model, or have it answer many prompts.",
            ("RUN [--text TEXT ...] [--file FILE] [--output FILE] [--flag value ...]",),
            """
            Answers with a language model: a Pippin run, any folder of such a model, or its name on the Hugging Face Hub
            (org/name). On a terminal, without --text and --file, you talk with it: the answer appears as it is
            written, and the model remembers what was said. Ctrl-C stops an answer; /help lists what else can be typed.

            With --text, only the answer is printed. With --file, every row comes back in its place with the column
            answer added (predicted_answer if there is such a column already). If standard input is no terminal, each of
            its lines is a prompt. Each of these prompts is a chat of its own.
            """,
            (
                ("pippin chat runs/chats", "talk on the terminal; Ctrl-D leaves"),
                ('pippin chat runs/chats --text "What is the capital of France?"', "one answer, and nothing else"),
                ("pippin chat runs/chats --file prompts.jsonl --output answers.jsonl", ""),
                ('pippin chat runs/chats --system "Answer in one word." --temperature 0.7 --seed 1', ""),
                ('pippin chat runs/stories --complete --text "Once upon a time"', "go on from a text"),
            ),
            flags.ChatFlags,
            word=_RUN,
            least=1,
            most=1,
            notes="""
            A model without a chat template gets a plain one: User: …, Assistant: … Rows whose prompt is empty, or
            leaves no room for an answer, get an empty answer and are named. The file of --output appears when
            everything is done, and only if all went well.

            In CSV, a prompt or answer that a spreadsheet would run as a formula (it begins with = + - @, a tab or a
            line break, and isn't a number) gets an apostrophe in front. JSONL holds every text unchanged.
            """,
        ),
        Command(
            "export",
            "Write a trained language model for transformers, peft, mlx-lm or llama.cpp, with proof.",
            ("RUN --to merged|peft|mlx|gguf [--output PATH] [--file FILE] [--overwrite]",),
            """
            Writes the language model of a finished run in a form that other programs load. Then their own reader loads
            it again and is asked a few prompts, on the CPU. If the next tokens or their logits differ from those of the
            run's own model by more than rounding explains, Pippin says so and leaves nothing behind.

            For merged and gguf, adapters are added to the weights of the base model, which keep the precision in which
            they are stored. If that is too coarse for what the adapters change, Pippin says so; --precision names
            another. A run whose weights were all trained keeps its own.
            """,
            (
                ("pippin export runs/chats --to merged", "a folder for transformers: runs/chats-merged"),
                ("pippin export runs/chats --to peft", "the adapters for peft: runs/chats-peft"),
                ("pippin export runs/chats --to mlx", "the adapters for mlx-lm: runs/chats-mlx"),
                ("pippin export runs/chats --to gguf", "one file for llama.cpp: runs/chats.gguf"),
                ("pippin export runs/chats --to merged --file prompts.jsonl --output my-model", "prompts of your own"),
            ),
            flags.ExportFlags,
            word=_RUN,
            least=1,
            most=1,
            notes="""
            Exit code 0 if the export is there and was compared, 2 if there is none.
            """,
        ),
        Command(
            "bench",
            "How fast is a model on each device of this machine, and which one to use?",
            ("[FILE|FOLDER] [--flag value ...]", "--compare a.json b.json [c.json ...]"),
            """
            Runs three tests on every device of this machine: inference by batch size, length and precision; fine-tuning
            on 1000 rows; and training only the head, with the rest frozen. It takes about two minutes with the built-in
            model and questions, and ends with one sentence: which device to use, and why. Devices take turns, so that a
            machine that gets hot or busy slows all of them down alike. Whatever doesn't fit into the time is left out
            and listed.
            """,
            (
                ("pippin bench", "the built-in model and questions, two minutes"),
                ("pippin bench --against transformers", "and Hugging Face's Trainer on the same work"),
                ("pippin bench --full", "BERT-base, ten minutes"),
                ("pippin bench reviews.csv --minutes 5 --device cpu", ""),
                ("pippin bench --compare mine.json yours.json", "machines side by side; nothing is run"),
            ),
            flags.BenchFlags,
            word=_ROWS,
            most=None,
            notes="""
            Writes bench.json, bench.md, bench.html and charts as PNG and SVG: speed_up (if there is something to
            compare), throughput and memory. Ctrl-C ends it early and writes what was measured so far.
            """,
        ),
        Command(
            "exec",
            "Run your own script for Hugging Face's Trainer, unmodified, on Pippin's engine.",
            (
                "[--data_dir FOLDER] [flags of Python] SCRIPT [the script's arguments ...]",
                "[--data_dir FOLDER] [flags of Python] -m PACKAGE.MODULE [the module's arguments ...]",
            ),
            """
            Runs a script that was written for Hugging Face's Trainer as `python SCRIPT ...` would, unmodified, but with
            Pippin's Trainer and TrainingArguments in place of transformers': faster, and with checkpoints that are
            either complete or not there.
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
            that build on them. They take the arguments that transformers has removed, as Python keywords and as flags.

            - Names and arguments that transformers, datasets and evaluate have dropped since 2023 work again.

            - If the Hub can't be reached, evaluate.load computes the usual metrics here (accuracy, f1, precision,
            recall, matthews_correlation, mse, mae, pearsonr, spearmanr, xnli, glue), and load_dataset("glue", TASK)
            reads the Hub's cache. Pippin prints a line that begins with `pippin:` for each.

            - PYTORCH_ENABLE_MPS_FALLBACK is set before torch is imported, unless you have set it.

            Exit codes and errors are the script's own. Exit code 2 with one line means that Pippin had to stop.
            """,
            unknown="The script's own flags go after its name: pippin exec SCRIPT.py …",
        ),
        Command(
            "runs",
            "List all runs of a folder with their scores.",
            ("[FOLDER] [--open] [--json]",),
            """
            Lists the runs in FOLDER (default: runs) and in folders below it, newest first, with the score on the test
            rows if there are any, else on the validation rows. An unfinished run shows the score of its last
            evaluation; the command that continues it is printed below the table.
            """,
            (
                ("pippin runs", ""),
                ("pippin runs --open", "as a page in the browser, with a link to each run's page"),
                ("pippin runs experiments --json", "for other programs"),
            ),
            flags.RunsFlags,
            word="FOLDER",
            most=1,
        ),
        Command(
            "report",
            "Make the page of a run, compare several, or list all.",
            ("[RUN ...] [--output FILE] [--overwrite]",),
            """
            Every run writes RUN/report.html while it trains: open it in a browser, and it follows the run. This command
            makes the page again from the run's records, also for a run that was killed. Given several runs, it compares
            them on one page: results side by side, curves in one chart, and the settings that differ. Without a run, or
            with a folder of runs, it writes an index of all runs.
            """,
            (
                ("pippin report runs/reviews", "make runs/reviews/report.html again"),
                ("pippin report runs/a runs/b --output both.html", "compare two runs"),
                ("pippin report", "runs/index.html: all runs, each with a link to its page"),
            ),
            flags.ReportFlags,
            word=_RUN,
            most=None,
            notes="""
            A page needs no server and loads nothing from elsewhere. It contains texts of validation or test rows that
            the model got wrong: keep that in mind before you share it.
            """,
        ),
        Command(
            "completion",
            "Print a script that completes commands, flags and files in zsh, bash or fish.",
            ("zsh|bash|fish",),
            """
            Prints a script that lets the TAB key complete commands, flags, their values, files and runs. Install it
            once, as shown below, and again after you update Pippin.
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
