"""What is exported is what was trained, in every format's own reader."""

from __future__ import annotations

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from bases import save_base
from safetensors.torch import load_file
from small_chat import chat_rows, write_chats
from transformers import AutoModelForCausalLM, AutoTokenizer

CHAT = [{"role": "user", "content": "the old cat?"}]


def ids_of(folder: Path | str, **where: str) -> list[int]:
    tokenizer = AutoTokenizer.from_pretrained(folder, **where)
    text = tokenizer.apply_chat_template(CHAT, tokenize=False, add_generation_prompt=True)
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def logits(model, ids: list[int]) -> torch.Tensor:
    with torch.no_grad():
        return model.eval()(input_ids=torch.tensor([ids])).logits[0]


def own_logits(run: Path) -> torch.Tensor:
    """By transformers and peft, from the run's folder."""
    return logits(AutoModelForCausalLM.from_pretrained(run, dtype=torch.float32), ids_of(run))


@pytest.mark.parametrize("kind", ["llama", "qwen3", "gpt2"])
def test_merged_is_the_whole_model_as_its_base_is_stored(run_of, export, kind):
    run = run_of(kind)
    said = export(run, "merged", "whole")
    assert "all 20 next tokens agree" in said
    assert "read by transformers" in said
    assert "on 5 prompts" in said
    weights = load_file("whole/model.safetensors")
    assert {weight.dtype for weight in weights.values()} == {torch.bfloat16}
    assert not any("lora" in name or "base_layer" in name for name in weights)
    whole = AutoModelForCausalLM.from_pretrained("whole")
    assert whole.dtype == torch.bfloat16
    found, wanted = logits(whole.float(), ids_of("whole")), own_logits(run)
    assert (found - wanted).abs().max() < 0.02 * wanted.abs().max()
    untrained = logits(AutoModelForCausalLM.from_pretrained(run.parent / "base", dtype=torch.float32), ids_of(run))
    assert (found - wanted).norm() < 0.1 * (untrained - wanted).norm()
    assert AutoTokenizer.from_pretrained("whole").chat_template == AutoTokenizer.from_pretrained(run).chat_template


def test_merged_says_positions_in_both_ways(run_of, export):
    export(run_of("llama"), "merged", "whole")
    settings = json.loads(Path("whole/config.json").read_text())
    assert settings["rope_theta"] == settings["rope_parameters"]["rope_theta"] == 10000.0
    assert settings["dtype"] == "bfloat16"


def test_answers_end_where_the_template_ends_them(run_cli, export):
    """Also where the base model knows another end alone."""
    save_base(Path("base"))
    Path("base/generation_config.json").write_text(json.dumps({"eos_token_id": 0}))
    run_cli("train", write_chats("chats.jsonl", chat_rows(20)), "--model", "base", "--max_steps", 1, "--output", "run")
    export(Path("run"), "merged", "whole")
    assert AutoModelForCausalLM.from_pretrained("whole").generation_config.eos_token_id == [2, 0]


def test_peft_has_the_adapters_and_names_their_base(run_of, export):
    from peft import PeftModel

    run = run_of("llama")
    assert "read by peft" in export(run, "peft", "adapters")
    settings = json.loads(Path("adapters/adapter_config.json").read_text())
    base = AutoModelForCausalLM.from_pretrained(settings["base_model_name_or_path"], dtype=torch.float32)
    found = logits(PeftModel.from_pretrained(base, "adapters"), ids_of("adapters"))
    assert torch.allclose(found, own_logits(run), atol=1e-6)


def test_mlx_has_the_adapters_under_its_own_names(run_of, export):
    run = run_of("llama", lora_rank=4)
    said = export(run, "mlx", "adapters")
    assert ("read by mlx-lm" if find_spec("mlx_lm") else "read back tensor by tensor: all 28") in said
    found, peft = load_file("adapters/adapters.safetensors"), load_file(run / "adapter_model.safetensors")
    assert len(found) == len(peft) == 2 * 7 * 2
    name = "model.layers.1.mlp.down_proj"
    assert torch.equal(found[f"{name}.lora_a"], peft[f"base_model.model.{name}.lora_A.weight"].T)
    assert torch.equal(found[f"{name}.lora_b"], peft[f"base_model.model.{name}.lora_B.weight"].T)
    assert found[f"{name}.lora_a"].shape == (64, 4)
    settings = json.loads(Path("adapters/adapter_config.json").read_text())
    assert settings["fine_tune_type"] == "lora"
    assert settings["num_layers"] == 2
    keys = settings["lora_parameters"].pop("keys")
    assert settings["lora_parameters"] == {"rank": 4, "scale": 2.0, "dropout": 0.0}
    assert keys == ["mlp.down_proj", "mlp.gate_proj", "mlp.up_proj", *(f"self_attn.{each}_proj" for each in "koqv")]


def test_mlx_counts_layers_from_the_top(run_of, export):
    export(run_of("llama", unfreeze=1), "mlx", "adapters")
    assert json.loads(Path("adapters/adapter_config.json").read_text())["num_layers"] == 1


