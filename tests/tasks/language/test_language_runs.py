"""A language model from file to file: trained whole or by LoRA, judged, interrupted and resumed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from small_chat import chat_rows, save_small_chat, write_chats
from transformers import AutoModelForCausalLM

import pippin
from helpers import events


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    """A model that has learnt to talk, of other things."""
    folder = tmp_path_factory.mktemp("base")
    save_small_chat(folder / "random")
    lines = (json.dumps(row) + "\n" for row in chat_rows(200, seed=5))
    (folder / "rows.jsonl").write_text("".join(lines))
    settings = {"train": "all", "lr": 1e-2, "epochs": 4, "quiet": True}
    pippin.train(folder / "rows.jsonl", model=folder / "random", output=folder / "model", **settings)
    (folder / "model" / "run.json").unlink()  # a model like any other
    return folder / "model"


@pytest.fixture
def train(run_cli, base):
    write_chats("chats.jsonl", chat_rows(60))

    def run(*flags: object, output: str = "run", ok: bool = True) -> str:
        code, out, err = run_cli("train", "chats.jsonl", "--model", base, "--output", output, "--lr", "1e-2", *flags)
        assert (code == 0) == ok, err
        return out + err

    return run


def test_adapters_learn_and_the_model_below_stays(train, base):
    before = (base / "model.safetensors").read_bytes()
    said = train("--train", "lora", "--lora_rank", 4, "--epochs", 12, "--batch_size", 8)
    assert "chats from 'messages' (by its name)" in said
    assert "learnt: the assistant's answers alone" in said
    first, last = (events("run", "evaluation")[place] for place in (0, -1))
    assert last["eval_loss"] < first["eval_loss"]
    assert last["eval_perplexity"] == pytest.approx(2.718281828 ** last["eval_loss"], rel=1e-6)
    assert 0 < last["eval_token_accuracy"] < 1
    files = {path.name for path in Path("run").iterdir()}
    assert {"adapter_model.safetensors", "adapter_config.json", "tokenizer.json"} <= files
    assert "model.safetensors" not in files
    assert (base / "model.safetensors").read_bytes() == before
    settings = json.loads(Path("run/adapter_config.json").read_text())
    assert settings["base_model_name_or_path"] == str(base)
    assert (settings["r"], settings["lora_alpha"], settings["inference_mode"]) == (4, 8.0, True)
    weights = load_file("run/adapter_model.safetensors")
    assert {weight.dtype for weight in weights.values()} == {torch.float32}
    assert all(name.startswith("base_model.model.model.layers.") for name in weights)
    theirs = AutoModelForCausalLM.from_pretrained("run")  # transformers finds the model below by itself
    assert any("lora_A" in name for name, _ in theirs.named_parameters())


def test_all_weights_are_trained_where_that_is_easy(train, base):
    said = train("--epochs", 2)
    assert "all weights" in said
    assert "for LoRA instead: --train lora" in said
    trained, before = load_file("run/model.safetensors"), load_file(base / "model.safetensors")
    assert not torch.equal(trained["model.embed_tokens.weight"], before["model.embed_tokens.weight"])
    assert AutoModelForCausalLM.from_pretrained("run").config.architectures == ["LlamaForCausalLM"]


def test_samples_are_told_at_every_evaluation(train):
    train("--epochs", 2, "--train", "lora")
    samples = events("run", "sample")
    assert [sample["step"] for sample in samples[::3]] == [each["step"] for each in events("run", "evaluation")]
    assert len({sample["prompt"] for sample in samples}) == 3
    assert {"prompt", "expected", "answer"} <= samples[0].keys()


@pytest.mark.parametrize("flags", [("--train", "lora", "--lora_dropout", 0.1), ()], ids=["lora", "all"])
def test_resumed_equals_uninterrupted(train, run_cli, interrupt, flags):
    flags = (*flags, "--epochs", 3, "--save_steps", 3, "--batch_size", 8)
    train(*flags, output="whole")
    interrupt(8)
    code, _, _ = run_cli("train", "chats.jsonl", *train_words(train), "--output", "run", *flags)
    assert code == 143
    (checkpoint,) = Path("run/checkpoints").glob("step-8")
    assert (checkpoint / "adapter_model.safetensors").exists() == bool("--train" in flags)
    assert not ("--train" in flags and (checkpoint / "model.safetensors").exists())
    assert run_cli("resume", "run")[0] == 0
    name = "adapter_model.safetensors" if "--train" in flags else "model.safetensors"
    assert Path("run", name).read_bytes() == Path("whole", name).read_bytes()


def train_words(train) -> list[object]:
    base = next(cell.cell_contents for cell in train.__closure__ if isinstance(cell.cell_contents, Path))
    return ["--model", base, "--lr", "1e-2"]


def test_adapters_of_another_model_are_refused(train, run_cli, base):
    shutil.copytree(base, "copy")
    train("--model", "copy", "--train", "lora", "--max_steps", 2)
    save_small_chat(Path("copy"), seed=7)
    code, _, error = run_cli(
        "train", "--validation_file", "chats.jsonl", "--model", "run", "--do_eval", "--output", "judged"
    )
    assert code == 2
    assert "these adapters were trained for other weights" in error
    shutil.rmtree("copy")
    code, _, error = run_cli(
        "train", "--validation_file", "chats.jsonl", "--model", "run", "--do_eval", "--output", "judged"
    )
    assert code == 2
    assert "holds adapters for the model in" in error
    assert "there is no such folder" in error


def test_trained_adapters_are_judged_and_go_on_learning(train, run_cli):
    train("--train", "lora", "--epochs", 6)
    best = events("run", "evaluation")[-1]["eval_loss"]
    write_chats("dev.jsonl", chat_rows(20, seed=9))
    code, out, error = run_cli(
        "train", "--validation_file", "dev.jsonl", "--model", "run", "--do_eval", "--output", "judged"
    )
    assert code == 0, error
    assert json.loads(Path("judged/all_results.json").read_text())["eval_loss"] < 4 * best
    code, out, error = run_cli(
        "train",
        "chats.jsonl",
        "--model",
        "run",
        "--train",
        "lora",
        "--lr",
        "1e-3",
        "--max_steps",
        4,
        "--output",
        "more",
    )
    assert code == 0, error
    assert events("more", "log")[0]["loss"] < 1.5 * best
    code, _, error = run_cli("train", "chats.jsonl", "--model", "run", "--max_steps", 2, "--output", "whole")
    assert code == 2
    assert "only the adapters can be trained: add --train lora" in error


def test_texts_and_prompts(run_cli, base):
    Path("story.txt").write_text("the old cat is near my red bread\n" * 3 + "a hammer is under my bread\n" * 40)
    code, out, error = run_cli(
        "train", "story.txt", "--task", "text-generation", "--model", base, "--max_steps", 3, "--output", "story"
    )
    assert code == 0, error
    assert "learnt: every word of the texts" in out
    lines = [json.dumps({"question": f"what is {n}?", "answer": f"it is {n}."}) + "\n" for n in range(40)]
    Path("asked.jsonl").write_text("".join(lines))
    code, out, error = run_cli("train", "asked.jsonl", "--model", base, "--max_steps", 3, "--output", "asked")
    assert code == 0, error
    assert "prompts from 'question', answers from 'answer' (by their names)" in out


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--train", "lora", "--freeze", "core"), "exclude each other"),
        (("--train", "lora", "--lora_targets", "q_prj"), "Did you mean q_proj?"),
        (("--train", "lora", "--lora_rank", 0), "--lora_rank: 0 must be from 1 to 4096"),
        (("--class_weights", "balanced"), "--class_weights is about labels"),
        (("--chat_template", "none.jinja"), "--chat_template none.jinja: there is no such file"),
    ],
)
def test_what_cannot_be_is_said(train, flags, said):
    found = train(*flags, ok=False)
    assert said in found
    assert "Traceback" not in found


def test_lora_is_for_language_models_so_far(run_cli, word_file, tiny_model):
    code, _, error = run_cli("train", word_file, "--model", tiny_model, "--train", "lora", "--output", "run")
    assert code == 2
    assert "--train lora is for language models so far" in error


def test_bad_rows_are_named_or_left_out(run_cli, base):
    rows = [*chat_rows(30), {"messages": [{"role": "user", "content": "alone"}]}]
    write_chats("rows.jsonl", rows)
    flags = ["train", "rows.jsonl", "--model", base, "--max_steps", 1, "--output", "run"]
    code, _, error = run_cli(*flags)
    assert code == 2
    assert "row 31 (line 31) has no answer of the assistant, so there is nothing to learn" in error
    code, out, error = run_cli(*flags, "--skip_bad_rows")
    assert code == 0, error
    assert "1 rows are left out: row 31" in out


def test_layers_below_the_adapters_are_computed_once(train):
    """The same adapters, whether the hidden states of the frozen layers are kept or not."""
    flags = ("--train", "lora", "--unfreeze", 1, "--epochs", 3, "--batch_size", 8)
    said = train(*flags, output="kept")
    assert "each row runs through the frozen part once: one vector per token" in said
    assert "adapters in 1 of 2 layers" in said
    train(*flags, "--cache_frozen", "false", output="computed")
    kept, computed = (load_file(f"{name}/adapter_model.safetensors") for name in ("kept", "computed"))
    assert all(".layers.1." in name for name in kept)
    assert kept.keys() == computed.keys()
    for name, weight in kept.items():
        assert torch.equal(weight, computed[name]), name


def test_prompts_that_are_too_long_are_no_samples(run_cli):
    """GPT-2 has no position for more tokens than it reads."""
    save_small_chat(Path("gpt2"), kind="gpt2")
    rows = chat_rows(12)
    rows[0]["messages"][0]["content"] *= 60
    rows[3]["messages"] = [*rows[3]["messages"], {**rows[0]["messages"][0]}, *rows[3]["messages"][1:]]
    write_chats("dev.jsonl", rows)
    code, _, error = run_cli(
        "train", write_chats("chats.jsonl", chat_rows(20)), "--validation_file", "dev.jsonl", "--model", "gpt2",
        "--max_steps", 1, "--output", "run",
    )  # fmt: skip
    assert code == 0, error
    asked = [rows[place]["messages"][0]["content"] for place in (1, 2, 4)]
    assert [sample["prompt"] for sample in events("run", "sample")] == asked


def test_adapters_go_on_as_they_are(train):
    train("--train", "lora", "--lora_rank", 4, "--max_steps", 1)
    flags = ("--model", "run", "--train", "lora", "--max_steps", 1)
    assert "matrices of rank 4 beside the linear layers" in train(*flags, output="more")
    said = train(*flags, "--lora_rank", 8, output="other", ok=False)
    assert "--lora_rank: the model comes with adapters, and these go on learning as they are" in said
    assert "--lora_targets: the model comes" in train(*flags, "--lora_targets", "q_proj", output="other", ok=False)


def test_a_text_without_spaces_is_begun_by_its_first_characters(run_cli, base):
    line = "catdoghen" * 40
    Path("story.txt").write_text(f"{line}\n" * 12)
    run_cli("train", "story.txt", "--task", "text-generation", "--model", base, "--max_steps", 1, "--output", "run")
    assert [(each["prompt"], each["expected"]) for each in events("run", "sample")[:1]] == [(line[:100], line[100:])]
