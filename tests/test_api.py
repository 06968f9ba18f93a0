"""`pippin.load` and its predictor from Python: what it takes, what it refuses, and in whose words."""

from __future__ import annotations

import itertools
import json
import shutil
import typing
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import pippin
from pippin.commands.predictor import Predictor


def save_classifier(tiny_model: Path, folder: Path, outputs: int) -> Path:
    """A plain transformers classifier with a random head."""
    import torch
    from transformers import BertForSequenceClassification

    shutil.copytree(tiny_model, folder)
    torch.manual_seed(1)
    BertForSequenceClassification.from_pretrained(tiny_model, num_labels=outputs).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def classifier(tiny_model, tmp_path_factory) -> Predictor:
    return pippin.load(save_classifier(tiny_model, tmp_path_factory.mktemp("plain") / "model", 3))


def trained_on(classifier: Predictor, *columns: str) -> Predictor:
    run: typing.Any = SimpleNamespace(data=SimpleNamespace(text_columns=columns))
    return Predictor(classifier.inference, classifier.tokenizer, classifier.task, classifier.max_length, run)


TEXTS = ["a cow", "green cheese near", "the saw"]


def test_arrays_and_series_of_strings(classifier):
    pandas = pytest.importorskip("pandas")
    expected = classifier.predict(TEXTS)
    assert classifier.predict(np.array(TEXTS)) == expected
    assert classifier.predict(np.array(TEXTS, dtype=object)) == expected
    assert classifier.predict(pandas.Series(TEXTS, index=[7, 8, 9])) == expected
    assert classifier.predict(tuple(TEXTS)) == expected
    assert classifier.predict(np.array([])) == []


def test_pairs_as_arrays(classifier):
    assert classifier.predict(np.array(TEXTS), np.array(TEXTS)) == classifier.predict(TEXTS, TEXTS)


@pytest.mark.parametrize(
    ("texts", "pairs", "message"),
    [
        (["a", None], None, r"texts\[1\] is None"),
        (["a", "b", 5], None, r"texts\[2\] is 5"),
        (["a", float("nan")], None, r"texts\[1\] is nan"),
        (["a", ""], None, r"texts\[1\] is empty"),
        ([" \n", "a"], None, r"texts\[0\] is empty"),
        (["a", "b\ud800"], None, r"texts\[1\] holds half of a character"),
        (["a", "b"], ["c", None], r"pairs\[1\] is None"),
        (["a", "b"], ["c"], "2 texts but 1 pairs"),
        ([], ["c"], "0 texts but 1 pairs"),
        ("a", None, "list of texts"),
        (["a"], "b", r"pairs=\[text\]"),
    ],
)
def test_wrong_texts_are_named(classifier, texts, pairs, message):
    with pytest.raises(pippin.PippinError, match=message):
        classifier.predict(texts, pairs)


def test_a_stream_is_answered_as_a_list(classifier, monkeypatch):
    texts = [f"{words} {number}" for number in range(20) for words in TEXTS]
    whole, pairs = classifier.predict(texts), classifier.predict(texts, texts[::-1])
    monkeypatch.setattr("pippin.data.chunks.MOST_ROWS", 7)
    for found, wanted in [
        (classifier.stream(iter(texts)), whole),
        (classifier.predict(texts), whole),
        (classifier.stream(iter(texts), iter(texts[::-1])), pairs),
    ]:
        answers = list(found)
        assert [answer.label for answer in answers] == [answer.label for answer in wanted]
        assert [answer.score for answer in answers] == pytest.approx([answer.score for answer in wanted], abs=1e-5)
    assert list(classifier.stream([])) == []


def test_a_stream_takes_what_it_needs(classifier, monkeypatch):
    """Texts without end: each answer comes when a few chunks are read."""
    monkeypatch.setattr("pippin.data.chunks.MOST_ROWS", 7)
    numbers = itertools.count()
    answers = classifier.stream(f"the saw {number}" for number in numbers)
    found = list(itertools.islice(answers, 30))
    answers.close()
    assert len(found) == 30
    assert next(numbers) <= 30 + 3 * 7


