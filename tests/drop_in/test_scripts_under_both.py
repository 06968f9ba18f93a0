"""Scripts as people write them, run once with transformers' classes and once with Pippin's, leave the same behind."""

from __future__ import annotations

import _socket
import contextlib
import importlib.util
import json
import random
import runpy
import shutil
import socket
import sys
from importlib import import_module
from pathlib import Path

import pytest

from helpers import FILLER, WORDS, make_rows

transformers = pytest.importorskip("transformers", minversion="4.46")  # the scripts are written for today's names
pytest.importorskip("accelerate")

from pippin.drop_in import notices as said  # noqa: E402
from pippin.drop_in.packed_forward import PackedForward  # noqa: E402
from pippin.drop_in.script.replacements import CLASSES  # noqa: E402

FOLDER = Path(__file__).parents[2] / "benchmarks" / "drop_in"
SCRIPTS = FOLDER / "scripts"
WITHIN = 1e-5


def _outputs():
    spec = importlib.util.spec_from_file_location("drop_in_outputs", FOLDER / "outputs.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


outputs = _outputs()


@pytest.fixture(scope="module")
def model(tiny_model, tmp_path_factory):
    """The tiny BERT without dropout, with weights so large that it tells rows apart before it has learnt anything."""
    import torch

    folder = tmp_path_factory.mktemp("models") / "tiny-bert"
    shutil.copytree(tiny_model, folder)
    config = transformers.AutoConfig.from_pretrained(tiny_model)
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    config.initializer_range = 0.2
    torch.manual_seed(0)
    transformers.BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture
def files(write_rows, model):
    """Rows in every form that a script asks for."""
    draw = random.Random(3)

    def pairs(count):
        rows = []
        for number in range(count):
            first, second = (draw.choice(WORDS["animal"]) for _ in range(2))
            texts = [" ".join([*draw.choices(FILLER, k=draw.randint(2, 9)), word]) for word in (first, second)]
            rows.append({"sentence1": texts[0], "sentence2": texts[1], "label": number % 2, "idx": number})
        return rows

    rows = make_rows(54)
    return {
        "model": model,
        "balanced": write_rows(
            "balanced.csv", rows[:48]
        ),  # so that each class weighs 1, and batches of 8 come out even
        "train": write_rows("train.csv", [row for place, row in enumerate(rows) if place % 3 or place % 2]),
        "dev": write_rows("dev.csv", make_rows(21, seed=1)),
        "train_lines": write_rows("train.jsonl", rows),
        "dev_lines": write_rows("dev.jsonl", make_rows(21, seed=1)),
        "pairs": write_rows("pairs.csv", pairs(40)),
        "dev_pairs": write_rows("dev_pairs.csv", pairs(20)),
    }


@pytest.fixture(autouse=True)
def _sockets_within_the_computer(monkeypatch, _no_network):
    """A DataLoader's workers hand over their tensors through one."""
    refuse = socket.socket.connect

    def connect(self, address):
        return _socket.socket.connect(self, address) if self.family == socket.AF_UNIX else refuse(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)


@pytest.fixture
def packed(monkeypatch):
    """How many calls of a model went without their padding."""
    calls = []
    usual = PackedForward._reaching_in

    def counted(self, packing):
        calls.append(packing)
        return usual(self, packing)

    monkeypatch.setattr(PackedForward, "_reaching_in", counted)
    return calls


@pytest.fixture
def run(tmp_path, files, monkeypatch):
    """Run a script with one side's classes, in a folder of that side; returns what it left there."""

    def call(side, script, words, new=True):
        folder = tmp_path / side
        folder.mkdir(exist_ok=not new)
        filled = [str(word).format(**files) for word in words]
        with monkeypatch.context() as patch:
            patch.chdir(folder)
            patch.setattr(sys, "argv", [script, *filled, "--output_dir", "out"])
            patch.setattr(said, "_said", set())
            if side.startswith("ours"):
                _put_in_place(patch)
            with contextlib.suppress(SystemExit):
                runpy.run_path(str(SCRIPTS / script), run_name="__main__")
        return outputs.values(folder)

    return call


def _put_in_place(patch):
    """Pippin's classes under transformers' names, as `pippin exec` puts them there."""
    ours = {name: getattr(import_module(place), name) for name, (_, place) in CLASSES.items()}
    for home in ("transformers", *sorted({home for home, _ in CLASSES.values()})):
        module = import_module(home)
        for name, replacement in ours.items():
            if home == "transformers" or name in vars(module):
                patch.setattr(module, name, replacement)


def assert_same(theirs, ours):
    """Every file, event, figure, prediction, weight and state of an optimiser."""
    found = outputs.apart(theirs, ours)
    assert not found.only_in_one
    assert not found.unlike
    assert not found.over(WITHIN)
    return found


USUAL = ["--logging_steps", 1]
#: Small, since Adam moves a weight that has no gradient to speak of, by rounding alone, as far as any other.
RATE = 2e-4
GLUE = [
    "--model_name_or_path", "{model}", "--train_file", "{pairs}", "--validation_file", "{dev_pairs}",
    "--test_file", "{dev_pairs}", "--max_seq_length", 32, "--do_train", "--do_eval", "--do_predict",
    "--learning_rate", RATE, "--num_train_epochs", 2, "--report_to", "none", "--cache_dir", "cache", *USUAL,
]  # fmt: skip
STREAMED = [
    "--train_file", "{train_lines}", "--test_file", "{dev_lines}", "--model", "{model}", "--max_steps", 9,
    "--batch_size", 8, "--lr", RATE, *USUAL,
]  # fmt: skip
ON_WORDS = ["--train", "{train}", "--dev", "{dev}", "--model", "{model}", "--lr", RATE, *USUAL]
SEARCH = ["{train}", "{dev}", "--model", "{model}", "--batch_size", 8, *USUAL]
HOOKS = [
    "--train_csv", "{train}", "--eval_csv", "{dev}", "--model_name", "{model}", "--learning_rate", 0.05,
    "--batch_size", 8, *USUAL,
]  # fmt: skip

DYNAMIC = ["--pad_to_max_length", "False", "--eval_strategy", "epoch"]
OWN_CSV = ["{train}", "--model", "{model}", "--lr", RATE, "--max_length", 24, *USUAL]

#: name -> script, its words, the packages that it needs
RUNS = {
    "glue": ("glue.py", [*GLUE, "--per_device_train_batch_size", 8], "datasets sklearn"),
    "glue, padded by batch": ("glue.py", [*GLUE, *DYNAMIC], "datasets sklearn"),
    "own_csv": ("own_csv.py", OWN_CSV, "pandas sklearn"),
    "streamed": ("streamed.py", STREAMED, ""),
    "streamed by two workers": ("streamed.py", [*STREAMED, "--num_workers", 2], ""),
    "weighted": ("weighted.py", [*ON_WORDS, "--max_length", 24, "--batch_size", 8, "--epochs", 2], ""),
    "callbacks": ("callbacks.py", [*ON_WORDS, "--batch_size", 8, "--epochs", 6, "--patience", 1], ""),
    "search": ("search.py", [*SEARCH, "--rates", RATE, 1e-4], ""),
    "search with optuna": ("search.py", [*SEARCH, "--optuna_trials", 2], "optuna"),
    "hooks": ("hooks.py", HOOKS, "datasets"),
    "tagging": ("tagging.py", [*ON_WORDS, "--epochs", 2, "--batch_size", 8], ""),
    "lora": ("lora.py", [*ON_WORDS, "--batch_size", 8, "--epochs", 2], "peft"),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_script_leaves_the_same_behind(name, run, packed):
    script, words, needed = RUNS[name]
    for package in needed.split():
        pytest.importorskip(package)
    theirs = run("theirs", script, words)
    assert not packed
    ours = run("ours", script, words)
    assert packed, "the padding went through the model"
    found = assert_same(theirs, ours)
    for figure in ("loss", "grad_norm", "learning_rate", "eval_loss"):
        assert any(place.endswith((f".{figure}", f":{figure}")) for place in found.by), f"{figure} was never logged"


@pytest.fixture(scope="module")
def writes(model, tmp_path_factory):
    """A tiny model that turns texts into texts."""
    import torch

    folder = tmp_path_factory.mktemp("models") / "tiny-t5"
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    config = transformers.T5Config(
        vocab_size=len(tokenizer), d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2, dropout_rate=0.0,
        pad_token_id=tokenizer.pad_token_id, eos_token_id=tokenizer.sep_token_id,
        decoder_start_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    torch.manual_seed(0)
    transformers.T5ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


TRANSLATION = ["--train", "{pairs}", "--dev", "{dev_pairs}", "--batch_size", 8, "--save_steps", 2, *USUAL]


def test_models_without_a_fast_path_are_left_alone(run, packed, capsys, writes):
    words = [*TRANSLATION, "--model", writes]
    theirs, ours = (run(side, "translation.py", words) for side in ("theirs", "ours"))
    assert outputs.apart(theirs, ours).most() == 0.0
    assert_same(theirs, ours)
    assert not packed
    assert "as the script gives them" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("script", "words", "size", "accumulated", "needed"),
    [
        ("weighted.py", [*ON_WORDS, "--train", "{balanced}", "--max_length", 24], "--batch_size", "--accumulate", ""),
        ("glue.py", GLUE, "--per_device_train_batch_size", "--gradient_accumulation_steps", "datasets sklearn"),
    ],
    ids=["weighted", "glue"],
)
def test_accumulated_micro_batches_are_the_whole_batch(run, script, words, size, accumulated, needed):
    """Of transformers itself, whose accumulated losses are too large by the number of micro-batches."""
    for package in needed.split():
        pytest.importorskip(package)
    theirs = run("theirs", script, [*words, size, 8])
    ours = run("ours", script, [*words, size, 4, accumulated, 2])
    names = [
        name
        for name in theirs
        if "checkpoint-" not in name and name.partition(":")[0].endswith((".json", ".safetensors"))
    ]
    kept = [name for name in names if not name.endswith(("total_flos", "train_batch_size"))]
    assert_same({name: theirs[name] for name in kept}, {name: ours[name] for name in kept})
    assert any(name.endswith(".grad_norm") for name in kept)


def test_what_cannot_be_pickled_is_no_hindrance(run, tmp_path, capsys):
    """A lambda for the metrics, an open file in the collator, a lock in a callback, arguments of the script's own."""
    words = [
        "--train_file", "{train}", "--base_model", "{model}", "--learning_rate", RATE, "--eval_strategy", "epoch",
        "--per_device_train_batch_size", 8, "--num_train_epochs", 3, "--save_steps", 4, "--report_to", "none", *USUAL,
    ]  # fmt: skip
    found = {}
    for side in ("theirs", "ours"):
        run(side, "resumed.py", [*words, "--break_off_at", 7])
        found[side] = run(side, "resumed.py", [*words, "--proceed", "True"], new=False)
    assert_same(found["theirs"], found["ours"])
    run("ours unbroken", "resumed.py", words)
    resumed, unbroken = (Path(tmp_path, side, "out/model.safetensors") for side in ("ours", "ours unbroken"))
    assert resumed.read_bytes() == unbroken.read_bytes(), "resuming changed the result"
    assert capsys.readouterr().out.count("trained from") == 3


def test_the_scripts_know_nothing_of_pippin():
    scripts = list(SCRIPTS.glob("*.py"))
    assert {path.name for path in scripts} >= {script for script, _, _ in RUNS.values()}
    assert not [path.name for path in scripts if "pippin" in path.read_text().lower()]


def test_a_difference_is_found(tmp_path):
    """Lest the comparison itself be blind."""
    history = {"loss": 1.0, "eval_runtime": 3.0, "best": "a", "steps": [1, 2]}
    changes = [{"loss": 1.1}, {"best": "b"}, {"steps": [1]}, {"eval_runtime": 4.0}]
    for number, change in enumerate([{}, *changes]):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "state.json").write_text(json.dumps({**history, **change}))
    same, *others = (outputs.values(tmp_path / str(number)) for number in range(5))
    loss, text, shorter, clock = (outputs.apart(same, other) for other in others)
    assert loss.most("loss") == pytest.approx(0.1)
    assert list(loss.over(WITHIN)) == ["state.json:loss"]
    assert text.unlike == ["state.json:best"]
    assert shorter.only_in_one == ["state.json:steps.1"]
    assert clock.most() == 0.0
    assert not clock.only_in_one + clock.unlike
