"""No pickle is read or written: not in the source, and not when one lies under the name of any file."""

from __future__ import annotations

import ast
import io
import json
import pickle
import shutil
import zipfile
from pathlib import Path

import pytest
from security_helpers import payload

import pippin
from helpers import make_rows

PACKAGE = Path(pippin.__file__).parent
#: What a run's folder, a checkpoint or a model from elsewhere may hold.
FILE_NAMES = (
    "pytorch_model.bin model.bin adapter_model.bin training_args.bin optimizer.pt optimizer.bin scheduler.pt scaler.pt "
    "rng_state.pth rng_state_0.pth tf_model.h5 flax_model.msgpack model.safetensors optimizer.safetensors state.json "
    "manifest.json config.json generation_config.json tokenizer.json tokenizer_config.json special_tokens_map.json "
    "added_tokens.json vocab.txt vocab.pkl trainer_state.json run.json report.json events.jsonl .pippin-lock README.md"
).split()
#: The only places that run text as code: a call that Pippin itself wrote from shapes, and the user's own script.
MAY_RUN = {"commands/failures/search.py": {"exec("}, "drop_in/script/runner.py": {"exec(", "compile("}}
FORBIDDEN_MODULES = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def faults(source: str) -> list[str]:
    """What a module must not hold, by line."""
    found = []
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name.split(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [(node.module or "").split(".")[0]]
            if node.module == "torch":
                names += [f"torch.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names = [f"{node.value.id}.{node.attr}"]
            if node.attr == "allow_pickle":
                names.append("allow_pickle")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            names = [node.func.id + "("]
        elif isinstance(node, ast.keyword) and isinstance(node.value, ast.Constant) and node.value.value is True:
            names = [f"{node.arg}=True"]
        bad = FORBIDDEN_MODULES | {
            "torch.load", "torch.save", "eval(", "exec(", "compile(", "__import__(",
            "trust_remote_code=True", "allow_pickle=True",
        }  # fmt: skip
        found += [f"line {getattr(node, 'lineno', '?')}: {name}" for name in names if name in bad]
    return found


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_source_reads_no_pickle_and_runs_no_text(path):
    allowed = MAY_RUN.get(path.relative_to(PACKAGE).as_posix(), set())
    assert not [fault for fault in faults(path.read_text()) if fault.split(": ")[1] not in allowed]


@pytest.mark.parametrize(
    "line",
    ["import pickle", "from joblib import load", "torch.load(x)", "from torch import save", "eval('1')", "exec(x)",
     "f(trust_remote_code=True)", "numpy.load(x, allow_pickle=True)"],
)  # fmt: skip
def test_the_search_finds_what_it_looks_for(line):
    assert faults(line)


@pytest.fixture
def marker(tmp_path):
    return tmp_path / "the-payload-ran"


@pytest.fixture(scope="module")
def finished(tiny_model, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    rows = folder / "words.jsonl"
    rows.write_text("".join(json.dumps(row) + "\n" for row in make_rows(60)))
    pippin.train(rows, model_name_or_path=tiny_model, output_dir=folder / "run", max_steps=1, quiet=True)
    return folder / "run"


def test_the_payload_works(marker):
    pickle.loads(payload(marker))
    assert marker.is_dir()


@pytest.mark.parametrize("name", FILE_NAMES)
def test_payload_in_a_run_never_runs(run_cli, finished, word_file, tmp_path, marker, name):
    """Used for prediction, trained on, and trained over."""
    run = tmp_path / "run"
    shutil.copytree(finished, run)
    for folder in (run, run / "checkpoints" / "step-1"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(payload(marker))
    quick = ("--max_steps", 1, "--max_train_samples", 12, "--max_eval_samples", 6, "--log_level", "error")
    commands = [
        ("predict", run, "--text", "the dog"),
        ("train", word_file, "--model_name_or_path", run, "--output_dir", tmp_path / "new", *quick),
        ("train", word_file, "--model_name_or_path", finished, "--output_dir", run, "--overwrite_output_dir", *quick),
    ]
    for command in commands:
        code, _, err = run_cli(*command)
        assert code in (0, 2), command
        assert "Traceback" not in err
        assert (code == 0) or err.count("\n") == 1, "one message"
    assert not marker.exists()


def test_doctor_beside_payloads(run_cli, tmp_path, marker):
    for name in FILE_NAMES:
        (tmp_path / name).write_bytes(payload(marker))
    run_cli("doctor", "--json")
    assert run_cli("doctor", "--machine", "state.json")[0] == 2
    assert not marker.exists()


def as_zip(marker: Path) -> bytes:
    """As torch.save lays it out."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("archive/data.pkl", payload(marker))
    return archive.getvalue()


@pytest.mark.parametrize(("make", "kind"), [(payload, "a pickle"), (as_zip, "a zip archive")])
def test_pickle_under_the_name_of_safetensors(run_cli, finished, tmp_path, marker, make, kind):
    run = tmp_path / "run"
    shutil.copytree(finished, run)
    (run / "model.safetensors").write_bytes(make(marker))
    code, _, err = run_cli("predict", run, "--text", "the dog")
    assert code == 2
    assert "model.safetensors was changed or damaged since training finished" in err
    (run / "run.json").unlink()  # now it is anybody's model
    code, _, err = run_cli("predict", run, "--text", "the dog")
    assert code == 2
    assert f"its model.safetensors is not safetensors but {kind}" in err
    assert not marker.exists()
