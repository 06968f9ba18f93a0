"""Under Pippin's Trainer a script gets the numbers that transformers' gives it, from rows without their padding."""

from __future__ import annotations

import copy

import pytest
import torch
from small_trainer import Rows, Tagged, accuracy, arguments, figures, small_model, small_tagger

transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")

from pippin.drop_in import notices  # noqa: E402
from pippin.drop_in.packed_forward import PackedForward  # noqa: E402
from pippin.drop_in.rows import AS_GIVEN  # noqa: E402
from pippin.drop_in.trainer import Trainer  # noqa: E402

ENCODERS = ("bert", "roberta", "distilbert", "electra", "modernbert")
DECODERS = ("gpt2", "llama", "mistral", "gemma2")


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch):
    monkeypatch.setattr(notices, "_said", set())


@pytest.fixture
def tokens_seen(monkeypatch):
    """How many tokens the packed calls put through a model."""
    seen = []
    packed = PackedForward._packed

    def count(self, *arguments):
        found = packed(self, *arguments)
        seen.append(found["input_ids"].numel())
        return found

    monkeypatch.setattr(PackedForward, "_packed", count)
    return seen


def trained(kind, folder, model=None, rows=None, trainer=None, **settings):
    made = (trainer or kind)(
        model=model if model is not None else small_model(),
        args=arguments(folder, **settings),
        train_dataset=rows or Rows(43),
        eval_dataset=(type(rows) if rows else Rows)(21, seed=1),
        compute_metrics=accuracy,
    )
    made.train()
    return made


def both(folder, make_model=small_model, theirs=transformers.Trainer, ours=Trainer, **settings):
    return (
        trained(theirs, folder / "theirs", make_model(), **settings),
        trained(ours, folder / "ours", make_model(), **settings),
    )


def assert_same(theirs, ours, names=("loss", "grad_norm", "learning_rate", "eval_loss", "eval_accuracy"), within=1e-5):
    for name, wanted, found in zip(names, figures(theirs, *names), figures(ours, *names), strict=True):
        assert len(wanted) > 0, name
        assert found == pytest.approx(wanted, abs=within, rel=within), name


@pytest.mark.parametrize("kind", [*ENCODERS, *DECODERS])
def test_losses_and_metrics_are_the_same(tmp_path, kind, tokens_seen):
    theirs, ours = both(tmp_path, lambda: small_model(kind))
    assert_same(theirs, ours)
    assert ours.rows_plan().value != AS_GIVEN
    if ours.args.device.type == "cpu":
        assert sum(tokens_seen[:6]) == sum(map(len, Rows(43).rows)), "no padding goes through the model"
    wanted, found = (trainer.predict(Rows(9, seed=2)) for trainer in (theirs, ours))
    assert found.predictions == pytest.approx(wanted.predictions, abs=1e-5)
    assert (found.label_ids == wanted.label_ids).all()
    assert found.metrics["test_loss"] == pytest.approx(wanted.metrics["test_loss"], abs=1e-5)


@pytest.mark.parametrize(
    "settings",
    [
        {"gradient_checkpointing": True},
        {"bf16": True, "use_cpu": True},
        {"label_smoothing_factor": 0.1},
        {"train_sampling_strategy": "group_by_length"},
        {"lr_scheduler_type": "cosine", "warmup_steps": 3, "weight_decay": 0.1, "optim": "adafactor"},
        {"max_steps": 4, "eval_strategy": "steps", "eval_steps": 2},
    ],
    ids=lambda settings: "-".join(settings),
)
def test_settings_mean_the_same(tmp_path, settings, capsys):
    within = 3e-2 if "bf16" in settings else 1e-5
    theirs, ours = both(tmp_path, **settings)
    assert_same(theirs, ours, within=within)
    assert "some batches stay padded" not in capsys.readouterr().err


@pytest.mark.parametrize("kind", [*ENCODERS, "qwen3"])
def test_taggers_get_the_same_from_rows_without_padding(tmp_path, kind, tokens_seen):
    theirs, ours = both(tmp_path, lambda: small_tagger(kind), rows=Tagged(43))
    assert_same(theirs, ours)
    assert ours.rows_plan().value != AS_GIVEN
    if ours.args.device.type == "cpu":
        assert sum(tokens_seen[:6]) == sum(map(len, Rows(43).rows)), "no padding goes through the model"
    wanted, found = (trainer.predict(Tagged(9, seed=2)) for trainer in (theirs, ours))
    assert found.predictions.shape == wanted.predictions.shape
    counted = wanted.label_ids != -100
    assert found.predictions[counted] == pytest.approx(wanted.predictions[counted], abs=1e-5)


def test_label_smoothing_means_the_same_for_taggers(tmp_path):
    assert_same(*both(tmp_path, small_tagger, rows=Tagged(20), label_smoothing_factor=0.1), ("loss", "eval_loss"))


