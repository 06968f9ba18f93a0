"""What planning needs to know of a model, as plain data out of its configuration. Importing this loads no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pippin.machine.work import Work
from pippin.models.attention import work_of
from pippin.models.families import Family, attention_window, family_of


@dataclass(frozen=True)
class ModelSize:
    layers: int
    width: int
    inner: int
    """Width of the feed-forward part."""
    heads: int
    vocabulary: int
    positions: int = 512
    outputs: int = 2
    gated: bool = False
    """Whether the feed-forward part is made of two that are multiplied."""
    dropout: float = 0.1
    attention_dropout: float = 0.1

    @property
    def layer(self) -> int:
        """Parameters of a layer."""
        inner = self.inner * (2 if self.gated else 1)
        return self.width * (4 * self.width + inner + self.inner) + 9 * self.width + inner

    @property
    def head(self) -> int:
        return self.width * (self.width + self.outputs + 1) + self.outputs

    @property
    def other_embeddings(self) -> int:
        """Positions, kinds of tokens, and the norm after them."""
        return (self.positions + 4) * self.width

    @property
    def weights(self) -> int:
        return self.vocabulary * self.width + self.other_embeddings + self.layers * self.layer + self.head


@dataclass(frozen=True)
class ModelFacts:
    family: Family | None = None
    """Where things are in its layers; None where its rows cannot be packed."""
    no_family: str = "this kind of model is not known"
    window: int | None = None
    """How far a token sees to either side, in a family where that is not the whole row."""
    layers: int | None = None
    hidden_size: int | None = None
    longest_input: int | None = None
    """In tokens; None: any."""
    size: ModelSize | None = None
    """None where the configuration does not tell it."""
    work: Work = Work()
    """What it asks of a device, as far as its attention tells."""


def facts_of(config: Any, outputs: int = 2, longest_input: int | None = None) -> ModelFacts:
    family, no_family = family_of(config)
    return ModelFacts(
        family,
        no_family,
        attention_window(config),
        getattr(config, "num_hidden_layers", None),
        getattr(config, "hidden_size", None),
        longest_input,
        _size_of(config, outputs),
        work_of(config),
    )


def _size_of(config: Any, outputs: int) -> ModelSize | None:
    text = config.get_text_config() if hasattr(config, "get_text_config") else config

    def first(*names: str) -> Any:
        return next((value for name in names if (value := getattr(text, name, None)) is not None), None)

    layers, width, heads = first("num_hidden_layers"), first("hidden_size"), first("num_attention_heads")
    vocabulary = first("vocab_size")
    if not all(isinstance(number, int) for number in (layers, width, heads, vocabulary)):
        return None
    kind = getattr(text, "model_type", None)
    return ModelSize(
        layers=layers,
        width=width,
        inner=first("intermediate_size", "hidden_dim") or 4 * width,
        heads=heads,
        vocabulary=vocabulary,
        positions=0 if kind == "modernbert" else first("max_position_embeddings") or 0,
        outputs=outputs,
        gated=kind == "modernbert",
        dropout=first("hidden_dropout_prob", "mlp_dropout", "dropout") or 0.0,
        attention_dropout=first("attention_probs_dropout_prob", "attention_dropout") or 0.0,
    )