@pytest.mark.parametrize("kind", ["llama", "mistral", "qwen2", "qwen3"])
@pytest.mark.parametrize("train", ["lora", "all"])
def test_gguf_is_one_file_that_transformers_reads(run_of, export, kind, train):
    from gguf import GGUFReader

    run = run_of(kind, train)
    said = export(run, "gguf", "model.gguf")
    assert "all 20 next tokens agree" in said
    fields = {key: field.contents() for key, field in GGUFReader("model.gguf").fields.items()}
    assert fields["general.architecture"] == ("llama" if kind == "mistral" else kind)
    longest = next(value for key, value in fields.items() if key.endswith("context_length"))
    assert longest == (200 if kind == "mistral" else 256)  # beyond its window GGUF would see more than the model does
    tokenizer = AutoTokenizer.from_pretrained(run)
    assert fields["tokenizer.ggml.tokens"] == tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    assert fields["tokenizer.ggml.token_type"][:3] == [3, 3, 3]
    assert fields["tokenizer.ggml.pre"] == ("qwen2" if kind == "qwen2" else "gpt-2")
    assert fields["tokenizer.ggml.eos_token_id"] == 2
    assert fields["tokenizer.chat_template"] == tokenizer.chat_template
    types = {tensor.name: tensor.tensor_type.name for tensor in GGUFReader("model.gguf").tensors}
    assert types["blk.0.attn_q.weight"] == ("F32" if train == "all" else "BF16")
    assert types["blk.0.attn_norm.weight"] == "F32"
    model = AutoModelForCausalLM.from_pretrained(".", gguf_file="model.gguf", dtype=torch.float32)
    ids, wanted = ids_of(".", gguf_file="model.gguf"), own_logits(run)
    assert ids == ids_of(run)
    assert (logits(model, ids) - wanted).abs().max() < 0.02 * wanted.abs().max()


@pytest.mark.parametrize("to", ["merged", "mlx"])
def test_a_model_that_was_trained_whole_is_exported_whole(run_of, export, to):
    run = run_of("llama", "all")
    export(run, to, "whole")
    assert torch.equal(logits(AutoModelForCausalLM.from_pretrained("whole"), ids_of("whole")), own_logits(run))


@pytest.mark.parametrize(("train", "precision"), [("lora", "fp32"), ("lora", "fp16"), ("all", "bf16")])
def test_precision_may_be_another(run_of, export, train, precision):
    run, kind = run_of("llama", train), {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}[precision]
    assert "all 20 next tokens agree" in export(run, "merged", "whole", "--precision", precision)
    assert {str(weight.dtype) for weight in load_file("whole/model.safetensors").values()} == {f"torch.{kind}"}
    assert json.loads(Path("whole/config.json").read_text())["dtype"] == kind
    found = logits(AutoModelForCausalLM.from_pretrained("whole", dtype=torch.float32), ids_of("whole"))
    assert (found - own_logits(run)).abs().max() < (1e-6 if precision == "fp32" else 0.02)
    export(run, "gguf", "model.gguf", "--precision", precision)


def test_adapters_that_rounding_swallows_are_told_of(run_of, run_cli, export):
    """Small steps from large weights."""
    base = run_of("llama").parent / "base"
    words = ("--model", base, "--train", "lora", "--lr", "1e-6", "--max_steps", 2, "--output", "run")
    assert run_cli("train", write_chats("chats.jsonl", chat_rows(20)), *words)[0] == 0
    assert "note: the adapters change little, and rounding to bf16 takes" in export(Path("run"), "merged", "half")
    assert "note:" not in export(Path("run"), "merged", "whole", "--precision", "fp32")
    assert "note:" not in export(run_of("llama"), "merged", "other")


@pytest.mark.parametrize(
    ("scaling", "key"),
    [
        ({"rope_type": "linear", "factor": 2.0}, "llama.rope.scaling.factor"),
        (
            {
                "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                "original_max_position_embeddings": 64,
            },
            "",
        ),
    ],
    ids=["linear", "llama3"],
)  # fmt: skip
def test_gguf_stretches_positions_as_the_model_does(run_cli, export, scaling, key):
    from gguf import GGUFReader

    rope = {"rope_theta": 500000.0, **scaling}
    save_base(Path("base"), rope_parameters=rope)
    run_cli("train", write_chats("chats.jsonl", chat_rows(20)), "--model", "base", "--max_steps", 1, "--output", "run")
    export(Path("run"), "gguf", "model.gguf")
    reader = GGUFReader("model.gguf")
    assert reader.fields["llama.rope.freq_base"].contents() == 500000.0
    if key:
        assert reader.fields[key].contents() == 2.0
    else:
        (factors,) = (tensor.data for tensor in reader.tensors if tensor.name == "rope_freqs.weight")
        # Turns of less than 16 tokens stay, those of more than 64 take eight times as long.
        waves = 2 * np.pi * 500000.0 ** (np.arange(0, 16, 2) / 16)
        assert np.allclose(factors[waves < 16], 1)
        assert np.allclose(factors[waves > 64], 8)
    export(Path("run"), "merged", "whole")
    assert json.loads(Path("whole/config.json").read_text())["rope_scaling"] == scaling


def test_prompts_may_be_of_a_file(run_of, export):
    write_chats("mine.jsonl", chat_rows(7))
    assert "on 7 prompts: all 28 next tokens agree" in export(run_of("llama"), "peft", "one", "--file", "mine.jsonl")
    Path("asked.csv").write_text("words,number\nthe cat?,1\nthe dog?,2\n")
    said = export(run_of("llama"), "peft", "two", "--file", "asked.csv", "--text_column", "words")
    assert "on 2 prompts" in said


def test_its_place_is_beside_the_run(run_of, run_cli):
    shutil.copytree(run_of("llama"), "run")
    for to, name in {"merged": "run-merged", "peft": "run-peft", "mlx": "run-mlx", "gguf": "run.gguf"}.items():
        assert run_cli("export", "run", "--to", to)[0] == 0
        assert Path(name).exists()
    assert {path.name for path in Path().iterdir()} == {"run", "run-merged", "run-peft", "run-mlx", "run.gguf"}
    assert Path("run-merged/model.safetensors").stat().st_mode == Path("run-merged/config.json").stat().st_mode
