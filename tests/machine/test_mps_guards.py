"""Guards that act on a model: the same gradients with them, on a CPU that stands in for the Apple GPU."""

from __future__ import annotations

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

from pippin.errors import PippinError
from pippin.machine.drivers import get_backend, mps
from pippin.machine.drivers.mps_guards import same_randomness
from pippin.machine.faults import MacFacts


@pytest.fixture
def on_torch(monkeypatch):
    def set_release(release: str, macos: str = "15.0", chip: str = "Apple M1") -> None:
        monkeypatch.setattr(mps, "facts", lambda: MacFacts(release, macos, chip))

    return set_release


def above_frozen_layers() -> torch.nn.Sequential:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.LayerNorm(4), torch.nn.Linear(4, 2))
    model[0].requires_grad_(False)
    return model


class _NormMasks(TorchDispatchMode):
    """Notes which gradients every LayerNorm is asked for: input, weight, bias."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function is torch.ops.aten.native_layer_norm_backward.default:
            self.seen.append(list(args[-1]))
        return function(*args, **(kwargs or {}))


def gradients(model: torch.nn.Module) -> tuple[dict[str, torch.Tensor], list]:
    inputs = torch.randn(3, 4, generator=torch.Generator().manual_seed(1))
    with _NormMasks() as masks:
        model(inputs).square().sum().backward()
    return {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}, masks.seen


def test_norm_above_frozen_layers_asks_for_the_inputs_gradient_too(on_torch):
    on_torch("2.12.0")
    plain, guarded = above_frozen_layers(), above_frozen_layers()
    get_backend("mps").guard(guarded)
    expected, masks = gradients(plain)
    assert masks == [[False, True, True]], "this is what goes wrong on the Apple GPU"
    found, masks = gradients(guarded)
    assert masks == [[True, True, True]]
    assert found.keys() == expected.keys() == {"1.weight", "1.bias", "2.weight", "2.bias"}
    torch.testing.assert_close(found, expected, rtol=0, atol=0)


def test_norm_guard_stays_out_of_evaluation_and_of_mended_releases(on_torch):
    on_torch("2.12.0")
    model = above_frozen_layers()
    model[1].requires_grad_(False)
    get_backend("mps").guard(model)
    assert not model[1]._forward_pre_hooks, "a frozen norm has no gradients to go wrong"
    trained = above_frozen_layers()
    get_backend("mps").guard(trained)
    with torch.no_grad():
        assert not trained[:2](torch.ones(1, 4)).requires_grad
    on_torch("2.13.0")
    mended = above_frozen_layers()
    get_backend("mps").guard(mended)
    assert gradients(mended)[1] == [[False, True, True]]


class _Linears(TorchDispatchMode):
    """Notes what goes into products with a bias, and whether there are such."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function in (torch.ops.aten.addmm.default, torch.ops.aten.linear.default):
            tokens, bias = (args[1], True) if function is torch.ops.aten.addmm.default else (args[0], args[2:])
            self.seen.append((tuple(tokens.shape), bool(bias)))
        return function(*args, **(kwargs or {}))


def linear_layers() -> torch.nn.Sequential:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 2, bias=False))


@pytest.mark.parametrize("shape", [(5, 3, 4), (5, 1, 4), (1, 1, 4), (1, 4), (4,), (2, 3, 1, 4)])
@pytest.mark.parametrize("macos", ["15.0", "26.1"])
def test_linear_layers_see_one_matrix(on_torch, shape, macos):
    on_torch("2.13.0", macos)
    plain, guarded = linear_layers(), linear_layers()
    get_backend("mps").lay_out(guarded)
    tokens = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    expected, found = plain(tokens), guarded(tokens)
    torch.testing.assert_close(found, expected)
    expected.square().sum().backward()
    found.square().sum().backward()
    for one, other in zip(guarded.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad)
    with torch.inference_mode(), _Linears() as linears:
        guarded(tokens)
    assert all(len(shape) == 2 for shape, _ in linears.seen)
    vectors_with_bias = [shape for shape, bias in linears.seen if bias and shape[0] == 1]
    assert vectors_with_bias == ([] if macos == "26.1" or tokens.numel() > 4 else [(1, 4)])


