"""`pippin.load(...)` and its predictor from Python: what it takes, what it gives, what it refuses."""

from __future__ import annotations

import itertools
import json
import random
import re
import shutil
import typing
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import pippin
from helpers import make_rows, with_traits
from pippin.commands.predictor import Predictor
from pippin.errors import PippinError
from pippin.models.labels import Labels


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


def test_many_long_classes_are_counted_rather_than_named(classifier):
    names = tuple(f"a_customer_asks_<about>_matter_{number}" for number in range(77))
    task = classifier.task.with_labels(Labels(names))
    model = Predictor(classifier.inference, classifier.tokenizer, task, classifier.max_length, None, "runs/x")
    assert repr(model) == f"Predictor('runs/x', 77 classes, on {classifier.inference.backend.kind})"
    assert "<td>77 classes</td>" in model._repr_html_()
    assert "a_customer_asks_&lt;about&gt;_matter_76" in model._repr_html_()


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
        (["a"], "b", "pairs is one text"),
        ("", None, "the text is empty"),
        (5, None, "texts is 5: give a text, or a list of texts"),
        (None, None, "texts is None"),
        (b"a", None, "texts is b'a'"),
        ({"text": ["a"]}, None, r"texts is a table; give its column of texts"),
        (["a", ("b", "c")], None, r"texts\[1\] is \('b', 'c'\): give one text for each row, or as many in each"),
        ([("a", "b", "c"), "d"], None, r"texts\[1\] is 'd'"),
        ([("a", "b"), ("c", None)], None, r"texts\[1\] \(a pair\) is None"),
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
        (["a"] * 9, iter(["b"] * 8), "the pairs end after 8"),
        (iter(["a"] * 8), ["b"] * 9, "the texts end after 8"),
        (["a"] * 9, ["b"] * 8, "9 texts but 8 pairs"),
        ("a", None, "stream takes many texts"),
    ],
)
def test_wrong_texts_of_a_stream_are_named(classifier, monkeypatch, texts, pairs, message):
    monkeypatch.setattr("pippin.data.chunks.MOST_ROWS", 4)
    with pytest.raises(pippin.PippinError, match=message):
        list(classifier.stream(texts, pairs))
    with pytest.raises(pippin.PippinError, match="1 text a row"):
        trained_on(classifier, "comment").stream(["a"], ["b"])


def test_a_trained_run(trained):
    model = pippin.load(trained)
    answers = model.predict(["a cow", "green cheese near"])
    assert [answer.label for answer in answers] == ["animal", "food"]
    assert model.classes == ("animal", "food", "tool")
    assert model.report.folder == str(trained)
    with pytest.raises(PippinError, match="trained on 1 text a row"):
        model.predict(["a cow"], ["a dog"])


def test_as_many_texts_as_in_training(classifier):
    pair, single = trained_on(classifier, "q", "p"), trained_on(classifier, "comment")
    with pytest.raises(pippin.PippinError, match=r"2 texts a row \(q, p\), but 1 came"):
        pair.predict(["a"])
    with pytest.raises(pippin.PippinError, match=r"1 text a row \(comment\), but 2 came"):
        single.predict(["a"], ["b"])
    assert len(pair.predict(["a"], ["b"])) == len(single.predict(["a"])) == 1


def test_a_number_stands_under_value(tiny_model, tmp_path, run_cli):
    folder = save_classifier(tiny_model, tmp_path / "numbers", 1)
    model = pippin.load(folder)
    answer = model.predict("a cow")
    assert (answer.label, answer.score) == (None, None)
    assert isinstance(answer.value, float)
    assert str(answer) == f"{answer.value:.4f}"
    assert model.classes == ()
    assert "numbers" in repr(model)
    for call in (lambda: model.predict_proba(["a"]), lambda: model.predict(["a"], top_k=2)):
        with pytest.raises(PippinError, match="predicts numbers, not classes"):
            call()
    code, out, _ = run_cli("predict", folder, "--text", "a cow", "--text", "")
    assert (code, out) == (0, f"text,value\na cow,{answer.value:.7g}\n,\n")
    assert run_cli("predict", folder, "--text", "a cow", "--output", "out.jsonl")[0] == 0
    assert json.loads(Path("out.jsonl").read_text()) == {"text": "a cow", "value": answer.value}
    code, out, err = run_cli("predict", folder, "--text", "a cow", "--all_scores")
    assert (code, out) == (2, "")
    assert "predicts numbers, not classes" in err


def test_scores_of_all_classes(classifier, monkeypatch):
    monkeypatch.setattr("pippin.data.chunks.MOST_ROWS", 2)
    answers, table = classifier.predict(TEXTS), classifier.predict_proba(np.array(TEXTS))
    assert table.shape == (3, 3)
    assert table.sum(axis=1) == pytest.approx(1)
    assert [classifier.classes[place] for place in table.argmax(axis=1)] == [answer.label for answer in answers]
    assert table.max(axis=1).tolist() == [answer.score for answer in answers]
    top = classifier.predict(TEXTS, top_k=2)
    assert [[each.label for each in row] for row in top] == [
        [classifier.classes[place] for place in np.argsort(-line)[:2]] for line in table
    ]
    assert [row[0] for row in top] == answers
    assert [len(row) for row in classifier.predict(TEXTS, top_k=9)] == [3, 3, 3]
    assert classifier.predict_proba([]).shape == (0, 3)
    assert classifier.predict([], top_k=2) == []
    for wrong in (0, True, 1.5):
        with pytest.raises(PippinError, match="must be a whole number"):
            classifier.predict(TEXTS, top_k=wrong)


