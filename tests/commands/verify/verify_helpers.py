"""Small models with a few rows, to compare on two devices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from pippin.commands.verify.measurement import Experiment
from pippin.commands.verify.verdict import Finding
from pippin.commands.verify.verify import without_dropout
from pippin.data.encoding import Encoded
from pippin.tasks.sequence.task import SequenceTask

#: Of the weights: as large as in a trained model of this width, so that every part of it has a say.
_SPREAD = 0.2


def some_rows(vocabulary: int = 60) -> Encoded:
    """Eight rows of two lengths, with labels."""
    lengths = np.repeat([9, 14], 4)
    tokens = torch.randint(5, vocabulary, (int(lengths.sum()),)).numpy()
    return Encoded(tokens, None, np.concatenate([[0], np.cumsum(lengths)]), np.array([0, 1, 0, 1] * 2))


def experiment_with(model: torch.nn.Module, encoded: Encoded) -> Experiment:
    """Two batches, each with short and long rows."""
    return Experiment(
        model,
        encoded,
        [np.array([0, 1, 4, 5]), np.array([2, 3, 6, 7])],
        SequenceTask(),
        lambda placed: torch.optim.AdamW([p for p in placed.parameters() if p.requires_grad], lr=1e-3),
    )


def bert(folder: Path) -> Experiment:
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    config = BertConfig.from_pretrained(
        folder, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, initializer_range=_SPREAD
    )
    return experiment_with(BertForSequenceClassification(config), some_rows())


def gpt2() -> Experiment:
    """A model that looks back, with torch's fused attention."""
    from transformers import GPT2Config, GPT2ForSequenceClassification

    torch.manual_seed(0)
    config = GPT2Config(
        n_embd=32,
        n_layer=2,
        n_head=2,
        vocab_size=60,
        n_positions=16,
        pad_token_id=0,
        attn_pdrop=0.0,
        embd_pdrop=0.0,
        resid_pdrop=0.0,
        attn_implementation="sdpa",
        initializer_range=_SPREAD,
    )
    return experiment_with(GPT2ForSequenceClassification(config), some_rows())


def another(kind: str) -> Experiment:
    """A model of another family, as transformers makes it when it is new."""
    from transformers import AutoConfig, AutoModelForSequenceClassification

    torch.manual_seed(0)
    config = AutoConfig.for_model(
        kind,
        hidden_size=32,
        embedding_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        vocab_size=60,
        pad_token_id=0,
    )
    return experiment_with(AutoModelForSequenceClassification.from_config(without_dropout(config)), some_rows())


def by_name(findings: list[Finding]) -> dict[str, Finding]:
    return {finding.name: finding for finding in findings}


def wrong_ones(findings: list[Finding]) -> list[str]:
    return [finding.name for finding in findings if not finding.agrees]
