"""A run's folder from somebody else: no command writes, truncates or deletes anything through a link in it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

NAMES = [
    "report.html", ".report.html.partial", ".run.json.partial", ".pippin-lock", ".pippin-staging", "run.json.partial",
    "events.jsonl", "README.md", "config.json", "model.safetensors", "device-error.md", "checkpoints",
]  # fmt: skip


@pytest.fixture(scope="module")
def interrupted(tiny_model, tmp_path_factory) -> tuple[Path, Path]:
    """An unfinished run with a checkpoint, and its rows."""
    import pippin
    from helpers import make_rows

    home = tmp_path_factory.mktemp("interrupted")
    rows = home / "words.csv"
    rows.write_text("text,label\n" + "".join(f"{row['text']},{row['label']}\n" for row in make_rows(40)))
    pippin.train(rows, model_name_or_path=tiny_model, output_dir=home / "run", max_steps=2, save_strategy="steps",
                 save_steps=1, quiet=True)  # fmt: skip
    record = home / "run" / "run.json"
    record.write_text(record.read_text().replace('"status": "finished"', '"status": "interrupted"'))
    return home / "run", rows


def planted(run: Path, name: str, kind: str, outside: Path) -> None:
    """Another file in the place of one of the run's."""
    path = run / name
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    if kind == "symbolic":
        path.symlink_to(outside)
    else:
        path.hardlink_to(outside / "authorized_keys" if outside.is_dir() else outside)


@pytest.mark.parametrize("kind", ["symbolic", "hard"])
@pytest.mark.parametrize("target", ["file", "folder"])
@pytest.mark.parametrize("command", ["report", "resume", "train"])
def test_nothing_outside_changes(run_cli, tiny_model, interrupted, tmp_path, kind, target, command):
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    keys = secrets / "authorized_keys"
    keys.write_text("ssh-ed25519 mine")
    outside = keys if target == "file" else secrets
    words = {
        "report": ["report", "run"],
        "resume": ["resume", "run"],
        "train": ["train", interrupted[1], "--model_name_or_path", tiny_model, "--max_steps", 1, "--output_dir", "run",
                  "--overwrite_output_dir"],
    }[command]  # fmt: skip
    for name in NAMES:
        shutil.rmtree("run", ignore_errors=True)
        shutil.copytree(interrupted[0], "run")
        planted(Path("run"), name, kind, outside)
        code, _, err = run_cli(*words)
        assert code in (0, 2), err
        assert keys.read_text() == "ssh-ed25519 mine", name
        assert os.listdir(secrets) == ["authorized_keys"], name
        assert "Traceback" not in err
