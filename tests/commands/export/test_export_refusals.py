"""What cannot be exported is refused with what to do instead; a damaged export is caught; nothing is left behind."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from bases import save_base
from small_chat import chat_rows, write_chats

from helpers import staged
from pippin.commands.export import gguf_model, merged, mlx_adapter, peft_adapter, target
from pippin.commands.export import prompts as asked


def test_a_classifier_is_what_it_is(trained, refused):
    said = refused(trained, "--to", "merged")
    assert "learnt 3 classes, and export is for language models" in said
    assert f"pipeline('text-classification', model='{trained}')" in said


def test_what_is_no_finished_run(refused, run_of, run_cli, interrupt):
    assert "there is no such folder" in refused("nowhere", "--to", "merged")
    base = run_of("llama").parent / "base"
    assert "is not the folder of a run" in refused(base, "--to", "merged")
    interrupt(2)
    write_chats("chats.jsonl", chat_rows(20))
    words = ("--model", base, "--output", "cut", "--epochs", 4, "--logging_steps", 1)
    assert run_cli("train", "chats.jsonl", *words)[0] == 143
    assert "its run stopped at step 2" in refused("cut", "--to", "merged")


def test_formats_are_named(refused, run_of):
    assert "--to is missing: name a format (merged, peft, mlx or gguf)" in refused(run_of("llama"))
    assert "coreml" in refused(run_of("llama"), "--to", "coreml")
    assert "--text_column goes with --file" in refused(run_of("llama"), "--to", "peft", "--text_column", "a")


def test_what_is_read_is_not_replaced(refused, run_of):
    run = run_of("llama")
    for path in (run, run.parent / "base"):
        assert "holds the model that is read" in refused(run, "--to", "merged", "--output", path, "--overwrite")
    assert "must end in .gguf" in refused(run, "--to", "gguf", "--output", "model")


def test_peft_is_for_adapters(refused, run_of):
    said = refused(run_of("llama", "all"), "--to", "peft")
    assert "all weights of" in said
    assert "Use --to merged, or train with --train lora." in said


def test_adapters_have_the_precision_that_they_have(refused, run_of):
    said = refused(run_of("llama"), "--to", "peft", "--output", "adapters", "--precision", "bf16")
    assert "--to peft writes the adapters as they are" in said


@pytest.mark.parametrize("to", ["mlx", "gguf"])
def test_families_that_a_format_cannot_take(refused, run_of, to):
    said = refused(run_of("gpt2"), "--to", to)
    assert "gpt2" in said
    assert "Use --to merged" in said


def test_mlx_would_get_positions_wrong(refused, run_of):
    """Mlx-lm takes the base model as it is, and that of transformers 5 lacks what it looks for."""
    run = run_of("llama", dtype="float32")
    config = run.parent / "base" / "config.json"
    settings = json.loads(config.read_text())
    config.write_text(json.dumps({name: value for name, value in settings.items() if name != "rope_theta"}))
    assert "it looks for rope_theta in config.json" in refused(run, "--to", "mlx", "--output", "adapters")


def test_gguf_has_no_name_for_a_way_of_cutting_texts(refused, run_cli):
    save_base(Path("base"))
    file = Path("base/tokenizer.json")
    parts = json.loads(file.read_text())
    cutter = {"type": "Split", "pattern": {"Regex": "x+"}, "behavior": "Isolated", "invert": False}
    parts["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [cutter, parts["pre_tokenizer"]]}
    file.write_text(json.dumps(parts))
    write_chats("chats.jsonl", chat_rows(20))
    assert run_cli("train", "chats.jsonl", "--model", "base", "--max_steps", 1, "--output", "run")[0] == 0
    assert "cuts texts in a way for which GGUF has no name" in refused("run", "--to", "gguf")


@pytest.mark.parametrize("name", ["gguf", "accelerate"])
def test_packages_are_named(refused, run_of, monkeypatch, name):
    monkeypatch.setattr(gguf_model, "find_spec", lambda package: None if package == name else package)
    said = refused(run_of("llama"), "--to", "gguf", "--output", "model.gguf")
    assert f"needs the package {name}: pip install 'pippin[gguf]'" in said


def test_room_is_looked_for_first(refused, run_of, monkeypatch):
    monkeypatch.setattr(target, "free_bytes", lambda path: 2**20)
    said = refused(run_of("llama"), "--to", "merged", "--output", "whole")
    assert "there is too little room" in said
    assert "are needed" in said
    assert "no folder" in refused(run_of("llama"), "--to", "merged", "--output", "a/b")


def test_prompts_that_cannot_be_asked(refused, run_of):
    Path("rows.csv").write_text("a,b\n1,2\n")
    words = (run_of("llama"), "--to", "peft", "--output", "adapters", "--file")
    assert "which column is the prompt" in refused(*words, "rows.csv")
    Path("rows.jsonl").write_text('{"messages": [{"role": "king", "content": "x"}]}\n')
    said = refused(*words, "rows.jsonl")
    assert "--file rows.jsonl" in said
    assert "'king'" in said


@pytest.mark.parametrize(("to", "file"), [("merged", "whole/config.json"), ("gguf", "model.gguf")])
def test_only_exports_of_ours_are_replaced(run_of, run_cli, refused, to, file):
    run, place = run_of("llama"), Path(file).parts[0]
    words = (run, "--to", to, "--output", place)
    assert run_cli("export", *words)[0] == 0
    assert "is there already" in refused(*words)
    assert run_cli("export", *words, "--overwrite")[0] == 0
    with open(file, "r+b") as stream:
        stream.seek(-2, 2)
        stream.write(b"x")
    assert "was not exported by Pippin, or was changed since" in refused(*words, "--overwrite")
    if to == "merged":
        shutil.rmtree(place)
        Path(place).mkdir()
        Path(place, "mine.txt").touch()
        assert "was not exported by Pippin" in refused(*words, "--overwrite")
        assert staged() == []


def halved(write: Callable) -> Callable:
    """A function that gives tensors by name, one of which is not what it should be."""

    def damaged(*arguments):
        weights = dict(write(*arguments))
        name = next(name for name in weights if name.endswith("down_proj.weight"))
        return {**weights, name: weights[name] / 2}

    return damaged


@pytest.mark.parametrize("train", ["lora", "all"])
def test_a_damaged_model_is_caught(refused, run_of, monkeypatch, train):
    monkeypatch.setattr(merged, "as_stored", halved(merged.as_stored))
    said = refused(run_of("llama", train), "--to", "merged", "--output", "whole")
    assert "gives other answers with what was written than it should, so nothing is kept" in said
    assert staged() == []


def test_rows_that_are_not_turned_are_caught(refused, run_of, monkeypatch):
    monkeypatch.setattr(gguf_model, "_interleaved", lambda weight, heads: weight)
    assert "gives other answers" in refused(run_of("llama"), "--to", "gguf", "--output", "model.gguf")


def test_settings_that_are_not_read_back_are_caught(refused, run_of, monkeypatch):
    put = gguf_model._put
    monkeypatch.setattr(gguf_model, "_put", lambda writer, key, value: "head_count" in key or put(writer, key, value))
    said = refused(run_of("llama"), "--to", "gguf", "--output", "model.gguf")
    assert "cannot be read back, so nothing is kept: llama.attention.head_count" in said


def test_tokens_that_are_not_the_models_are_caught(refused, run_of, monkeypatch):
    def swapped(tokenizer, size, stops):
        found = vocabulary(tokenizer, size, stops)
        return {**found, "tokenizer.ggml.merges": found["tokenizer.ggml.merges"][::-1]}

    vocabulary = gguf_model.vocabulary_of
    monkeypatch.setattr(gguf_model, "vocabulary_of", swapped)
    assert "makes other tokens of" in refused(run_of("llama"), "--to", "gguf", "--output", "model.gguf")


def test_damaged_adapters_are_caught(refused, run_of, monkeypatch):
    from safetensors.torch import load_file, save_file

    def copy(source: Path, copied: Path) -> None:
        shutil.copy(source, copied)
        if copied.suffix == ".safetensors":
            weights = load_file(copied)
            save_file({name: weight * (1 + ("q_proj" in name)) for name, weight in weights.items()}, copied)

    monkeypatch.setattr(peft_adapter, "copyfile", copy)
    assert "gives other answers" in refused(run_of("llama"), "--to", "peft", "--output", "adapters")
    monkeypatch.setattr(mlx_adapter, "_mlx_name", lambda name: name.replace("base_model.model.", "model."))
    assert "cannot be read back" in refused(run_of("llama"), "--to", "mlx", "--output", "adapters")


def test_what_rounding_takes_away_is_said(refused, run_of, monkeypatch):
    """Adapters that a precision is too coarse for: weights that stay as they were."""
    monkeypatch.setattr("pippin.models.merging._merged", lambda layer: layer.get_base_layer())
    said = refused(run_of("llama"), "--to", "merged", "--output", "whole")
    assert "rounded to bf16 the model gives other answers" in said
    assert "--precision fp32" in said


def test_an_interrupt_leaves_nothing(refused, run_of, run_cli, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(merged, "as_stored", interrupted)
    assert run_cli("export", run_of("llama"), "--to", "merged", "--output", "whole")[0] == 130
    assert list(Path().iterdir()) == []


def test_a_model_without_a_template_is_asked_texts(run_cli):
    save_base(Path("base"), template=None)
    Path("story.txt").write_text("the old cat is near\n" * 40)
    words = ("--model", "base", "--task", "text-generation", "--max_steps", 1, "--output", "run")
    code, _, err = run_cli("train", "story.txt", *words)
    assert code == 0, err
    code, out, err = run_cli("export", "run", "--to", "merged", "--output", "whole")
    assert code == 0, err
    assert f"on {len(asked._CHATS)} prompts" in out
    assert not Path("whole/chat_template.jinja").exists()
