"""Losses at learnt tokens are those of transformers over the whole, in any layout, and so are their gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from small_chat import SIZES, chat_rows, small_language_model, small_tokenizer
from torch.nn import functional

from pippin.data.encoding import Encoded
from pippin.machine.drivers.cpu import CpuBackend
from pippin.models import token_losses
from pippin.models.families import family_of
from pippin.models.language_network import LanguageNetwork
from pippin.models.token_losses import cross_entropies, losses_and_hits, summed_loss, tokens_at_once
from pippin.tasks.language.chats import chat_of
from pippin.tasks.language.encoding import ChatExamples, encode_text


def encoded_chats(count: int = 8, turns: int = 2) -> Encoded:
    texts = [chat_of(row["messages"]).to_text() for row in chat_rows(count, turns=turns)]
    examples = ChatExamples(texts, None, np.zeros(count, np.int8), range(1, count + 1), "chats")
    return encode_text(examples, small_tokenizer(), 256, "answers")


def network(model, packs: bool, pad_lengths=()) -> LanguageNetwork:
    family = family_of(model.config)[0] if packs else None
    return LanguageNetwork(model, CpuBackend(), "fp32", family, packs, pad_lengths, reads_one=False)


def gradients(model) -> dict[str, torch.Tensor]:
    found = {name: each.grad.clone() for name, each in model.named_parameters() if each.grad is not None}
    model.zero_grad()
    return found


def row_by_row(model, encoded: Encoded) -> torch.Tensor:
    """Transformers' own logits, and the whole vocabulary's loss."""
    losses = []
    for start, stop in zip(encoded.offsets, encoded.offsets[1:], strict=False):
        ids = torch.from_numpy(encoded.tokens[start:stop].astype(np.int64))[None]
        labels = torch.from_numpy(encoded.labels[start:stop])
        losses.append(functional.cross_entropy(model(ids).logits[0].float(), labels, reduction="none"))
    return torch.cat(losses)


@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize("layout", ["packed", "padded", "padded to planned lengths"])
def test_losses_and_gradients_are_transformers(kind, layout):
    encoded, model = encoded_chats(), small_language_model(kind).eval()
    wanted = row_by_row(model, encoded)
    wanted.sum().backward()
    expected = gradients(model)
    ours = network(model, layout == "packed", (64, 256) if "planned" in layout else ())
    assert family_of(model.config)[0] is not None
    batch = ours.collate(encoded, np.arange(8))
    loss = ours.logits(batch)
    loss.backward()
    assert loss.item() == pytest.approx(wanted.sum().item(), rel=1e-6)
    found = gradients(model)
    assert found.keys() == expected.keys()
    for name, gradient in found.items():
        assert (gradient - expected[name]).norm() <= 1e-5 * max(expected[name].norm(), 1e-3), name
    with torch.no_grad():
        figures = ours.logits(batch)
    assert figures[..., 0].sum().item() == pytest.approx(wanted.sum().item(), rel=1e-6)
    assert int((figures[..., 0] > 0).sum()) == int((encoded.labels >= 0).sum())


@pytest.mark.parametrize("parts", [1, 2, 4, 8, 16])
def test_a_batch_may_be_cut_anyhow(parts):
    """Exact counts: the loss and the gradient of 16 rows are the same in any number of micro-batches."""
    encoded, model = encoded_chats(16), small_language_model()
    count = int((encoded.labels >= 0).sum())
    whole = network(model, packs=True)
    whole.logits(whole.collate(encoded, np.arange(16))).div(count).backward()
    expected = gradients(model)
    for rows in np.array_split(np.arange(16), parts):
        whole.logits(whole.collate(encoded, rows)).div(count).backward()
    for name, gradient in gradients(model).items():
        assert (gradient - expected[name]).abs().max() <= 1e-6, name


def test_logits_are_never_held_beyond_their_bound(monkeypatch):
    held = []
    cross_entropies = token_losses.cross_entropies

    def watched(logits, *arguments):
        held.append(logits.numel() * 4)
        return cross_entropies(logits, *arguments)

    monkeypatch.setattr(token_losses, "cross_entropies", watched)
    encoded, model = encoded_chats(), small_language_model()
    ours = network(model, packs=True)
    ours.at_once = tokens_at_once(400, most_bytes=400 * 4 * 7)
    batch = ours.collate(encoded, np.arange(8))
    ours.logits(batch).backward()
    with torch.no_grad():
        ours.logits(batch)
    assert max(held) == 400 * 4 * 7
    assert len(held) == 2 * -(-len(batch.targets) // 7)


def test_padding_is_never_learnt():
    encoded, model = encoded_chats(), small_language_model()
    ours = network(model, packs=False, pad_lengths=(256,))
    batch = ours.collate(encoded, np.arange(8))
    assert batch.inputs["input_ids"].shape == (8, 256)
    assert len(batch.targets) == int((encoded.labels >= 0).sum())
    followed = batch.labels.flatten()[batch.targets]
    assert (followed >= 0).all()
    assert 0 not in followed.tolist()  # the padding's number


def test_a_large_vocabulary_loses_nothing():
    logits = torch.randn(20, 50_000, generator=torch.Generator().manual_seed(0)) * 3
    logits[:, 7] += 25  # all others are small beside it
    labels = torch.full((20,), 7)
    wanted = functional.cross_entropy(logits.double(), labels, reduction="none")
    assert cross_entropies(logits, labels).double() == pytest.approx(wanted, rel=2e-3, abs=2e-6)
    nothing = cross_entropies(logits, torch.full((20,), -100))
    assert (nothing == 0).all()


def test_smoothing_is_torchs():
    head, states = torch.nn.Linear(8, 30), torch.randn(11, 8, requires_grad=True)
    labels = torch.randint(0, 30, (11,))
    functional.cross_entropy(head(states), labels, reduction="sum", label_smoothing=0.1).backward()
    wanted, states.grad = states.grad, None
    summed_loss(head, states, labels, 4, [], 0.1).backward()
    assert states.grad == pytest.approx(wanted, abs=1e-6)
    figures = losses_and_hits(head, states.detach(), labels, 4)
    assert figures[:, 1].tolist() == (head(states).argmax(-1) == labels).float().tolist()
