"""Models of a few hundred parameters, made from their configurations, without dropout: no files, no network."""

from __future__ import annotations

from typing import Any

import torch

_SMALL = {
    "vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
    "max_position_embeddings": 32, "num_labels": 3, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
_NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
_DISTILBERT = {
    "dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32,
    "dropout": 0.0, "attention_dropout": 0.0, "seq_classif_dropout": 0.0,
}  # fmt: skip
_DEBERTA = {
    "relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 8,
    "pooler_hidden_size": 16, "pooler_dropout": 0.0,
}  # fmt: skip
_MODERNBERT = {"cls_token_id": 1, "sep_token_id": 2, "global_attn_every_n_layers": 2, "local_attention": 8}
_GPT2 = {
    "vocab_size": 40, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 32, "pad_token_id": 0, "num_labels": 3,
    "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0,
}  # fmt: skip
_T5 = {
    "vocab_size": 40, "d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2, "dropout_rate": 0.0,
    "decoder_start_token_id": 0,
}  # fmt: skip

CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "bert": _SMALL | _NO_DROPOUT,
    "roberta": _SMALL | _NO_DROPOUT,
    "electra": _SMALL | _NO_DROPOUT | {"embedding_size": 16},
    "distilbert": _SMALL | _DISTILBERT,
    "deberta-v2": _SMALL | _NO_DROPOUT | _DEBERTA,
    "modernbert": _SMALL | _MODERNBERT,
    "gpt2": _GPT2,
    "llama": _SMALL | {"num_key_value_heads": 1},
    "t5": _T5,
}


def tiny_model(kind: str = "bert") -> torch.nn.Module:
    from transformers import AutoConfig, AutoModelForSeq2SeqLM, AutoModelForSequenceClassification

    torch.manual_seed(0)
    configuration = AutoConfig.for_model(kind, **CONFIGURATIONS[kind])
    maker = AutoModelForSeq2SeqLM if kind == "t5" else AutoModelForSequenceClassification
    return maker.from_config(configuration).train()


def tiny_batch(rows: int = 4, length: int = 9, kind: str = "bert") -> dict[str, torch.Tensor]:
    """Padded at the end, each row to another length."""
    draw = torch.Generator().manual_seed(0)
    ids = torch.randint(3, 40, (rows, length), generator=draw)
    mask = (torch.arange(length) < torch.arange(length, length - rows, -1)[:, None]).long()
    labels = ids if kind == "t5" else torch.arange(rows) % 3
    return {"input_ids": ids * mask, "attention_mask": mask, "labels": labels}
