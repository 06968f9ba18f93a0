"""The face of the package: names, signatures, help, and errors in Python's words."""

from __future__ import annotations

import inspect
import pydoc
import typing

import pytest
from small_chat import save_small_chat

import pippin
from pippin.commands.generator import Generator
from pippin.commands.predictor import Predictor


def test_errors_about_the_device_name_the_argument(tiny_model, word_file, monkeypatch):
    from pippin.errors import PippinError

    for call in (lambda: pippin.load(tiny_model, device="gpu"), lambda: pippin.train(word_file, device="gpu")):
        with pytest.raises(PippinError, match='^device="gpu": there is no such device') as caught:
            call()
        assert "--" not in str(caught.value)

    def missing(*_: object) -> None:
        raise PippinError("--device mps: this is no Mac. Here there is: cpu.")

    monkeypatch.setattr("pippin.commands.predictor.choose_device", missing)
    with pytest.raises(PippinError, match='^device="mps": this is no Mac'):
        pippin.load(tiny_model, device="mps")


def test_remarks_name_keywords(tiny_model):
    texts = [f"the cat {number}" for number in range(60)]
    report = pippin.train(texts=texts, labels=["a", *"bbbbb"] * 10, model_name_or_path=tiny_model, max_steps=1,
                          learning_rate=1e-8, output_dir="run", quiet=True)  # fmt: skip
    loaded = pippin.load("run").report
    assert loaded is not None
    for remarks in (report.remarks, loaded.remarks):
        assert "epochs" in " ".join(remarks)
        assert "--" not in " ".join(remarks)


def test_load_is_typed():
    from pippin import api

    kinds = {"Predictor": Predictor, "Generator": Generator}
    assert typing.get_type_hints(api.load, vars(api) | kinds)["return"] == Predictor | Generator
    for name in ("predict", "answer"):  # so that a checker of types knows no model without them
        assert all(hasattr(kind, name) for kind in kinds.values())


def test_load_tells_models_apart(trained, tmp_path):
    talker = save_small_chat(tmp_path / "chat")
    labels, answers = pippin.load(trained), pippin.load(talker)
    assert (type(labels), type(answers)) == (Predictor, Generator)
    assert repr(answers).startswith(f"Generator('{talker}', llama, ")
    with pytest.raises(pippin.PippinError, match="is a language model: it gives no labels. Use answer"):
        answers.predict("the cat")
    with pytest.raises(pippin.PippinError, match="labels texts, and is no language model. Use predict"):
        labels.answer("the cat")
    for settings in ({"int8": True}, {"aggregation_strategy": "first"}):
        with pytest.raises(pippin.PippinError, match=f"{next(iter(settings))} is for models that label texts"):
            pippin.load(talker, **settings)


def test_all_names_are_listed():
    assert dir(pippin) == sorted(pippin.__all__)
    assert {"train", "load", "Report", "Predictor", "Prediction", "PippinError", "Trainer"} <= set(dir(pippin))
    for name in ("train", "load", "Report", "Predictor", "Generator", "Prediction"):
        assert getattr(pippin, name).__doc__
    with pytest.raises(AttributeError, match="'pippin' has no attribute 'trian'"):
        _ = pippin.trian


def test_the_signature_names_every_setting():
    from pippin.recipe.fields import recipe_fields

    parameters = inspect.signature(pippin.train).parameters
    assert list(parameters)[:6] == ["data", "validation", "test", "texts", "labels", "quiet"]
    assert recipe_fields().keys() <= parameters.keys()
    assert parameters["seed"].default == 42
    assert parameters["seed"].annotation is int
    assert parameters["num_train_epochs"].annotation == float | None
    shown = pydoc.render_doc(pippin.train, renderer=pydoc.plaintext)
    assert "max_seq_length\n" in shown
    assert "Longest input in tokens" in shown
    assert "--do_train" not in shown


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lerning_rate": 1e-3}, "lerning_rate: there is no such setting. Did you mean learning_rate?"),
        ({"seed": "x"}, "seed: 'x' is not a whole number"),
        ({"fine_labels": True}, "fine_labels belongs to task_name trec."),
        ({"validation": "a.csv"}, "validation needs training rows beside it"),
        ({"data": "words.csv", "validation": "a.csv", "validation_file": "b.csv"}, "exclude each other: keep one"),
        ({"data": "one\ntwo"}, "a text of 7 characters and no path"),
        ({"data": "x" * 300 + ".csv"}, "File name too long"),
        ({"data": "missing.csv"}, "missing.csv: there is no such file"),
    ],
)
def test_mistakes_in_pythons_words(settings, message):
    with pytest.raises(pippin.PippinError) as caught:
        pippin.train(**settings, quiet=True)
    assert message in str(caught.value)
    assert "--" not in str(caught.value)