def test_linear_layers_keep_their_names_hooks_and_precision(on_torch):
    on_torch("2.13.0", "26.1")
    model = linear_layers()
    names, seen = list(model.state_dict()), []
    model[0].register_forward_hook(lambda _, given, found: seen.append((given[0].shape, found.shape)))
    get_backend("mps").lay_out(model)
    assert list(model.state_dict()) == names
    with torch.autocast("cpu", torch.bfloat16):
        assert model(torch.ones(1, 1, 4)).dtype == torch.bfloat16
    assert seen == [((1, 1, 4), (1, 1, 8))]
    assert isinstance(model[0], torch.nn.Linear)


def test_linear_layers_of_mended_releases_stay(on_torch):
    on_torch("2.14.0", "26.1")
    model = linear_layers()
    get_backend("mps").lay_out(model)
    assert type(model[0]) is torch.nn.Linear


def test_lstm_that_drops_out_between_layers_is_refused(on_torch):
    model = torch.nn.ModuleDict({"reader": torch.nn.LSTM(2, 2, num_layers=2, dropout=0.1)})
    on_torch("2.13.0")
    with pytest.raises(PippinError, match=r"\(reader\).*torch>=2\.14.*--use_cpu"):
        get_backend("mps").guard(model)
    for harmless in (torch.nn.LSTM(2, 2), torch.nn.LSTM(2, 2, num_layers=2), torch.nn.GRU(2, 2, 2, dropout=0.1)):
        get_backend("mps").guard(harmless)
    get_backend("cpu").guard(model)
    on_torch("2.14.0")
    get_backend("mps").guard(model)


class PrivateDropout(torch.nn.Module):
    """Draws from a generator that torch's checkpoint() does not know, as it does not know the Apple GPU's."""

    def __init__(self, generator: torch.Generator):
        super().__init__()
        self.generator = generator

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return inputs * torch.empty_like(inputs).bernoulli_(0.5, generator=self.generator)


@pytest.fixture
def device_generator(monkeypatch) -> torch.Generator:
    generator = torch.Generator()
    monkeypatch.setattr(torch.mps, "get_rng_state", generator.get_state)
    monkeypatch.setattr(torch.mps, "set_rng_state", generator.set_state)
    return generator


def test_recomputation_draws_the_same_dropout(device_generator):
    torch.manual_seed(0)
    weight = torch.randn(16, 16, requires_grad=True)
    dropout = PrivateDropout(device_generator)

    def part(hidden: torch.Tensor) -> torch.Tensor:
        return dropout(torch.tanh(dropout(hidden @ weight)))

    def run(wrap) -> tuple[torch.Tensor, torch.Tensor]:
        """The gradient through two parts, and what the generator gives next."""
        device_generator.manual_seed(7)
        weight.grad = None
        wrap(wrap(torch.ones(4, 16))).sum().backward()
        return weight.grad, torch.rand(3, generator=device_generator)

    expected = run(part)
    unaided = run(lambda hidden: checkpoint(part, hidden, use_reentrant=False))
    assert not torch.equal(unaided[0], expected[0]), "without help the gradient is wrong"
    guarded = run(lambda hidden: checkpoint(part, hidden, use_reentrant=False, context_fn=same_randomness))
    torch.testing.assert_close(guarded, expected, rtol=0, atol=0)


def test_random_state_comes_back_after_an_error(device_generator):
    first, second = same_randomness()
    with first:
        torch.rand(3, generator=device_generator)
    later = device_generator.get_state()
    with pytest.raises(KeyError), second:
        raise KeyError
    assert torch.equal(device_generator.get_state(), later)
