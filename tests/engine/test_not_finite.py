"""A loss, gradient or weight that is no number: the run stops, says where and why, and keeps what was good."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from answers import all_logits
from transformers import AutoTokenizer

from helpers import make_rows
from pippin.commands import train as training
from pippin.data.encoding import Encoded
from pippin.data.examples import Examples
from pippin.engine.finite import NoAnswer, NotFinite, all_finite
from pippin.engine.inference import Inference
from pippin.engine.meter import Trace
from pippin.engine.steps.eager import EagerStep
from pippin.machine.drivers.cpu import CpuBackend
from pippin.models.network import Network
from pippin.tasks.sequence.task import SequenceTask


def examples(labels: list[float], regression: bool = False) -> Examples:
    kind = np.float64 if regression else np.int64
    return Examples([""] * len(labels), None, np.array(labels, kind), [3 + 2 * n for n in range(len(labels))], "a.csv")


def not_finite(precision: str = "fp32", regression: bool = False, count: int = 100) -> NotFinite:
    task = SequenceTask(regression=regression)
    return NotFinite(examples([float(n % 5) for n in range(count)], regression), task.suspects, precision)


def trace_of(losses: list[float], norms: list[float] | None = None, precision: str = "fp32") -> Trace:
    trace = Trace(CpuBackend(), not_finite(precision))
    for place, loss in enumerate(losses):
        norm = 1.0 if norms is None else norms[place]
        trace.add(torch.tensor(loss), torch.tensor(norm), np.array([place, place + 10]))
    return trace


nan, inf = float("nan"), float("inf")


@pytest.mark.parametrize("bad", [nan, inf, -inf])
def test_the_first_bad_step_is_named_with_its_rows(bad):
    trace = trace_of([1.0, 2.0, bad, nan, 1.0])
    with pytest.raises(Exception, match="the loss of step 3 is not finite .* in a.csv: 7, 27[.] Likely"):
        trace.look()


def test_a_bad_gradient_is_told_apart():
    with pytest.raises(Exception, match="the gradient of step 2 is not finite .* in a.csv: 5, 25[.]"):
        trace_of([1.0, 1.0, nan], [1.0, inf, nan]).look()


def test_float16_lives_with_infinite_gradients_but_not_with_nan():
    trace = trace_of([1.0, 2.0], [inf, nan], precision="fp16")
    assert trace.take_mean() == 1.5
    with pytest.raises(Exception, match="loss of step 3 .* --bf16 instead of --fp16"):
        trace_of([1.0, 2.0, nan], precision="fp16").look()


def test_nobody_needs_to_look(monkeypatch):
    """Steps do not wait for the device, but no run goes on for long on numbers that are none."""
    monkeypatch.setattr(Trace, "room", 4)
    trace_of([1.0, nan, 1.0])
    with pytest.raises(Exception, match="loss of step 2 "):
        trace_of([1.0, nan, 1.0, 1.0])
    with pytest.raises(Exception, match="loss of step 6 "):
        trace_of([1.0, 1.0, 1.0, 1.0, 1.0, nan, 1.0, 1.0])
    trace = trace_of([float(n) for n in range(11)])
    assert (trace.take_mean(), trace.total) == (5.0, 55.0)


def test_means_are_those_of_the_steps_since_the_last():
    trace = trace_of([1.0, 2.0])
    trace.look()
    trace.add(torch.tensor(6.0), torch.tensor(0.25), np.arange(3))
    assert (trace.take_mean(), trace.norm) == (3.0, 0.25)
    trace.add(torch.tensor(5.0), torch.tensor(1.0), np.arange(3))
    assert (trace.take_mean(), trace.total, trace.steps) == (5.0, 14.0, 4)


def test_causes():
    rates = str(not_finite()("gradient", 9, np.arange(3)))
    assert "--learning_rate" in rates
    assert "float16" not in rates
    assert "extreme" not in rates
    assert "--learning_rate" not in str(not_finite()("loss", 1, np.arange(3))), "no weight had changed"
    extreme = NotFinite(examples([0.5, -1e30, 7.0], regression=True), SequenceTask(regression=True).suspects, "fp32")
    assert "the largest is -1e+30 in row 5" in str(extreme("loss", 2, np.array([2, 0, 1])))


def test_many_rows_are_cut():
    text = str(not_finite()("loss", 2, np.arange(40)))
    assert ": 3, 5, 7, " in text
    assert "65 and 8 more." in text


@pytest.mark.parametrize("bad", [nan, inf])
def test_all_finite(bad):
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
    assert all_finite(model)
    with torch.no_grad():
        model[1].weight[1, 2] = bad
    assert not all_finite(model)


class Answers(torch.nn.Module):
    """Gives the first token of each row as its logits: 7 stands for NaN, 8 and 9 for infinities."""

    class config:  # noqa: N801
        pad_token_id = 0

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor):
        words = torch.tensor([*range(7), nan, inf, -inf])
        return type("Answer", (), {"logits": torch.stack([torch.zeros(len(input_ids)), words[input_ids[:, 0]]], 1)})


def rows_of(*firsts: int, origin: str = "a.csv") -> Encoded:
    count = len(firsts)
    return Encoded(np.array(firsts), None, np.arange(count + 1), None, origin=origin, rows=range(3, 3 + 2 * count, 2))


class Gpu(CpuBackend):
    kind = "mps"
    traits = replace(CpuBackend.traits, is_gpu=True)

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")


@pytest.mark.parametrize("token", [7, 8, 9])
@pytest.mark.parametrize("size", [None, 1])
def test_answers_that_are_no_numbers_are_none(token, size):
    inference = Inference(Network(Answers(), CpuBackend()), size)
    assert all_logits(inference, rows_of(1, 2, 3))[0][:, 1].tolist() == [1, 2, 3]
    with pytest.raises(NoAnswer, match=r"answer to rows 5, 9 of a\.csv is not finite .*broken weights") as found:
        all_logits(inference, rows_of(1, token, 3, token, 4))
    assert "--use_cpu" not in str(found.value), "that is where it ran"
    with pytest.raises(NoAnswer, match=r"answer to row 3 of a\.csv is"):
        all_logits(inference, rows_of(token))
    with pytest.raises(NoAnswer, match=r"answer to texts\[5\], texts\[7\] is"):
        all_logits(inference, rows_of(1, token, token, origin=""))


def test_the_ways_out_of_a_gpu_in_half_precision():
    with pytest.raises(NoAnswer) as found:
        all_logits(Inference(Network(Answers(), Gpu(), "bf16")), rows_of(7))
    for words in ("a fault of the device mps", "--use_cpu, for predict --device cpu", "leave --bf16 out", "torch"):
        assert words in str(found.value)


def test_answers_are_looked_at_on_the_way(monkeypatch):
    """Not only when the last of a large file is there."""
    monkeypatch.setattr("pippin.engine.inference.Answers._ROOM", 2)
    told: list[int] = []
    with pytest.raises(NoAnswer, match="row 3 of"):
        all_logits(Inference(Network(Answers(), CpuBackend()), 1), rows_of(7, *[1] * 50), told.append)
    assert sum(told) < 4


@pytest.mark.filterwarnings("ignore:overflow")
def test_metrics_beyond_all_numbers():
    from pippin.engine.inference import evaluate

    class Huge(Answers):
        def forward(self, **inputs):
            return type("Answer", (), {"logits": inputs["input_ids"][:, :1].float() * 1e30})

    encoded = replace(rows_of(1, 6, 2), labels=np.array([1.0, 2.0, 3.0], np.float32))
    task = SequenceTask(metrics=("mse",), regression=True)
    with pytest.raises(NoAnswer, match=r"mse and loss .* largest answer is 6e\+30, to row 5 of a\.csv"):
        evaluate(Inference(Network(Huge(), CpuBackend())), encoded, task)


def test_an_evaluation_without_numbers_saves_the_weights(run_cli, word_file, tiny_model, monkeypatch):
    """They are sound: it is the answers that are not."""
    logits = Network.logits

    def broken(self, batch):
        found = logits(self, batch)
        return found if self.model.training else found * nan

    with monkeypatch.context() as patched:
        patched.setattr(Network, "logits", broken)
        code, err = run_broken(run_cli, word_file, tiny_model, "--max_steps", 4, "--eval_steps", 2)
    assert code == 2
    assert f" of {word_file} is not finite (NaN or infinity)" in err
    assert err.endswith("Step 2 of 4 is saved.")
    assert Path("run/checkpoints/step-2/model.safetensors").exists()
    assert run_cli("resume", "run")[0] == 0


def break_losses(monkeypatch, from_step: int, seen: list[set[int]]) -> None:
    """Losses are NaN from a step on; `seen` gets the rows of each step."""
    forward = EagerStep._forward

    def broken(self, batch):
        seen.append(set(batch.rows.tolist()))
        return forward(self, batch) * (nan if len(seen) >= from_step else 1.0)

    monkeypatch.setattr(EagerStep, "_forward", broken)


def run_broken(run_cli, file, tiny_model, *flags: object) -> tuple[int, str]:
    code, out, err = run_cli(
        "train", file, "--model_name_or_path", tiny_model, "--output_dir", "run", "--per_device_train_batch_size", 8,
        "--use_cpu", *flags,
    )  # fmt: skip
    assert "Traceback" not in out + err
    return code, " ".join(err.split())


def test_a_run_stops_at_the_next_log(run_cli, word_file, tiny_model, monkeypatch):
    """Every row of the file is trained on, so that its number in the file is its place and one."""
    seen: list[set[int]] = []
    break_losses(monkeypatch, 7, seen)
    flags = ["--do_train", "--max_steps", 60, "--logging_steps", 10]
    code, err = run_broken(run_cli, word_file, tiny_model, *flags)
    assert code == 2
    assert len(seen) == 10
    rows = ", ".join(str(place + 1) for place in sorted(seen[6]))
    assert f"the loss of step 7 is not finite (NaN or infinity). Rows of that step in {word_file}: {rows}. " in err
    assert not Path("run/model.safetensors").exists()


def test_rows_are_numbered_as_in_the_file(run_cli, write_rows, tiny_model, monkeypatch):
    """With a part held out for validation, a row that poisons its step is named by its number in the file."""
    rows = make_rows(120)
    rows[57]["text"] = "☃"
    unknown = AutoTokenizer.from_pretrained(tiny_model).unk_token_id
    load = training.load_model

    def load_poisoned(*arguments):
        model = load(*arguments)

        def poison(module, inputs, output):
            bad = inputs[0].eq(unknown)
            return output * torch.where(bad, nan, 1.0)[:, :, None] if module.training else output

        model.get_input_embeddings().register_forward_hook(poison)
        return model

    monkeypatch.setattr(training, "load_model", load_poisoned)
    code, err = run_broken(run_cli, write_rows("words.csv", rows), tiny_model, "--num_train_epochs", 2)
    assert code == 2
    numbers = err.partition("words.csv: ")[2].partition(".")[0].split(", ")
    assert "58" in numbers
    assert len(numbers) <= 8


def test_the_last_finite_checkpoints_stay(run_cli, word_file, tiny_model, monkeypatch):
    from safetensors.torch import load_file

    break_losses(monkeypatch, 12, [])
    flags = ["--do_train", "--max_steps", 60, "--save_steps", 5, "--save_total_limit", 2, "--logging_steps", 500]
    code, err = run_broken(run_cli, word_file, tiny_model, *flags)
    assert code == 2
    assert "the loss of step 12 is not finite" in err
    kept = sorted(path.name for path in Path("run/checkpoints").iterdir())
    assert kept == ["step-10", "step-5"]
    for name in kept:
        weights = load_file(f"run/checkpoints/{name}/model.safetensors")
        assert all(torch.isfinite(tensor).all() for tensor in weights.values())


def test_a_last_update_that_breaks_the_weights_leaves_no_model(run_cli, word_file, tiny_model, monkeypatch):
    """The loss of the last step was still a number."""
    change = EagerStep._change_weights

    def break_weights(self) -> bool:
        changed = change(self)
        with torch.no_grad():
            self.parameters[0].fill_(inf)
        return changed

    monkeypatch.setattr(EagerStep, "_change_weights", break_weights)
    code, err = run_broken(run_cli, word_file, tiny_model, "--do_train", "--max_steps", 1)
    assert code == 2
    assert "the weights of step 1 are not finite" in err
    assert not Path("run/model.safetensors").exists()
    assert not list(Path("run").glob("checkpoints/step-*"))