def test_accumulated_micro_batches_of_a_tagger_are_the_whole_batch(tmp_path):
    parts = trained(Trainer, tmp_path / "parts", small_tagger(), Tagged(48), gradient_accumulation_steps=2)
    whole = trained(
        transformers.Trainer, tmp_path / "whole", small_tagger(), Tagged(48), per_device_train_batch_size=16
    )
    assert_same(whole, parts, ("loss", "grad_norm", "eval_loss"))


class LabelledPadding(Tagged):
    def __getitem__(self, index):
        row = super().__getitem__(index)
        return {**row, "labels": row["labels"].clamp(min=0)}


class OwnLoss:
    def compute_loss(self, model, inputs, return_outputs=False, **_):
        logits = model(**{name: value for name, value in inputs.items() if name != "labels"}).logits
        return logits.logsumexp(-1).mean()  # of the padding, too


def test_taggers_whose_padding_counts_keep_it(tmp_path, capsys):
    theirs, ours = both(tmp_path / "labels", small_tagger, rows=LabelledPadding(20), eval_strategy="no")
    assert_same(theirs, ours, ("loss", "grad_norm"))
    assert "padding has labels that count" in capsys.readouterr().err
    notices._said.clear()
    kinds = [type(kind.__name__, (OwnLoss, kind), {}) for kind in (transformers.Trainer, Trainer)]
    theirs, ours = both(tmp_path / "loss", small_tagger, *kinds, rows=Tagged(20), eval_strategy="no")
    assert_same(theirs, ours, ("loss", "grad_norm"))
    assert "the script computes its loss itself" in capsys.readouterr().err


def test_several_labels_per_row_and_numbers_as_labels(tmp_path):
    class Several(Rows):
        def __getitem__(self, index):
            row = super().__getitem__(index)
            return {**row, "labels": torch.nn.functional.one_hot(torch.tensor(row["labels"]), 3).float()}

    class Numbers(Rows):
        def __getitem__(self, index):
            row = super().__getitem__(index)
            return {**row, "labels": float(row["labels"])}

    for rows, model in ((Several, {}), (Numbers, {"num_labels": 1})):
        theirs, ours = (
            kind(
                model=small_model(**model),
                args=arguments(tmp_path / kind.__module__, eval_strategy="no"),
                train_dataset=rows(20),
                eval_dataset=rows(9),
            )
            for kind in (transformers.Trainer, Trainer)
        )
        wanted, found = theirs.train(), ours.train()
        assert found.training_loss == pytest.approx(wanted.training_loss, abs=1e-5)
        assert ours.evaluate()["eval_loss"] == pytest.approx(theirs.evaluate()["eval_loss"], abs=1e-5)


def test_the_model_is_the_users_own_between_steps(tmp_path):
    model = small_model()
    forward, names = model.forward, set(model.__dict__)
    ours = trained(Trainer, tmp_path, model, max_steps=2)
    assert model.forward == forward
    assert set(model.__dict__) <= names | {"_is_accelerate_prepared"}
    assert model.config._attn_implementation == "sdpa"
    assert not any("pippin" in name for module in model.modules() for name in module.__dict__)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    row = Rows(1)[0]
    given = {name: row[name][None].to(ours.args.device) for name in ("input_ids", "attention_mask")}
    assert model.eval()(**given, output_hidden_states=True).hidden_states[-1].shape == (1, 24, 32)


def test_dropout_still_drops(tmp_path):
    ours = trained(Trainer, tmp_path, small_model(dropout=0.5), max_steps=1, eval_strategy="no")
    plain = trained(Trainer, tmp_path, small_model(), max_steps=1, eval_strategy="no")
    assert figures(ours, "loss") != figures(plain, "loss")


def test_accumulated_micro_batches_are_the_whole_batch(tmp_path):
    whole = trained(Trainer, tmp_path / "1", per_device_train_batch_size=8, eval_strategy="no", optim="sgd")
    parts = trained(
        Trainer,
        tmp_path / "4",
        per_device_train_batch_size=2,
        gradient_accumulation_steps=4,
        eval_strategy="no",
        optim="sgd",
    )
    assert_same(whole, parts, ("loss", "grad_norm"))
    theirs = trained(
        transformers.Trainer,
        tmp_path / "theirs",
        per_device_train_batch_size=2,
        gradient_accumulation_steps=4,
        eval_strategy="no",
        optim="sgd",
    )
    assert figures(theirs, "loss")[0][0] > 3 * figures(parts, "loss")[0][0], "transformers has mended its scale"


class Weighted:
    """As in scripts for classes of unequal size."""

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        weights = torch.tensor([1.0, 2.0, 3.0], device=labels.device)
        loss = torch.nn.functional.cross_entropy(outputs.logits, labels, weight=weights)
        return (loss, outputs) if return_outputs else loss


