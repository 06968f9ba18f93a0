"""Our AdamW and our linear schedule beside torch's and transformers'."""

from __future__ import annotations

import pytest
import torch
from transformers import get_linear_schedule_with_warmup

from helpers import some_plan
from pippin.engine.optimiser import PlainAdamW, make_schedule


def model() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Tanh(), torch.nn.Linear(7, 2))


def some_steps(made: torch.nn.Module, optimiser: torch.optim.Optimizer, count: int) -> None:
    for number in range(count):
        made(torch.full((3, 5), 0.5 + number)).square().sum().backward()
        optimiser.step()
        optimiser.zero_grad()


@pytest.mark.parametrize("fused", [False, True], ids=["plain", "fused"])
def test_updates_are_torchs(fused):
    """With a state that was saved and loaded on the way, by the other of the two."""
    settings = {"lr": 0.1, "weight_decay": 0.2, "fused": fused}
    results = []
    for kinds in ((torch.optim.AdamW, torch.optim.AdamW), (PlainAdamW, torch.optim.AdamW), (PlainAdamW, PlainAdamW)):
        made = model()
        first, second = (kind(made.parameters(), **settings) for kind in kinds)
        some_steps(made, first, 3)
        second.load_state_dict(first.state_dict())
        some_steps(made, second, 3)
        results.append(torch.cat([weight.detach().flatten() for weight in made.parameters()]))
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])


def test_hooks_of_torch_are_called():
    made, calls = model(), []
    optimiser = PlainAdamW(made.parameters())
    optimiser.register_step_pre_hook(lambda *_: calls.append("before"))
    optimiser.register_step_post_hook(lambda *_: calls.append("after"))
    some_steps(made, optimiser, 1)
    assert calls == ["before", "after"]


@pytest.mark.parametrize(("steps", "warmup"), [(10, 3), (10, 0), (4, 4), (1, 1), (3, 5)])
def test_linear_schedule_is_transformers(steps, warmup):
    rates = []
    for make in (
        lambda optimiser: make_schedule(optimiser, some_plan(steps=steps, warmup_steps=warmup)),
        lambda optimiser: get_linear_schedule_with_warmup(optimiser, warmup, steps),
    ):
        optimiser = torch.optim.SGD(model().parameters(), lr=0.3)
        schedule = make(optimiser)
        found = []
        for _ in range(steps + 2):
            found.append(optimiser.param_groups[0]["lr"])
            optimiser.step()
            schedule.step()
        rates.append(found)
    assert rates[0] == rates[1]


def test_states_of_both_schedules_can_be_exchanged():
    def schedules():
        optimiser = torch.optim.SGD(model().parameters(), lr=0.3)
        ours = make_schedule(optimiser, some_plan(steps=10, warmup_steps=2))
        return ours, get_linear_schedule_with_warmup(torch.optim.SGD(model().parameters(), lr=0.3), 2, 10)

    for source, target in (schedules(), schedules()[::-1]):
        for _ in range(5):
            source.optimizer.step()
            source.step()
        target.load_state_dict(source.state_dict())
        target.optimizer.step()
        target.step()
        source.optimizer.step()
        source.step()
        assert target.get_last_lr() == source.get_last_lr()
