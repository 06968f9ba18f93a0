"""What planning needs to know of a model, as plain data out of its configuration. Importing this loads no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pippin.machine.work import Work
from pippin.models.attention import work_of
from pippin.models.families import Family, attention_window, caps_scores, family_of

#: In which weights are saved.
Precision = Literal["fp32", "bf16", "fp16"]
#: Kinds of models whose feed-forward part is made of two that are multiplied.
_GATED = (
    "modernbert", "llama", "mistral", "qwen2", "qwen3", "smollm3", "gemma", "gemma2", "gemma3_text", "phi3",
)  # fmt: skip


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
    queries: int = 0
    """Width of all queries of a layer together; 0: that of the layer."""
    keys: int = 0
    """Likewise of keys, and of values."""
    tied: bool = True
    """Whether a language model's head is its embeddings."""
    dropout: float = 0.1
    attention_dropout: float = 0.1

    @property
    def layer(self) -> int:
        """Parameters of a layer."""
        inner = self.inner * (2 if self.gated else 1)
        attention = 2 * (self.queries or self.width) + 2 * (self.keys or self.width)
        return self.width * (attention + inner + self.inner) + 9 * self.width + inner

    @property
    def head(self) -> int:
        if not self.outputs:
            return 0 if self.tied else self.vocabulary * self.width
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
    caps_scores: bool = False
    """Whether attention's scores are capped."""
    stored: Precision = "fp32"
    """The precision in which its weights were saved, as its configuration says."""
    adapters: dict[str, Any] | None = None
    """Peft's settings of the adapters that it comes with."""


def facts_of(
    config: Any, outputs: int = 2, longest_input: int | None = None, adapters: dict[str, Any] | None = None
) -> ModelFacts:
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
        caps_scores(config),
        _stored(config),
        adapters,
    )


def _stored(config: Any) -> Precision:
    kind = str(getattr(config, "dtype", None) or getattr(config, "torch_dtype", None)).removeprefix("torch.")
    return "bf16" if kind == "bfloat16" else "fp16" if kind == "float16" else "fp32"


def _size_of(config: Any, outputs: int) -> ModelSize | None:
    text = config.get_text_config() if hasattr(config, "get_text_config") else config

    def first(*names: str) -> Any:
        return next((value for name in names if (value := getattr(text, name, None)) is not None), None)

    layers, width, heads = first("num_hidden_layers"), first("hidden_size"), first("num_attention_heads")
    vocabulary = first("vocab_size")
    if not all(isinstance(number, int) for number in (layers, width, heads, vocabulary)):
        return None
    kind = getattr(text, "model_type", None)
    width_of_head = first("head_dim") or width // heads
    return ModelSize(
        layers=layers,
        width=width,
        inner=first("intermediate_size", "hidden_dim") or 4 * width,
        heads=heads,
        vocabulary=vocabulary,
        positions=0 if kind in _GATED else first("max_position_embeddings") or 0,
        outputs=outputs,
        gated=kind in _GATED,
        queries=width_of_head * heads,
        keys=width_of_head * (first("num_key_value_heads") or heads),
        tied=bool(getattr(config, "tie_word_embeddings", True)),
        dropout=first("hidden_dropout_prob", "mlp_dropout", "dropout") or 0.0,
        attention_dropout=first("attention_probs_dropout_prob", "attention_dropout") or 0.0,
    )
