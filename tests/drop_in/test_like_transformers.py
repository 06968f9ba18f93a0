"""What scripts and libraries ask of Pippin's classes, answered as transformers' own answer."""

from __future__ import annotations

import pickle

import pytest
import transformers
from small_trainer import Rows, small_model
from small_trainer import arguments as usual_arguments

pytest.importorskip("accelerate")

from pippin.drop_in import notices  # noqa: E402
from pippin.drop_in.arguments import TrainingArguments  # noqa: E402
from pippin.drop_in.errors import Refusal  # noqa: E402
from pippin.drop_in.labels import with_numbers  # noqa: E402
from pippin.drop_in.rows import choose_rows  # noqa: E402
from pippin.drop_in.trainer import Seq2SeqTrainer, Trainer  # noqa: E402
from pippin.errors import PippinError  # noqa: E402
from pippin.machine.drivers import get_backend  # noqa: E402


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch):
    monkeypatch.setattr(notices, "_said", set())


def arguments(folder, **settings):
    return usual_arguments(folder, **{"eval_strategy": "no", **settings})


def test_one_trainer_is_a_kind_of_the_other():
    assert issubclass(Seq2SeqTrainer, Trainer)
    assert issubclass(Seq2SeqTrainer, transformers.Seq2SeqTrainer)
    assert issubclass(Trainer, transformers.Trainer)


def test_the_list_of_callbacks_is_transformers_own(tmp_path):
    lists = [
        [type(each) for each in kind(model=small_model(), args=arguments(tmp_path)).callback_handler.callbacks]
        for kind in (transformers.Trainer, Trainer)
    ]
    assert lists[0] == lists[1]


def test_a_handler_that_a_script_puts_in_its_place_is_heard_too(tmp_path):
    class Own(Trainer):
        def __init__(self, *arguments, **named):
            super().__init__(*arguments, **named)
            handler = self.callback_handler
            self.callback_handler = transformers.trainer_callback.CallbackHandler(
                handler.callbacks, self.model, None, None, None
            )

    class Dies(transformers.TrainerCallback):
        def on_step_begin(self, args, state, control, **_):
            if state.global_step == 2:
                raise RuntimeError

    trainer = Own(model=small_model(), args=arguments(tmp_path), train_dataset=Rows(43), callbacks=[Dies()])
    with pytest.raises(RuntimeError):
        trainer.train()
    assert (tmp_path / "checkpoint-2" / "manifest.json").exists()


def test_a_tokenizer_of_the_scripts_own_stays(tmp_path):
    class Own(Trainer):
        def __init__(self, mine, **named):
            self.tokenizer = mine
            super().__init__(**named)

    trainer = Own("mine", model=small_model(), args=arguments(tmp_path))
    assert trainer.tokenizer == "mine"
    assert trainer.processing_class is None
    usual = Trainer(model=small_model(), args=arguments(tmp_path))
    assert usual.tokenizer is None
    usual.processing_class = "theirs"
    assert usual.tokenizer == "theirs"
    usual.tokenizer = "mine"
    assert (usual.tokenizer, usual.processing_class) == ("mine", "theirs")


def test_a_trainer_can_be_sent_to_another_process(tmp_path, monkeypatch):
    from accelerate.state import GradientState

    monkeypatch.setattr(GradientState, "_shared_state", {})  # with the data loaders of other tests in it
    trainer = Trainer(model=small_model(), args=arguments(tmp_path, max_steps=1), train_dataset=Rows(8))
    again = pickle.loads(pickle.dumps(trainer))
    again.train()
    assert again.state.global_step == 1


def test_refusals_are_what_transformers_raises(tmp_path):
    for given in ({"save_safetensors": False}, {"evaluation_strategy": "epoch", "eval_strategy": "steps"}):
        with pytest.raises(ValueError) as error:  # noqa: PT011
            TrainingArguments("out", **given)
        assert isinstance(error.value, PippinError)
    half = tmp_path / "checkpoint-1"
    half.mkdir()
    (half / "model.safetensors").write_text("half")
    trainer = Trainer(model=small_model(), args=arguments(tmp_path), train_dataset=Rows(8))
    with pytest.raises(ValueError, match="all of its checkpoints are damaged"):
        trainer.train(resume_from_checkpoint=True)
    assert issubclass(Refusal, ValueError)


def test_text_labels_that_no_model_knows_are_a_wrong_value():
    datasets = pytest.importorskip("datasets")
    rows = datasets.Dataset.from_dict({"label": ["no such"]})
    with pytest.raises(ValueError, match="the model has no label 'no such'"):
        with_numbers(rows, small_model().config)


def test_a_missing_package_is_an_import_error(monkeypatch):
    monkeypatch.setattr("pippin.drop_in.arguments.is_accelerate_available", lambda: False)
    with pytest.raises(ImportError, match="accelerate"):
        TrainingArguments("out")


class OwnClassifier(transformers.BertForSequenceClassification):
    pass


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (transformers.BertForQuestionAnswering, "only classifiers, taggers and decoders can be packed"),
        (OwnClassifier, "OwnClassifier is not one of transformers' own"),
    ],
)
def test_the_reason_for_padded_rows_is_true(tmp_path, kind, reason):
    model = kind(small_model().config)
    assert reason in choose_rows(model, TrainingArguments(str(tmp_path), use_cpu=True), get_backend("cpu")).reason
