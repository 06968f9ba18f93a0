"""A tiny BERT on the device and on the CPU: the same training, files and feeding."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from against_cpu import assert_same, moved
from tiny_models import CONFIGURATIONS, tiny_batch, tiny_model

pytestmark = pytest.mark.emulated_mps

OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "AdamW": lambda weights: torch.optim.AdamW(weights, lr=1e-3),
    "AdamW, one by one": lambda weights: torch.optim.AdamW(weights, lr=1e-3, foreach=False),
    "AdamW, foreach": lambda weights: torch.optim.AdamW(weights, lr=1e-3, foreach=True),
    "AdamW, fused": lambda weights: torch.optim.AdamW(weights, lr=1e-3, fused=True),
    "SGD, fused": lambda weights: torch.optim.SGD(weights, lr=1e-2, momentum=0.9, fused=True),
    "Adafactor": lambda weights: torch.optim.Adafactor(weights, lr=1e-3),
}


def train(
    device: str, make_optimizer: Callable[..., torch.optim.Optimizer], steps: int = 5, parts: int = 1
) -> tuple[list[float], list[float], list[torch.Tensor]]:
    """Losses, gradients' norms and weights."""
    model = tiny_model().to(device)
    optimizer = make_optimizer(model.parameters())
    losses, norms = [], []
    for _ in range(steps):
        optimizer.zero_grad()
        for part in range(parts):
            batch = {name: column.chunk(parts)[part].to(device) for name, column in tiny_batch().items()}
            loss = model(**batch).loss / parts
            loss.backward()
            losses.append(loss.item())
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5).item())
        optimizer.step()
    return losses, norms, [weight.detach().cpu() for weight in model.parameters()]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_equals_the_cpu(name: str) -> None:
    losses, norms, weights = train("mps", OPTIMIZERS[name])
    expected_losses, expected_norms, expected_weights = train("cpu", OPTIMIZERS[name])
    assert losses == pytest.approx(expected_losses, abs=1e-5)
    assert norms == pytest.approx(expected_norms, rel=1e-4)
    assert losses[-1] < losses[0]
    assert_same(weights, expected_weights, rtol=1e-5, atol=1e-5)


def test_accumulation_equals_the_cpu() -> None:
    losses, _, weights = train("mps", OPTIMIZERS["AdamW"], steps=2, parts=2)
    expected, _, expected_weights = train("cpu", OPTIMIZERS["AdamW"], steps=2, parts=2)
    assert losses == pytest.approx(expected, abs=1e-5)
    assert_same(weights, expected_weights, rtol=1e-5, atol=1e-5)


def test_fused_optimizers_came_with_2_5(mps: Any) -> None:
    with mps.pretend(release="2.4.0"), pytest.raises(NotImplementedError, match="aten::_fused_adamw_"):
        train("mps", OPTIMIZERS["AdamW, fused"], steps=1)


def test_weights_travel(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    model = tiny_model()
    there = copy.deepcopy(model).to("mps")
    expected = model.state_dict()
    assert_same(there.state_dict(), expected, rtol=0, atol=0)

    copied = copy.deepcopy(there)
    assert {weight.device.type for weight in copied.parameters()} == {"mps"}
    with torch.no_grad():
        next(there.parameters()).zero_()
    assert_same(copied.state_dict(), expected, rtol=0, atol=0)

    torch.save(copied.state_dict(), tmp_path / "weights.pt")
    for device in ("cpu", "mps"):
        loaded = torch.load(tmp_path / "weights.pt", map_location=device)
        assert {weight.device.type for weight in loaded.values()} == {device}
        assert_same(loaded, expected, rtol=0, atol=0)

    save_file(copied.state_dict(), tmp_path / "weights.safetensors")
    for device in ("cpu", "mps"):
        loaded = load_file(tmp_path / "weights.safetensors", device=device)
        assert {weight.device.type for weight in loaded.values()} == {device}
        assert_same(dict(sorted(loaded.items())), dict(sorted(expected.items())), rtol=0, atol=0)
    there.load_state_dict(loaded)
    assert_same(there.state_dict(), expected, rtol=0, atol=0)


def test_an_optimizer_resumes(tmp_path: Path) -> None:
    weights = [torch.nn.Parameter(torch.ones(3, device="mps")) for _ in range(2)]
    optimizers = [torch.optim.AdamW([weight], lr=0.1) for weight in weights]
    weights[0].square().sum().backward()
    optimizers[0].step()
    torch.save(optimizers[0].state_dict(), tmp_path / "optimizer.pt")
    optimizers[1].load_state_dict(torch.load(tmp_path / "optimizer.pt"))
    weights[1].data.copy_(weights[0].data)
    for weight, optimizer in zip(weights, optimizers, strict=True):
        weight.grad = torch.ones(3, device="mps")
        optimizer.step()
    assert torch.equal(*weights)


def test_workers_feed_the_device() -> None:
    rows = [{name: column[row] for name, column in tiny_batch().items()} for row in range(4)]
    model = tiny_model().to("mps")
    losses = []
    for batch in torch.utils.data.DataLoader(rows, batch_size=2, num_workers=1):
        loss = model(**moved(batch, "mps")).loss
        loss.backward()
        losses.append(loss.item())
    ours = tiny_model()
    expected = [ours(**{name: column.chunk(2)[part] for name, column in tiny_batch().items()}).loss for part in (0, 1)]
    assert losses == pytest.approx([loss.item() for loss in expected], abs=1e-5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", CONFIGURATIONS)
def test_architectures_equal_the_cpu(kind: str) -> None:
    ours = tiny_model(kind)
    theirs = copy.deepcopy(ours).to("mps")
    expected = ours(**tiny_batch(kind=kind)).loss
    found = theirs(**moved(tiny_batch(kind=kind), "mps")).loss
    assert found.item() == pytest.approx(expected.item(), abs=1e-4)
    expected.backward()
    found.backward()
    for (name, weight), other in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        assert (weight.grad is None) == (other.grad is None), name
        if weight.grad is not None:
            torch.testing.assert_close(other.grad.cpu(), weight.grad, rtol=1e-3, atol=1e-4, msg=name)


@pytest.mark.filterwarnings("ignore")
def test_the_trainer_of_transformers_finds_the_device(tmp_path: Path, mps: Any) -> None:
    from transformers import Trainer, TrainingArguments

    rows = [{name: column[row] for name, column in tiny_batch().items()} for row in range(4)]
    arguments = TrainingArguments(
        str(tmp_path), max_steps=3, per_device_train_batch_size=2, report_to=[], save_steps=3, disable_tqdm=True
    )
    assert arguments.device == torch.device("mps")
    trainer = Trainer(tiny_model(), arguments, train_dataset=rows)
    with mps.calls() as counted:
        result = trainer.train()
    assert result.global_step == 3
    assert 0 < result.training_loss < 5
    assert {weight.device.type for weight in trainer.model.parameters()} == {"mps"}
    assert counted["aten::linear_backward"] > 0
    assert (tmp_path / "checkpoint-3" / "model.safetensors").is_file()
