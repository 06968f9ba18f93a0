"""Whole commands whose device fails: one message, a text to send, and none of the user's data in it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

import pippin
from helpers import make_rows
from pippin.commands.failures.explained import explained
from pippin.errors import OUR_TRACKER, TORCH_TRACKER, PippinError
from pippin.machine.drivers import get_backend
from pippin.machine.probe import probe

#: No English text has these.
SECRET_WORDS = ["zyxquo", "vrumbik", "quandoz"]


class Trouble:
    """What the operators below do; each test puts its own in."""

    forward: Callable[[torch.Tensor], None]
    backward: Callable[[torch.Tensor], None]


def works(tensor: torch.Tensor) -> None:
    pass


def fails_above_20_columns(tensor: torch.Tensor) -> None:
    if tensor.shape[-1] > 20:
        raise RuntimeError(f"no kernel for {tensor.shape[-1]} columns\nand a second line")


@torch.library.custom_op("pippin_test::breaks", mutates_args=())
def breaks(x: torch.Tensor) -> torch.Tensor:
    Trouble.forward(x)
    return x.clone()


@torch.library.custom_op("pippin_test::breaks_backward", mutates_args=())
def breaks_backward(x: torch.Tensor) -> torch.Tensor:
    Trouble.backward(x)
    return x.clone()


breaks.register_autograd(lambda context, gradient: torch.ops.pippin_test.breaks_backward(gradient))


@pytest.fixture(autouse=True)
def _no_trouble_yet():
    Trouble.forward = Trouble.backward = staticmethod(works)


@pytest.fixture
def secret_file(write_rows) -> Path:
    rows = make_rows(60)
    for place, row in enumerate(rows):
        row["text"] += " " + SECRET_WORDS[place % 3]
    return write_rows("secret.csv", rows)


@pytest.fixture
def with_operator(monkeypatch) -> Callable[..., None]:
    """Puts the operator before a layer of every model that is loaded."""

    def install(layer: str = "classifier", only_in: str = "") -> None:
        from pippin.models.loading import load_model

        def load(*arguments):
            model = load_model(*arguments)

            def hook(module, inputs):
                if only_in in ("", "training" if module.training else "evaluation"):
                    return (torch.ops.pippin_test.breaks(inputs[0]),)
                return None

            model.get_submodule(layer).register_forward_pre_hook(hook)
            return model

        monkeypatch.setattr("pippin.commands.train.load_model", load)
        monkeypatch.setattr("pippin.commands.predictor.load_model", load)

    return install


@pytest.fixture
def failing(run_cli, secret_file, tiny_model):
    """`pippin train` that must fail with one message; returns the message and the text to send."""

    def call(*arguments: object) -> tuple[str, str]:
        code, _, err = run_cli(
            "train", secret_file, "--model_name_or_path", tiny_model, "--output_dir", "run", "--max_steps", "3",
            "--use_cpu", *arguments,
        )  # fmt: skip
        assert code == 2, err
        assert "Traceback" not in err
        text = Path("run/device-error.md").read_text(encoding="utf-8")
        record = json.loads(Path("run/run.json").read_text())
        assert record["status"] == "failed"
        assert "device-error.md" in record["files"]
        for word in [*SECRET_WORDS, str(Path.cwd()), str(Path.home())]:
            assert word not in text
        return next(line for line in err.splitlines() if line.startswith("pippin: ")), text

    return call


def snippet(text: str) -> str:
    return re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]


@pytest.mark.parametrize(
    ("part", "operator"),
    [("forward", "pippin_test::breaks"), ("backward", "pippin_test::breaks_backward")],
)
def test_training_step(failing, with_operator, part, operator):
    with_operator()
    setattr(Trouble, part, staticmethod(fails_above_20_columns))
    message, text = failing()
    assert f"the operator {operator} failed on the device cpu (RuntimeError: no kernel for 32 columns)" in message
    assert OUR_TRACKER in message
    assert "none of your data, is in run/device-error.md" in message
    assert "--use_cpu" not in message, "it runs there already"
    assert text.startswith(f"# {operator}: RuntimeError on cpu\n")
    assert re.search(r"\| x \| float32 \[\d+, 32\].*, cpu \| float32 \[1, 21\].*, cpu \|", text), "the fewest that fail"
    assert "RuntimeError: no kernel for 21 columns\n```" in text
    assert "second line" not in text
    for fact in (
        f"torch: {torch.__version__.partition('+')[0]}",
        "transformers: ",
        "Python: 3",
        "chip: ",
        "memory: ",
        "device: cpu",
    ):
        assert f"- {fact}" in text
    assert re.search(r"- pippin\.engine\.steps\.eager, line \d+, \w+", text)
    with pytest.raises(RuntimeError, match="no kernel for 21 columns"):
        exec(snippet(text), {})


def test_optimiser_is_looked_at_too(failing, request):
    def fail(optimiser, *_):
        torch.ops.pippin_test.breaks(optimiser.param_groups[0]["params"][0].detach())

    request.addfinalizer(register_optimizer_step_pre_hook(fail).remove)
    Trouble.forward = staticmethod(fails_above_20_columns)
    message, _ = failing()
    assert "the operator pippin_test::breaks failed" in message


def test_evaluation(failing, with_operator):
    with_operator(only_in="evaluation")
    Trouble.forward = staticmethod(fails_above_20_columns)
    message, text = failing()
    assert "the operator pippin_test::breaks failed" in message
    assert "float32 [1, 21]" in text
    assert "pippin.engine.inference" in text


def test_prediction_of_a_run(train, run_cli, secret_file, with_operator):
    train(secret_file)
    with_operator()
    Trouble.forward = staticmethod(fails_above_20_columns)
    code, _, err = run_cli("predict", "run", "--text", "zyxquo", "--device", "cpu")
    assert code == 2
    assert "the operator pippin_test::breaks failed" in err
    assert "is in run/device-error.md" in err
    assert "Traceback" not in err
    assert "zyxquo" not in Path("run/device-error.md").read_text()
    assert "device-error.md" in json.loads(Path("run/run.json").read_text())["files"]
    Path("run/run.json").unlink()
    code, _, err = run_cli("predict", "run", "--text", "zyxquo", "--device", "cpu")
    assert code == 2
    assert "is in device-error.md" in err, "a folder that is not ours is left alone"
    assert Path("device-error.md").is_file()


def test_prediction_without_memory_names_its_own_flag(train, run_cli, word_file, with_operator):
    train(word_file)
    with_operator()

    def full(tensor: torch.Tensor) -> None:
        raise RuntimeError("MPS backend out of memory (MPS allocated: 5.0 GB)")

    Trouble.forward = staticmethod(full)
    code, _, err = run_cli("predict", "run", "--text", "cat", "--device", "cpu")
    assert code == 2
    assert "ran out of memory. Close other programs, or add --device cpu." in err


def test_error_that_does_not_come_again(failing, with_operator):
    calls = []

    def fails_once(tensor: torch.Tensor) -> None:
        calls.append(tensor.shape)
        if len(calls) == 1:
            raise RuntimeError("once")

    with_operator()
    Trouble.forward = staticmethod(fails_once)
    message, text = failing()
    assert "an unexpected error (RuntimeError: once)" in message
    assert "The failing operator is unknown: the same work passed when it was repeated." in text
    assert len(calls) == 2


def test_error_that_hangs_on_the_values_names_none(failing, with_operator):
    seen: list[list[int]] = []

    def fails_for_words(tensor: torch.Tensor) -> None:
        if tensor.dtype == torch.int64 and int(tensor.max()) > 0:
            seen.extend(tensor.tolist())
            raise RuntimeError(f"bad tokens {tensor.tolist()} of {SECRET_WORDS}")

    with_operator("bert.embeddings.word_embeddings")
    Trouble.forward = staticmethod(fails_for_words)
    _, text = failing()
    assert "| x | int64 [" in text
    assert "With random numbers of the same shapes it does not fail." in text
    for tokens in seen:
        assert ", ".join(map(str, tokens[:3])) not in text


def test_error_outside_operators(failing, monkeypatch):
    def bug(self, *arguments):
        raise KeyError("zyxquo")

    monkeypatch.setattr("pippin.engine.steps.eager.EagerStep.clip", bug)
    message, text = failing()
    assert "an unexpected error (KeyError: 'zyxquo')" in message, "at home its words are shown"
    assert OUR_TRACKER in message
    assert text.startswith("# KeyError while running on cpu")
    assert "was not raised by an operator" in text
    assert re.search(r"test_explained, line \d+, bug", text)


def test_debugging_keeps_the_error_as_it_is(secret_file, tiny_model, monkeypatch):
    def bug(self, *arguments):
        raise KeyError("x")

    monkeypatch.setattr("pippin.engine.steps.eager.EagerStep.clip", bug)
    settings = {"model_name_or_path": tiny_model, "output_dir": "run", "quiet": True}
    with pytest.raises(KeyError):
        pippin.train(secret_file, log_level="debug", **settings)
    with pytest.raises(PippinError) as caught:
        pippin.train(secret_file, log_level="warning", overwrite_output_dir=True, **settings)
    assert isinstance(caught.value.__cause__, KeyError)


class MetaBackend(type(get_backend("cpu"))):
    """Stands in for a device whose kernel is missing in torch."""

    kind = "meta"
    traits = replace(get_backend("cpu").traits, is_gpu=True)


def write(name: str, text: str) -> Path:
    Path(name).write_text(text)
    return Path(name)


def missing_kernel() -> None:
    torch.nonzero(torch.ones(4, 6, device="meta"))


def test_kernel_that_only_the_device_lacks_goes_to_torch(monkeypatch):
    from pippin.engine.repeatable import repeatable

    monkeypatch.setattr("pippin.commands.failures.search._answers", lambda backend: True)
    with pytest.raises(PippinError) as caught, explained(MetaBackend(), probe, write), repeatable(missing_kernel):
        missing_kernel()
    message, text = str(caught.value), Path("device-error.md").read_text()
    assert "the operator aten::nonzero failed on the device meta (NotImplementedError: " in message
    assert f"Please report it to PyTorch: {TORCH_TRACKER}." in message
    assert message.endswith("To run without this device, add --use_cpu.")
    assert f"Please send this to {TORCH_TRACKER}." in text
    assert "On the CPU it works." in text


def test_message_comes_also_when_the_text_cannot_be_written():
    def refuse(name: str, text: str) -> Path:
        raise OSError(28, "No space left on device")

    with (
        pytest.raises(PippinError, match=re.escape(OUR_TRACKER)) as caught,
        explained(get_backend("cpu"), probe, refuse),
    ):
        raise ValueError("x")
    assert "device-error.md" not in str(caught.value)


@pytest.mark.parametrize(
    "error", [PippinError("a mistake"), OSError(28, "full"), KeyboardInterrupt(), Exception("I/O (os error 28)")]
)
def test_other_errors_pass_untouched(error):
    with pytest.raises(type(error)) as caught, explained(get_backend("cpu"), probe, write):
        raise error
    assert caught.value is error
    assert not Path("device-error.md").exists()
