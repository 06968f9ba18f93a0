"""One GGUF file with the whole model, as llama.cpp and its kin read it."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pippin.commands.export.comparison import reader_of
from pippin.commands.export.formats import Opened, named
from pippin.commands.export.gguf_settings import ARCHITECTURES, check_settings, rope_factors, settings_of
from pippin.commands.export.gguf_tokenizer import check_tokenizer, vocabulary_of
from pippin.commands.export.marks import EMPTY, KEY
from pippin.commands.export.source import TORCH_TYPES, Source, in_full
from pippin.errors import PippinError

merges, ending = True, ".gguf"
#: Settings that transformers does not read from a GGUF file.
_UNREAD = ("head_dim", "rope_parameters", "attention_bias", "mlp_bias")


def check(source: Source) -> None:
    if missing := [name for name in ("gguf", "accelerate") if find_spec(name) is None]:
        raise PippinError(f"--to gguf needs the package {missing[0]}: pip install 'pippin[gguf]'")
    check_settings(source.config)
    check_tokenizer(source.tokenizer, source.config.vocab_size)


def needed(source: Source) -> int:
    return source.bytes_of_all


def write(model: Any, source: Source, path: Path) -> None:
    from gguf import GGUFWriter

    writer = GGUFWriter(path, ARCHITECTURES[source.config.model_type])
    for key, value in {KEY: EMPTY, **_settings(source)}.items():
        _put(writer, key, value)
    for name, tensor in _tensors(model, source):
        array = _array(tensor)
        writer.add_tensor_info(name, array.shape, array.dtype, array.nbytes, raw_dtype=_kind(tensor))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for _, tensor in _tensors(model, source):
        writer.write_tensor_data(_array(tensor))
    writer.close()


def read_back(source: Source, path: Path) -> Opened:
    """By gguf's reader, then by transformers, which computes with it."""
    from gguf import GGUFReader
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    fields = GGUFReader(path).fields
    for key, value in _settings(source).items():
        if key not in fields or not _equal(fields[key].contents(), value):
            raise PippinError(f"{key}, as gguf reads it, is not what was written")
    where: dict[str, Any] = {"pretrained_model_name_or_path": path.parent, "gguf_file": path.name}
    with _quietly():
        config = AutoConfig.from_pretrained(**where)
        for name in _UNREAD:
            if hasattr(source.config, name):
                setattr(config, name, getattr(source.config, name))
        model = AutoModelForCausalLM.from_pretrained(**where, config=config, dtype=TORCH_TYPES[source.written])
        tokenizer = AutoTokenizer.from_pretrained(**where)
    return Opened(f"{named('gguf')} and {named('transformers')}", reader_of(in_full(model)), tokenizer)


@contextmanager
def _quietly() -> Iterator[None]:
    """Without transformers' remarks on how it reads such a file, and its bars, which know no switch."""
    from transformers.utils import logging

    level = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        with redirect_stderr(io.StringIO()):
            yield
    finally:
        logging.set_verbosity(level)


def _settings(source: Source) -> dict[str, Any]:
    """All that a GGUF file says beside its tensors."""
    from gguf import GGML_QUANT_VERSION, LlamaFileType

    types = {"fp32": LlamaFileType.ALL_F32, "fp16": LlamaFileType.MOSTLY_F16, "bf16": LlamaFileType.MOSTLY_BF16}
    return {
        "general.type": "model",
        "general.name": source.folder.resolve().name,
        "general.file_type": int(types[source.written]),
        "general.quantization_version": GGML_QUANT_VERSION,
        **settings_of(source.config),
        **vocabulary_of(source.tokenizer, source.config.vocab_size, source.stops),
    }


def _tensors(model: Any, source: Source) -> Iterator[tuple[str, torch.Tensor]]:
    """By their names in GGUF: matrices as they are stored, all else in full, as the programs that read it want it."""
    from gguf import MODEL_ARCH, MODEL_ARCH_NAMES, get_tensor_name_map

    config = source.config
    architecture = next(each for each in MODEL_ARCH if MODEL_ARCH_NAMES[each] == ARCHITECTURES[config.model_type])
    names = get_tensor_name_map(architecture, config.num_hidden_layers)
    if (factors := rope_factors(config)) is not None:
        yield "rope_freqs.weight", factors
    for own, weight in model.state_dict().items():
        if own == "lm_head.weight" and config.tie_word_embeddings:
            continue
        name = names.get_name(own, try_suffixes=(".weight", ".bias"))
        if name is None:
            raise PippinError(f"--to gguf: GGUF has no place for the model's {own}. Use --to merged.")
        if architecture == MODEL_ARCH.LLAMA and ".attn_q." in name:
            weight = _interleaved(weight, config.num_attention_heads)
        if architecture == MODEL_ARCH.LLAMA and ".attn_k." in name:
            weight = _interleaved(weight, config.num_key_value_heads)
        yield name, weight.float() if weight.dim() == 1 else weight.to(TORCH_TYPES[source.written])


def _interleaved(weight: torch.Tensor, heads: int) -> torch.Tensor:
    """Positions turn pairs of numbers: halves of a head in transformers, neighbours in llama.cpp's Llama."""
    parts = weight.reshape(heads, 2, len(weight) // heads // 2, *weight.shape[1:])
    return parts.swapaxes(1, 2).reshape(weight.shape)


def _kind(tensor: torch.Tensor) -> Any:
    from gguf import GGMLQuantizationType

    return GGMLQuantizationType.BF16 if tensor.dtype == torch.bfloat16 else None


def _array(tensor: torch.Tensor) -> np.ndarray:
    """Numpy knows no bfloat16: its bytes."""
    plain = tensor.detach().contiguous()
    return (plain.view(torch.uint8) if plain.dtype == torch.bfloat16 else plain).numpy()


def _put(writer: Any, key: str, value: Any) -> None:
    kinds = {bool: writer.add_bool, int: writer.add_uint32, float: writer.add_float32, str: writer.add_string}
    kinds.get(type(value), writer.add_array)(key, value)


def _equal(found: Any, value: Any) -> bool:
    if isinstance(value, float):
        return bool(np.float32(value) == np.float32(found))
    return bool(found == value)
