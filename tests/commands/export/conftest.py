"""Small runs to be exported: of a few kinds of models, with adapters or without, made once."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from bases import save_base
from small_chat import chat_rows

import pippin


@pytest.fixture(scope="session")
def run_of(tmp_path_factory) -> Callable[..., Path]:
    """A finished run of a kind of model: `run_of("llama", train="lora", dtype="bfloat16")`."""
    rows = tmp_path_factory.mktemp("rows") / "chats.jsonl"
    rows.write_text("".join(json.dumps(row) + "\n" for row in chat_rows(60)))

    @cache
    def make(kind: str, train: str = "lora", dtype: str = "bfloat16", **settings: str) -> Path:
        home = tmp_path_factory.mktemp(kind)
        base = save_base(home / "base", kind, dtype)
        pippin.train(rows, model=base, output=home / "run", train=train, lr=1e-2, max_steps=8, quiet=True, **settings)
        return home / "run"

    return make


@pytest.fixture
def export(run_cli) -> Callable[..., str]:
    """`pippin export`, which goes well; returns what it says."""

    def call(run: Path, to: str, output: str, *flags: object) -> str:
        code, out, err = run_cli("export", run, "--to", to, "--output", output, *flags)
        assert code == 0, err
        assert f"saved in {output}" in out
        return out

    return call


@pytest.fixture
def refused(run_cli) -> Callable[..., str]:
    """`pippin export`, which is refused and leaves nothing; returns why."""

    def call(*arguments: object) -> str:
        before = sorted(Path().rglob("*"))
        code, _, err = run_cli("export", *arguments)
        assert code == 2
        assert sorted(Path().rglob("*")) == before
        return err

    return call
