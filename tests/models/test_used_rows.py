"""Word vectors that never occur are left out of training, and nothing else changes."""

from __future__ import annotations

import copy

import numpy as np
import torch

from pippin.models.used_rows import UsedRows, train_used_rows
from pippin.runs.saving import checkpoint_bytes


class Tiny(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(10, 4, padding_idx=0)
        self.out = torch.nn.Linear(4, 2)

    def get_input_embeddings(self) -> torch.nn.Embedding:
        return self.words

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.out(self.words(tokens).mean(dim=1))


def pair(used: list[int]) -> tuple[Tiny, Tiny]:
    torch.manual_seed(0)
    whole = Tiny()
    part = copy.deepcopy(whole)
    train_used_rows(part, np.array(used))
    return whole, part


def train(model: Tiny, batches: list[list[int]]) -> None:
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.1, weight_decay=0.0)
    for tokens in batches:
        model.train()(torch.tensor([tokens])).square().sum().backward()
        optimiser.step()
        optimiser.zero_grad()


def test_training_equals_that_of_the_whole_table():
    whole, part = pair([7, 2, 5, 0])
    assert part.words.weight.shape == (4, 4)
    for model in (whole, part):
        train(model, [[7, 2, 0], [5, 5, 7], [2, 0, 0], [7, 7, 7]])
    wanted, found = whole.state_dict(), part.state_dict()
    assert wanted.keys() == found.keys()
    for name, tensor in wanted.items():
        torch.testing.assert_close(found[name], tensor, atol=1e-7, rtol=0)
    assert torch.equal(whole.words.weight[0], pair([0])[0].words.weight[0]), "padding is never trained"


def test_in_use_every_word_is_known():
    whole, part = pair([1, 2])
    tokens = torch.arange(10).view(2, 5)
    assert torch.equal(whole.eval()(tokens), part.eval()(tokens))


def test_weights_go_in_and_out_in_their_own_order():
    whole, part = pair([9, 3])
    torch.manual_seed(5)
    other = Tiny()
    part.load_state_dict(other.state_dict())
    assert torch.equal(part.state_dict()["words.weight"], other.words.weight)
    assert torch.equal(part.words.weight, other.words.weight[[3, 9]])
    part.words.weight.data += 1
    assert torch.equal(part.state_dict()["words.weight"][3], other.words.weight[3] + 1)


def test_what_belongs_to_the_rows_is_put_in_their_places():
    _, part = pair([9, 3])
    assert isinstance(part.words, UsedRows)
    moments = torch.tensor([[1.0] * 4, [2.0] * 4])
    everything = part.words.expanded(moments)
    assert everything[:, 0].tolist() == [0, 0, 0, 1, 0, 0, 0, 0, 0, 2]
    assert torch.equal(part.words.compacted(everything), moments)


def test_hooks_of_the_embedding_stay():
    model = Tiny()
    seen = []
    model.words.register_forward_hook(lambda *_: seen.append(1))
    train_used_rows(model, np.array([1]))
    model.train()(torch.tensor([[1, 1]]))
    assert seen == [1]


def test_a_checkpoint_takes_as_much_room_as_with_all_rows():
    whole, part = pair([1, 2])
    assert checkpoint_bytes(part) == checkpoint_bytes(whole), "the table and its moments are saved whole"