def test_one_text_gets_one_answer(classifier):
    (expected,) = classifier.predict(["a cow"])
    assert classifier.predict("a cow") == expected
    assert classifier.predict("a cow", top_k=1) == [expected]
    assert classifier.predict_proba("a cow").shape == (3,)
    pair = trained_on(classifier, "q", "p")
    (expected,) = pair.predict(["a cow"], ["the saw"])
    assert pair.predict(("a cow", "the saw")) == pair.predict("a cow", "the saw") == expected
    assert classifier.predict(("a cow", "the saw")) == classifier.predict(["a cow", "the saw"])


def test_pairs_as_tuples(classifier):
    expected = classifier.predict(TEXTS, TEXTS[::-1])
    both = list(zip(TEXTS, TEXTS[::-1], strict=True))
    assert classifier.predict(both) == classifier.predict([list(pair) for pair in both]) == expected
    assert list(classifier.stream(iter(both))) == expected
    assert classifier.predict(np.array(both)) == expected
    with pytest.raises(PippinError, match="1 text a row"):
        trained_on(classifier, "comment").predict(both)


def test_what_a_person_sees(classifier):
    answers = classifier.predict(TEXTS)
    assert re.fullmatch(r"Prediction\(label='LABEL_\d', score=0\.\d{4}\)", repr(answers[0]))
    assert "3 classes: LABEL_0, LABEL_1, LABEL_2, on " in repr(classifier)
    assert len(repr(classifier)) < 200
    shown = classifier._repr_html_()
    assert "<tr><th>predicts</th><td>3 classes: LABEL_0, LABEL_1, LABEL_2</td></tr>" in shown
    assert "<summary>Classes</summary>LABEL_0, LABEL_1, LABEL_2<" in shown
    assert answers._repr_html_().count("<tr>") == 4
    assert "25 in all" in classifier.predict(["a"] * 25)._repr_html_()


def test_tables_are_refused(classifier):
    pandas = pytest.importorskip("pandas")
    with pytest.raises(PippinError, match=r"texts is a table; give its column of texts, such as df\['text'\]"):
        classifier.predict(pandas.DataFrame({"text": TEXTS}))


def test_classes_have_no_value(classifier):
    assert [answer.value for answer in classifier.predict(TEXTS)] == [None] * 3


def test_any_calls_show_few_shapes_where_the_device_needs_them(trained, monkeypatch):
    """As in a server: other texts, and another number of them, in every call."""
    import pippin
    from pippin.data.batches import evaluation_shapes, spread_lengths
    from pippin.machine.drivers.cpu import CpuBackend

    shapes: set[tuple[int, ...]] = set()

    def to_device(self, tensor):
        shapes.add(tuple(tensor.shape))
        return tensor

    monkeypatch.setattr(CpuBackend, "to_device", to_device)
    free = pippin.load(trained, device="cpu")
    with_traits(monkeypatch, CpuBackend, shape_limit=8, packed_attention=None)
    bounded = pippin.load(trained, device="cpu")
    draw = random.Random(0)
    words = [word for row in make_rows(60) for word in row["text"].split()]
    calls = [
        [" ".join(draw.choices(words, k=draw.randint(1, longest))) for _ in range(draw.randint(1, 30))]
        for longest in range(5, 95)
    ]

    expected = [free.predict(texts) for texts in calls]
    unbounded = len(shapes)
    shapes.clear()
    for texts, answers in zip(calls, expected, strict=True):
        found = bounded.predict(texts)
        assert [answer.label for answer in found] == [answer.label for answer in answers]
        assert [answer.score for answer in found] == pytest.approx([answer.score for answer in answers], abs=1e-5)
    possible = evaluation_shapes(spread_lengths(bounded.max_length, 8), 256, CpuBackend.traits.evaluation_tokens)
    assert shapes <= {(size, width) for width, sizes in possible.items() for size in sizes}
    assert sum(map(len, possible.values())) <= 24
    assert unbounded > 24, "else this test shows nothing"


@pytest.fixture
def spoilt(trained, tmp_path) -> Path:
    """The same model, to which `dog` is no number."""
    from safetensors.torch import load_file, save_file

    folder = tmp_path / "spoilt"
    shutil.copytree(trained, folder)
    words = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    weights = load_file(folder / "model.safetensors")
    weights["bert.embeddings.word_embeddings.weight"][words["dog"]] = 3e38  # too large to be added up
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    (folder / "run.json").unlink()  # it is somebody else's model
    return folder


def test_an_answer_that_is_no_number_is_an_error(run_cli, spoilt, write_rows):
    texts = ["the old cat", "", "the old dog", "my saw", "a dog"]
    file = write_rows("new.csv", [{"text": text} for text in texts])
    code, out, err = run_cli("predict", spoilt, "--file", file, "--output", "answers.csv")
    assert code == 2, out
    assert f"the model's answer to rows 3, 5 of {file} is not finite (NaN or infinity)" in err
    assert "broken weights" in err
    assert not Path("answers.csv").exists()
    code, out, err = run_cli("predict", spoilt, "--text", "the dog")
    assert (code, out) == (2, "")


def test_texts_whose_answer_is_no_number_are_named(spoilt):
    import pippin

    model = pippin.load(spoilt)
    assert model.predict(["my saw"])[0].label
    with pytest.raises(PippinError, match=r"answer to texts\[1\], texts\[3\] is not finite"):
        model.predict(["my saw", "the dog", "a cat", "dog"])
    with pytest.raises(PippinError, match=r"answer to texts\[9000\] is"):
        list(model.stream("dog" if place == 9000 else "my saw" for place in range(9001)))