def test_a_scripts_own_loss_is_honoured_and_fast(tmp_path, tokens_seen):
    ours, theirs = (type("Own", (Weighted, kind), {}) for kind in (Trainer, transformers.Trainer))
    wanted, found = both(tmp_path, theirs=theirs, ours=ours)
    assert_same(wanted, found)
    assert tokens_seen or found.args.device.type != "cpu"


def test_a_scripts_own_mean_is_averaged_over_micro_batches(tmp_path):
    own = type("Own", (Weighted, Trainer), {})
    parts = trained(own, tmp_path / "4", per_device_train_batch_size=2, gradient_accumulation_steps=4, max_steps=3)
    whole = trained(own, tmp_path / "1", per_device_train_batch_size=8, max_steps=3)
    # Weighted means of micro-batches are not the whole batch's, but of its size.
    assert figures(parts, "loss")[0] == pytest.approx(figures(whole, "loss")[0], rel=0.3)


def test_hooks_on_the_model_see_padded_rows(tmp_path, capsys):
    model, shapes = small_model(), set()
    model.bert.encoder.register_forward_hook(lambda module, given, found: shapes.add(found[0].shape[1:]))
    theirs, ours = both(tmp_path, lambda: model, max_steps=2)
    assert shapes == {torch.Size([24, 32])}
    assert "the model has hooks" in capsys.readouterr().err


def test_rows_that_are_padded_in_front_stay_as_they_are(tmp_path):
    class InFront(Rows):
        def __getitem__(self, index):
            row = super().__getitem__(index)
            return {name: value.flip(0) if torch.is_tensor(value) else value for name, value in row.items()}

    theirs, ours = (
        trained(kind, tmp_path / kind.__module__, rows=InFront(20), eval_strategy="no")
        for kind in (transformers.Trainer, Trainer)
    )
    assert_same(theirs, ours, ("loss", "grad_norm"))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"model": lambda: small_model(output_hidden_states=True)}, "more than logits"),
        ({"model": lambda: small_model("bloom", n_head=2, n_layer=2)}, "cannot pack bloom"),
        ({"settings": {"neftune_noise_alpha": 5.0}}, "neftune_noise_alpha"),
        ({"settings": {"torch_compile": True}}, "torch_compile"),
    ],
    ids=["hidden states", "bloom", "neftune", "compiled"],
)
def test_what_rules_packing_out_is_said(tmp_path, change, reason):
    trainer = Trainer(
        model=change.get("model", small_model)(),
        args=arguments(tmp_path, eval_strategy="no", **change.get("settings", {})),
    )
    plan = trainer.rows_plan()
    assert plan.value == AS_GIVEN
    assert reason in plan.reason


def test_adapters_over_a_model_are_fast_too(tmp_path, tokens_seen):
    peft = pytest.importorskip("peft")

    def adapted():
        config = peft.LoraConfig(task_type="SEQ_CLS", r=4, lora_dropout=0.0, target_modules=["query", "value"])
        return peft.get_peft_model(small_model(), config)

    theirs, ours = both(tmp_path, adapted)
    assert_same(theirs, ours)
    assert tokens_seen or ours.args.device.type != "cpu"
    assert (tmp_path / "ours" / "checkpoint-12" / "adapter_model.safetensors").exists()


class Mean(torch.nn.Module):
    """A head that reads every token."""

    def __init__(self):
        super().__init__()
        self.out = torch.nn.Linear(32, 3)

    def forward(self, tokens, **_):
        return self.out(tokens.mean(1))


def test_a_head_of_the_scripts_own_reads_every_token(tmp_path):
    def own_head():
        model = small_model("roberta")
        torch.manual_seed(3)
        model.classifier = Mean()
        return model

    theirs, ours = both(tmp_path, own_head)
    assert_same(theirs, ours)
    assert "replaced the model's classifier" in ours.rows_plan().reason


def test_a_copy_that_is_made_within_a_step_is_a_model_of_its_own(tmp_path):
    class Teaches(Trainer):
        copied = None

        def compute_loss(self, model, inputs, *arguments, **named):
            if self.copied is None:
                Teaches.copied = copy.deepcopy(model)
            return super().compute_loss(model, inputs, *arguments, **named)

    trained(Teaches, tmp_path, max_steps=1, eval_strategy="no")
    for parameter in Teaches.copied.parameters():
        parameter.data.zero_()
    ids = torch.ones(1, 4, dtype=torch.long, device=next(Teaches.copied.parameters()).device)
    assert not Teaches.copied(input_ids=ids).logits.any()


def test_positions_are_counted_as_the_model_was_built(tmp_path):
    def built_with_another_padding():
        model = small_model("roberta", pad_token_id=1)
        model.config.pad_token_id = 0  # as transformers does with a tokenizer's number
        return model

    theirs, ours = both(tmp_path, built_with_another_padding)
    assert_same(theirs, ours)
