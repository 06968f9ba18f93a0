"""Prediction with a trained model by Hugging Face's own means, from texts to labels with their probabilities."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from rows import Rows, read

Logits = Callable[[Rows], np.ndarray]


def trainer_predict(folder: str, rows: Path, batch: int = 8, max_length: int = 128) -> dict[str, Any]:
    """`Trainer.predict` on rows padded to the full length, as run_glue.py does it."""
    from transformers import Trainer, TrainingArguments, default_data_collator

    tokenizer, model = _load(folder)
    arguments = TrainingArguments(
        tempfile.gettempdir(),
        per_device_eval_batch_size=batch,
        report_to=[],
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )
    trainer = Trainer(model, arguments, data_collator=default_data_collator)

    def logits(found: Rows) -> np.ndarray:
        encoded = tokenizer(found.texts, found.pairs, truncation=True, max_length=max_length, padding="max_length")
        rows = [{name: encoded[name][place] for name in encoded} for place in range(len(found))]
        return trainer.predict(rows).predictions

    return _timed(logits, rows, model.config.id2label)


def sorted_batches(folder: str, rows: Path, batch: int = 32, max_length: int = 128) -> dict[str, Any]:
    """The model over batches of like length, each padded to its longest row."""
    import torch

    tokenizer, model = _load(folder)

    def run(inputs: dict[str, np.ndarray]) -> np.ndarray:
        with torch.inference_mode():
            return model(**{name: torch.from_numpy(values) for name, values in inputs.items()}).logits.numpy()

    return _timed(_by_length(run, tokenizer, batch, max_length), rows, model.config.id2label)


def pipeline(folder: str, rows: Path, batch: int, max_length: int = 128) -> dict[str, Any]:
    """`transformers.pipeline` at one batch size, texts in the order in which they come."""
    from transformers import pipeline as make_pipeline

    tokenizer, model = _load(folder)
    classify = make_pipeline("text-classification", model=model, tokenizer=tokenizer)
    places = {label: place for place, label in model.config.id2label.items()}

    def logits(found: Rows) -> np.ndarray:
        pairs = found.pairs or [None] * len(found)
        texts = [
            text if pair is None else {"text": text, "text_pair": pair}
            for text, pair in zip(found.texts, pairs, strict=True)
        ]
        answers = classify(
            texts, batch_size=batch, top_k=None, function_to_apply="none", truncation=True, max_length=max_length
        )
        values = np.empty((len(texts), len(places)), dtype=np.float32)
        for row, answer in enumerate(answers):
            for one in answer:
                values[row, places[one["label"]]] = one["score"]
        return values

    return _timed(logits, rows, model.config.id2label)


def export_onnx(folder: str, out: Path, max_length: int = 128) -> dict[str, Any]:
    """Write model.onnx with fused operators, and int8.onnx with weights and activations in eight bits."""
    import torch
    from onnx import TensorProto
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.transformers.optimizer import optimize_model

    tokenizer, model = _load(folder, attn_implementation="eager")  # the form that the fusing knows
    model.config.return_dict = False
    sample = tokenizer(["one text", "and a longer one"], ["to", "two"], padding=True, return_tensors="pt")
    # The exporter takes inputs in the order of the model's signature, whatever the order in which they are given.
    names = [name for name in signature(model.forward).parameters if name in sample]
    axes = {name: {0: "rows", 1: "tokens"} for name in names}
    torch.onnx.export(
        model, (), str(out / "plain.onnx"), kwargs=dict(sample), input_names=names, output_names=["logits"],
        dynamic_axes=axes, dynamo=False,
    )  # fmt: skip
    heads, hidden = model.config.num_attention_heads, model.config.hidden_size
    optimised = optimize_model(str(out / "plain.onnx"), "bert", num_heads=heads, hidden_size=hidden)
    optimised.save_model_to_file(str(out / "model.onnx"))
    quantize_dynamic(
        str(out / "model.onnx"), str(out / "int8.onnx"), weight_type=QuantType.QInt8,
        extra_options={"DefaultTensorType": TensorProto.FLOAT},  # behind a fused operator it cannot infer types
    )  # fmt: skip
    return {"fused": optimised.get_fused_operator_statistics()}


def onnx(folder: str, rows: Path, file: Path, batch: int = 32, max_length: int = 128) -> dict[str, Any]:
    """ONNX Runtime over batches of like length."""
    import onnxruntime
    import torch

    tokenizer, model = _load(folder)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])

    def run(inputs: dict[str, np.ndarray]) -> np.ndarray:
        return session.run(["logits"], inputs)[0]

    return _timed(_by_length(run, tokenizer, batch, max_length), rows, model.config.id2label)


def _load(folder: str, **options: Any) -> tuple[Any, Any]:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    model = AutoModelForSequenceClassification.from_pretrained(folder, **options)
    return AutoTokenizer.from_pretrained(folder), model.eval()


def _by_length(
    run: Callable[[dict[str, np.ndarray]], np.ndarray], tokenizer: Any, batch: int, max_length: int
) -> Logits:
    """Tokenise all rows at once, run them from short to long, and put the logits back in order."""

    def logits(found: Rows) -> np.ndarray:
        encoded = tokenizer(found.texts, found.pairs, truncation=True, max_length=max_length)
        order = np.argsort([len(ids) for ids in encoded["input_ids"]], kind="stable")
        parts = [order[start : start + batch] for start in range(0, len(order), batch)]
        answers = []
        for part in parts:
            rows = {name: [encoded[name][place] for place in part] for name in encoded}
            answers.append(run(dict(tokenizer.pad(rows, return_tensors="np"))))
        together = np.concatenate(answers)
        together[order] = together.copy()
        return together

    return logits


def _timed(logits: Logits, file: Path, names: dict[int, str]) -> dict[str, Any]:
    """The speed over all rows after a first batch, with each row's label and its probability."""
    found = read(file)
    logits(found.at(list(range(min(32, len(found))))))
    start = time.perf_counter()
    values = logits(found)
    seconds = time.perf_counter() - start
    shares = np.exp(values - values.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    best = values.argmax(axis=1)
    return {
        "samples_per_second": len(found) / seconds,
        "labels": [names[int(place)] for place in best],
        "scores": [float(share) for share in shares[np.arange(len(best)), best]],
    }
