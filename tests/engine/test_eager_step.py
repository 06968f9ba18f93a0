"""One step at a time: gradients, clipping, weight decay groups, schedules."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from helpers import some_plan
from pippin.data.collate import collate
from pippin.data.encoding import Encoded
from pippin.engine.optimiser import make_optimiser
from pippin.engine.steps.eager import EagerStep
from pippin.machine.drivers import get_backend
from pippin.models.labels import Labels
from pippin.models.loading import load_config, load_model
from pippin.models.network import Network
from pippin.plan.plan import Plan
from pippin.recipe import Recipe
from pippin.tasks.sequence.task import SequenceTask


def plan(**settings) -> Plan:
    return some_plan(learning_rate=0.1, head_learning_rate=0.4, step="plain calls", **settings)


@pytest.fixture
def model(tiny_model):
    recipe = Recipe(model_name_or_path=str(tiny_model))
    torch.manual_seed(0)
    loaded = load_model(recipe, load_config(recipe, Labels(("a", "b", "c"))))
    return loaded.eval()  # no dropout, so that gradients can be compared


def random_rows(count: int) -> Encoded:
    generator = np.random.default_rng(0)
    lengths = generator.integers(3, 20, count)
    tokens = generator.integers(5, 100, lengths.sum()).astype(np.int32)
    return Encoded(tokens, None, np.concatenate([[0], np.cumsum(lengths)]), generator.integers(0, 3, count))


def make_step(model, **settings) -> EagerStep:
    planned = plan(optim="sgd", **settings)
    optimiser = make_optimiser(model, planned)
    constant = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1.0)
    return EagerStep(
        Network(model, get_backend("cpu")), optimiser, constant, SequenceTask(), planned.rates.max_grad_norm
    )


def weights(model) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


@pytest.mark.parametrize("sizes", [(7, 7, 7), (16, 4, 1), (1, 20)])
def test_uneven_micro_batches_equal_the_whole_batch(model, sizes):
    encoded = random_rows(21)
    start = {name: tensor.clone() for name, tensor in model.state_dict().items()}

    def one_step(parts: list[np.ndarray]) -> tuple[torch.Tensor, float, float]:
        model.load_state_dict(start)
        loss, norm = make_step(model)([collate(encoded, rows) for rows in parts])
        return weights(model), float(loss), float(norm)

    whole = one_step([np.arange(21)])
    parts = one_step(np.split(np.arange(21), np.cumsum(sizes)[:-1]))
    assert parts[1:] == pytest.approx(whole[1:], rel=1e-5)
    torch.testing.assert_close(parts[0], whole[0], rtol=1e-5, atol=1e-7)


def test_clipping_bounds_the_update(model):
    encoded = random_rows(8)
    before = weights(model)
    _, norm = make_step(model, max_grad_norm=1e-3)([collate(encoded, np.arange(8))])
    moved = (weights(model) - before).norm()
    assert norm > 1e-2
    assert moved < 1e-3 * 0.4 * 1.01


def test_groups_decay_weights_only_and_give_the_head_its_rate(model):
    optimiser = make_optimiser(model, plan(weight_decay=0.1))
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    seen = {}
    for group in optimiser.param_groups:
        for parameter in group["params"]:
            seen[names[id(parameter)]] = (group["lr"], group["weight_decay"])
    assert set(seen) == set(names.values())
    assert seen["classifier.weight"] == (0.4, 0.1)
    assert seen["classifier.bias"] == (0.4, 0.0)
    assert seen["bert.encoder.layer.0.output.LayerNorm.weight"] == (0.1, 0.0)
    assert seen["bert.encoder.layer.0.output.dense.weight"] == (0.1, 0.1)
    assert seen["bert.embeddings.word_embeddings.weight"] == (0.1, 0.1)
    assert optimiser.param_groups[0]["lr"] == 0.1


def test_same_decay_as_hugging_face(model):
    from transformers.trainer_pt_utils import get_parameter_names

    ours = {id(p) for group in make_optimiser(model, plan(weight_decay=0.1)).param_groups
            if group["weight_decay"] for p in group["params"]}  # fmt: skip
    theirs = {name for name in get_parameter_names(model, [torch.nn.LayerNorm]) if "bias" not in name}
    assert {name for name, parameter in model.named_parameters() if id(parameter) in ours} == theirs


def test_losses_equal_transformers(tiny_model):
    from transformers import AutoModelForSequenceClassification

    model = AutoModelForSequenceClassification.from_pretrained(tiny_model, num_labels=3)
    batch = collate(random_rows(9), np.arange(9))
    with torch.no_grad():
        output = model(**batch.inputs, labels=batch.labels)
    assert float(SequenceTask().loss(output.logits, batch.labels)) / 9 == pytest.approx(float(output.loss), rel=1e-6)
    smooth = torch.nn.functional.cross_entropy(output.logits, batch.labels, label_smoothing=0.1)
    assert float(SequenceTask(label_smoothing=0.1).loss(output.logits, batch.labels)) / 9 == pytest.approx(
        float(smooth), rel=1e-6
    )
    numbers = torch.tensor([[1.0], [3.0]])
    assert float(SequenceTask(regression=True).loss(numbers, torch.tensor([0.0, 1.0]))) == 5.0