def test_the_tokenizer_serves_one_thread_at_a_time(classifier, monkeypatch):
    """A stream's thread may be at work while other texts are predicted."""
    monkeypatch.setattr("pippin.data.chunks.MOST_ROWS", 2)
    held = []

    class Watched:
        def __call__(self, *arguments, **settings):
            held.append(watched._tokenizer_is_free.locked())
            return classifier.tokenizer(*arguments, **settings)

        def __getattr__(self, name):
            return getattr(classifier.tokenizer, name)

    watched = Predictor(classifier.inference, Watched(), classifier.task, classifier.max_length, None)
    for _ in watched.stream(TEXTS * 2):
        watched.predict(TEXTS)
    assert len(held) == 3 + 6 * 2
    assert all(held)


@pytest.mark.parametrize(
    ("texts", "pairs", "message"),
    [
        ([*["a"] * 9, None], None, r"texts\[9\] is None"),
        (["a"] * 9, [*["a"] * 8, ""], r"pairs\[8\] is empty"),
        (["a"] * 9, ["b"] * 8, "the pairs end after 8"),
        (["a"] * 8, ["b"] * 9, "the texts end after 8"),
        ("a", None, "list of texts"),
    ],
)
def test_wrong_texts_of_a_stream_are_named(classifier, monkeypatch, texts, pairs, message):
    monkeypatch.setattr("pippin.data.chunks.MOST_ROWS", 4)
    with pytest.raises(pippin.PippinError, match=message):
        list(classifier.stream(texts, pairs))
    with pytest.raises(pippin.PippinError, match="1 text a row"):
        trained_on(classifier, "comment").stream(["a"], ["b"])


def test_as_many_texts_as_in_training(classifier):
    pair, single = trained_on(classifier, "q", "p"), trained_on(classifier, "comment")
    with pytest.raises(pippin.PippinError, match=r"2 texts a row \(q, p\), but 1 came"):
        pair.predict(["a"])
    with pytest.raises(pippin.PippinError, match=r"1 text a row \(comment\), but 2 came"):
        single.predict(["a"], ["b"])
    assert len(pair.predict(["a"], ["b"])) == len(single.predict(["a"])) == 1


def test_regression_gives_the_number_in_full(tiny_model, tmp_path):
    predictor = pippin.load(save_classifier(tiny_model, tmp_path / "numbers", 1))
    for answer in predictor.predict(TEXTS):
        assert answer.score is None
        assert isinstance(answer.value, float)
        assert answer.label == f"{answer.value:.4f}"
        assert answer.value != float(answer.label)


def test_regression_in_files(tiny_model, tmp_path, run_cli):
    folder = save_classifier(tiny_model, tmp_path / "numbers", 1)
    (answer,) = pippin.load(folder).predict(["a cow"])
    code, out, _ = run_cli("predict", folder, "--text", "a cow")
    assert (code, out.splitlines()[1]) == (0, f"a cow,{answer.label},")
    assert run_cli("predict", folder, "--text", "a cow", "--output", "out.jsonl")[0] == 0
    assert json.loads(Path("out.jsonl").read_text()) == {"text": "a cow", "label": answer.value, "score": None}


def test_classes_have_no_value(classifier):
    assert [answer.value for answer in classifier.predict(TEXTS)] == [None] * 3


def test_errors_about_the_device_name_the_argument(tiny_model, word_file, monkeypatch):
    from pippin.errors import PippinError

    for call in (lambda: pippin.load(tiny_model, device="gpu"), lambda: pippin.train(word_file, device="gpu")):
        with pytest.raises(PippinError, match="^device=gpu: there is no such device") as caught:
            call()
        assert "--" not in str(caught.value)

    def missing(*_: object) -> None:
        raise PippinError("--device mps: this is no Mac. Here there is: cpu.")

    monkeypatch.setattr("pippin.commands.predictor.choose_device", missing)
    with pytest.raises(PippinError, match="^device=mps: this is no Mac"):
        pippin.load(tiny_model, device="mps")


def test_load_is_typed():
    from pippin import api

    assert typing.get_type_hints(api.load, vars(api) | {"Predictor": Predictor})["return"] is Predictor
