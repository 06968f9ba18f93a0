"""Files of settings that unfold, nest, or hold values that are none: one message each, at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from pippin.errors import Mistakes
from pippin.recipe.reading import recipe_from
from train_words import read_command

LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


def refusal(content: str | bytes) -> str:
    Path("s.yaml").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(Mistakes) as caught:
        read_command(["--config", "s.yaml"])
    return str(caught.value)


@pytest.mark.parametrize(
    "content",
    [LAUGHS, LAUGHS + "seed: *i\n", LAUGHS + "text_column: *i\n", "seed: &a [*a]\n",
     "a: &a {x: 1}\nb: &b {<<: [*a, *a]}\nc: {<<: [*b, *b]}\n"],
    ids=["unused", "a number", "names", "itself", "merged"],
)  # fmt: skip
def test_lists_that_repeat_lists(content):
    assert "repeats a list or a mapping. Write it out" in refusal(content)


def test_single_values_can_be_repeated():
    Path("s.yaml").write_text("learning_rate: &rate 1e-4\nhead_learning_rate: *rate\n")
    recipe = read_command(["--config", "s.yaml"]).recipe
    assert (recipe.learning_rate, recipe.head_learning_rate) == (1e-4, 1e-4)


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_thousands_of_brackets(opening):
    assert "not valid YAML or JSON" in refusal("seed: 1\nx: " + opening * 20_000)


@pytest.mark.parametrize(
    "value",
    ["0x_", "0b_", "2026-13-45", "!!int x", "!!float x", "!!bool maybe", "!!binary é", "!!timestamp x",
     "!!python/name:os.system", "9" * 5000, "!!set {[a]}", "{[a]: b}", "!!omap [a]", "\x00", "*unknown"],
)  # fmt: skip
def test_values_that_are_none(value):
    message = refusal(f"quiet: true\nseed: {value}\n")
    assert message.startswith("--config s.yaml: not valid YAML or JSON")
    assert "at line 2" in message or value == "\x00"
    assert len(message) < 200


@pytest.mark.parametrize(
    "value", ["0x" + "f" * 6000, "1:" * 3000 + "1", ".inf", "-.nan", "1e400", "[1, 2]", "{a: 1}", "2026-01-01"]
)
def test_values_that_are_no_number(value):
    message = refusal(f"seed: {value}\n")
    assert "seed (in s.yaml): " in message
    assert "is not a whole number" in message
    assert len(message) < 300


def test_a_file_that_is_too_large_or_no_text():
    assert "larger than 128 KB" in refusal("# " + "x" * (128 << 10))
    assert "not UTF-8 text (byte 8)" in refusal(b"seed: 1\xff\n")


@pytest.mark.usefixtures("garbage_waits")
@pytest.mark.parametrize(
    "value", [10**400, 2**53, "9" * 6000, "[" * 100_000, '{"a": ' * 100_000, float("nan"), 1e300], ids=range(7)
)
@pytest.mark.parametrize("name", ["seed", "gradient_checkpointing_kwargs", "learning_rate", "max_steps"], ids=str)
def test_python_keywords_of_any_size(name, value):
    with pytest.raises(Mistakes) as caught:
        recipe_from({name: value})
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("name", ["memory_limit", "neftune_noise_alpha"])
def test_numbers_that_would_be_infinite_once_they_are_used(name):
    with pytest.raises(Mistakes, match=f"{name}: 1e\\+308 must be"):
        recipe_from({name: 1e308})
