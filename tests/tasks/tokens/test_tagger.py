"""A tagger from file to file: trained, judged, used on words and on texts, as transformers would."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from tagged import KINDS, tagged_rows, write_conll, write_jsonl
from transformers import (
    AutoModelForTokenClassification,
    AutoTokenizer,
    DataCollatorForTokenClassification,
    Trainer,
    TrainingArguments,
    pipeline,
)

import pippin
from helpers import WORDS, events, read_csv
from pippin.errors import PippinError

TEXT = f"the old {WORDS[KINDS[0]][0]} is near a {WORDS[KINDS[1]][0]} and a {WORDS[KINDS[1]][1]} ."


@pytest.fixture(scope="module")
def run(tiny_model, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("tagger")
    lines = (json.dumps(row) + "\n" for row in tagged_rows(240))
    (folder / "rows.jsonl").write_text("".join(lines))
    pippin.train(folder / "rows.jsonl", model_name_or_path=tiny_model, output_dir=folder / "run", learning_rate=3e-3,
                 num_train_epochs=16, batch_size=16, quiet=True)  # fmt: skip
    return folder / "run"


def test_it_learns_and_says_what_it_found(run):
    record = json.loads((run / "run.json").read_text())
    results = json.loads((run / "all_results.json").read_text())
    assert results["eval_f1"] > 0.9
    assert {"eval_precision", "eval_recall", "eval_accuracy", "eval_loss"} <= results.keys()
    assert record["data"]["text_columns"] == ["tokens"]
    config = json.loads((run / "config.json").read_text())
    assert config["architectures"] == ["BertForTokenClassification"]
    assert sorted(config["label2id"]) == sorted(["O", *(f"{part}-{kind}" for part in "BI" for kind in KINDS)])
    page = (run / "report.html").read_text()
    assert "By kind of entity, on the validation rows" in page
    assert "pipeline_tag: token-classification" in (run / "README.md").read_text()


def test_spans_in_a_text_are_those_of_the_pipeline(run):
    texts = [TEXT, *(" ".join(row["tokens"]) for row in tagged_rows(20, seed=9)), "nothing here"]
    theirs = pipeline("token-classification", model=str(run), aggregation_strategy="simple", device="cpu")
    for text, answer in zip(texts, pippin.load(run).predict(texts), strict=True):
        wanted = [(each["entity_group"], each["start"], each["end"]) for each in theirs(text)]
        assert [(span.label, span.start, span.end) for span in answer.spans] == wanted
        assert [span.score for span in answer.spans] == pytest.approx(
            [each["score"] for each in theirs(text)], abs=1e-4
        )
        assert all(span.text == text[span.start : span.end] for span in answer.spans)


def test_words_stay_whole_where_asked(run):
    """A word that the tokenizer does not know is cut into letters, and each gets an answer of its own."""
    model = pippin.load(run, aggregation_strategy="first")
    texts = [f"the old {word} is near a cat" for word in ("zebra", "catdog", "breads", "horseman", "goats", "puma")]
    cut = lambda text, at: text[at - 1 : at + 1].isalnum() and 0 < at < len(text)  # noqa: E731
    for text, answer in zip(texts, model.predict(texts), strict=True):
        assert not any(cut(text, span.start) or cut(text, span.end) for span in answer.spans)
    simple = zip(texts, pippin.load(run).predict(texts), strict=True)
    assert any(cut(text, span.start) or cut(text, span.end) for text, answer in simple for span in answer.spans)
    with pytest.raises(PippinError, match="must be one of simple, first"):
        pippin.load(run, aggregation_strategy="max")


def test_a_conll_file_gets_a_column(run, run_cli):
    rows = tagged_rows(12, seed=5)
    file = write_conll("few.conll", rows)
    text = "-DOCSTART-\tO\n\n# one\n" + file.read_text()
    file.write_text(text)
    code, _, error = run_cli("predict", run, "--file", file, "--output", "out.conll")
    assert code == 0, error
    lines = Path("out.conll").read_text().split("\n")
    assert len(lines) == len(text.split("\n"))
    answers = pippin.load(run).predict([" ".join(row["tokens"]) for row in rows])
    for before, after in zip(text.split("\n"), lines, strict=True):
        if "\t" in before and not before.startswith("-DOC"):
            assert after.rpartition("\t")[0] == before
        else:
            assert after == before
    found = [line.split("\t")[2] for line in lines if line.count("\t") == 2]
    wanted = [tag for row in rows for tag in row["tags"]]
    assert sum(map(str.__eq__, found, wanted)) > 0.9 * len(wanted)
    assert len(answers) == len(rows)
    code, out, _ = run_cli("predict", run, "--file", file, "--quiet")
    assert out == Path("out.conll").read_text()


def test_words_and_texts_in_other_files(run, run_cli):
    rows = tagged_rows(3, seed=5)
    write_jsonl("few.jsonl", rows)
    assert run_cli("predict", run, "--file", "few.jsonl", "--output", "out.jsonl")[0] == 0
    found = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [len(each["predicted_tags"]) for each in found] == [len(row["tokens"]) for row in rows]
    Path("texts.csv").write_text(f'text\n"{TEXT}"\n')
    assert run_cli("predict", run, "--file", "texts.csv", "--output", "out.csv")[0] == 0
    (row,) = read_csv("out.csv")
    assert row["spans"].startswith(f"8-{8 + len(WORDS[KINDS[0]][0])} {KINDS[0]} {WORDS[KINDS[0]][0]}|")
    code, out, error = run_cli("predict", run, "--file", "texts.csv", "--output", "out.conll")
    assert code == 2
    assert "CoNLL adds a column to a CoNLL --file" in error
    code, _, error = run_cli("predict", run, "--text", "a cat", "--all_scores")
    assert code == 2
    assert "--all_scores" in error


def test_a_long_text_is_read_to_its_end(run):
    """In windows, each word with an answer of its own: the model reads 64 tokens at once."""
    one = TEXT + " "
    answer = pippin.load(run).predict(one * 20)
    found = pippin.load(run).predict(one).spans
    assert len(answer.spans) == pytest.approx(20 * len(found), rel=0.1)
    assert answer.spans[-1].end > len(one) * 19
    starts = [span.start for span in answer.spans]
    assert starts == sorted(set(starts))


def still(model: Path) -> str:
    """The same model without dropout."""
    shutil.copytree(model, "still", dirs_exist_ok=True)
    config = json.loads(Path("still/config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    Path("still/config.json").write_text(json.dumps(config))
    return "still"


@pytest.mark.parametrize("accumulation", [1, 2, 8])
def test_losses_are_those_of_run_ner(run_cli, tiny_model, accumulation):
    """As its Trainer has them: the first token of each word learns, whatever the step is cut into."""
    rows, model = tagged_rows(64), still(tiny_model)
    write_jsonl("train.jsonl", rows)
    write_jsonl("dev.jsonl", tagged_rows(16, seed=1))
    code, _, error = run_cli(
        "train", "--task_name", "ner", "--train_file", "train.jsonl", "--validation_file", "dev.jsonl",
        "--model", model, "--do_train", "--max_steps", 10, "--per_device_train_batch_size", 16 // accumulation,
        "--logging_steps", 1,
        "--gradient_accumulation_steps", accumulation, "--train_sampling_strategy", "sequential", "--lr", "1e-3",
        "--output_dir", "run", "--use_cpu",
    )  # fmt: skip
    assert code == 0, error
    found = [event["loss"] for event in events("run", "log")]
    names = sorted({tag for row in rows for tag in row["tags"]})
    tokenizer = AutoTokenizer.from_pretrained(model)

    def encoded(row):
        tokens = tokenizer(row["tokens"], is_split_into_words=True, truncation=True, max_length=64)
        words = tokens.word_ids()
        first = [word is not None and word != before for before, word in zip([None, *words], words, strict=False)]
        tokens["labels"] = [
            names.index(row["tags"][word]) if is_first else -100 for word, is_first in zip(words, first, strict=True)
        ]
        return tokens

    torch.manual_seed(42)
    transformer = AutoModelForTokenClassification.from_pretrained(model, num_labels=len(names))
    with torch.no_grad():  # the head that Pippin began with
        head = pippin_head("run", model, len(names))
        transformer.classifier.load_state_dict(head)
    arguments = TrainingArguments(
        "theirs", max_steps=10, per_device_train_batch_size=16, logging_steps=1, learning_rate=1e-3, use_cpu=True,
        train_sampling_strategy="sequential", report_to=[], save_strategy="no",
    )  # fmt: skip
    trainer = Trainer(
        transformer, arguments, DataCollatorForTokenClassification(tokenizer), train_dataset=[*map(encoded, rows)]
    )
    trainer.train()
    wanted = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    assert found == pytest.approx(wanted, abs=2e-5)  # the Trainer logs four digits more


def pippin_head(folder: str, model: str, tags: int) -> dict[str, torch.Tensor]:
    from pippin.engine.seeding import seed_everything
    from pippin.machine.drivers.cpu import CpuBackend

    seed_everything(42, CpuBackend())
    return AutoModelForTokenClassification.from_pretrained(model, num_labels=tags).classifier.state_dict()


def test_other_ways_to_write_tags_are_learnt_as_bio(run_cli, tiny_model):
    rows = tagged_rows(60)
    for row in rows:
        row["tags"] = [
            tag if tag == "O" else f"{'E' if tag[0] == 'I' else 'B' if following[:1] == 'I' else 'S'}{tag[1:]}"
            for tag, following in zip(row["tags"], [*row["tags"][1:], "O"], strict=True)
        ]
    write_conll("rows.conll", rows)
    code, out, error = run_cli("train", "rows.conll", "--model", tiny_model, "--output", "run", "--max_steps", 2)
    assert code == 0, error
    assert "note: tags: IOBES or BILOU tags, learnt as BIO." in out
    names = set(json.loads(Path("run/config.json").read_text())["label2id"])
    assert {name[0] for name in names} == set("BIO")
    code, out, error = run_cli(
        "train", "rows.conll", "--model", tiny_model, "--output", "classic", "--max_steps", 1, "--do_train"
    )
    assert code == 0, error
    assert {name[0] for name in json.loads(Path("classic/config.json").read_text())["label2id"]} == set("BEOS")


def test_plain_tags_are_judged_word_by_word(run_cli, tiny_model):
    rows = tagged_rows(60)
    for row in rows:
        row["tags"] = [tag[2:].upper() or "OTHER" for tag in row["tags"]]
    write_jsonl("rows.jsonl", rows)
    code, out, error = run_cli("train", "rows.jsonl", "--model", tiny_model, "--output", "run", "--max_steps", 2)
    assert code == 0, error
    assert "3 tags" in out
    assert {"eval_accuracy", "eval_f1_macro"} <= json.loads(Path("run/all_results.json").read_text()).keys()


def test_a_trained_tagger_is_judged_on_other_rows(run, run_cli):
    write_conll("dev.conll", tagged_rows(20, seed=3))
    code, out, error = run_cli(
        "train", "--validation_file", "dev.conll", "--model", run, "--do_eval", "--output", "judged"
    )
    assert code == 0, error
    assert json.loads(Path("judged/all_results.json").read_text())["eval_f1"] > 0.8


def test_resumed_equals_uninterrupted(run_cli, tiny_model, interrupt):
    write_conll("rows.conll", tagged_rows(60))
    flags = ["rows.conll", "--model", tiny_model, "--epochs", 3, "--save_steps", 3, "--batch_size", 8]
    assert run_cli("train", *flags, "--output", "whole")[0] == 0
    interrupt(8)
    assert run_cli("train", *flags, "--output", "run")[0] == 143
    assert run_cli("resume", "run")[0] == 0
    assert Path("run/model.safetensors").read_bytes() == Path("whole/model.safetensors").read_bytes()


def refusal(run_cli, *flags: object) -> str:
    code, _, error = run_cli("train", *flags, "--output", "run", "--max_steps", 1)
    assert code == 2, error
    assert "Traceback" not in error
    return error


def test_what_is_wrong_with_rows_is_named(run_cli, tiny_model):
    good = tagged_rows(20)
    write_jsonl("rows.jsonl", [*good, {"tokens": ["a", "b"], "tags": ["O"]}])
    assert "row 21 (line 21): column 'tags' has 1 tags for 2 words" in refusal(
        run_cli, "rows.jsonl", "--task_name", "ner"
    )
    write_jsonl("rows.jsonl", [*good, {"tokens": ["a", " "], "tags": ["O", "O"]}])
    assert "row 21 (line 21): column 'tokens' holds ' ' in its list" in refusal(run_cli, "rows.jsonl")
    write_jsonl("rows.jsonl", [{"tokens": ["a"], "tags": ["O"]}] * 20)
    assert "the only tag is 'O'" in refusal(run_cli, "rows.jsonl")
    write_jsonl("rows.jsonl", good)
    assert "has no column 'x' (--text_column)" in refusal(
        run_cli, "rows.jsonl", "--task_name", "ner", "--text_column", "x"
    )
    assert "--do_regression predicts numbers" in refusal(
        run_cli, "rows.jsonl", "--do_regression", "--model", tiny_model
    )
    assert "names no rows" in refusal(run_cli, "--task_name", "pos")
    assert "--task_name ner is token-classification, not --task text-classification" in refusal(
        run_cli, "rows.jsonl", "--task_name", "ner", "--task", "text-classification"
    )
    write_conll("dev.conll", [{"tokens": ["a", "cat"], "tags": ["O", "B-planet"]}])
    assert "dev.conll, line 2: the tag 'B-planet' of the validation rows is not among the known ones" in refusal(
        run_cli, "rows.jsonl", "--validation_file", "dev.conll"
    )


def test_broken_sequences_are_named_by_file_and_line(run_cli, tiny_model):
    write_conll("rows.conll", [*tagged_rows(30), {"tokens": ["a", "cat"], "tags": ["O", f"I-{KINDS[0]}"]}])
    lines = Path("rows.conll").read_text().count("\n")
    code, out, error = run_cli("train", "rows.conll", "--model", tiny_model, "--output", "run", "--max_steps", 1)
    assert code == 0, error
    assert f"rows.conll: 1 tag doesn't follow from the one before (line {lines}: I-{KINDS[0]} follows O)" in error + out


def test_weights_of_tags(run_cli, tiny_model):
    write_conll("rows.conll", tagged_rows(40))
    code, out, error = run_cli(
        "train", "rows.conll", "--model", tiny_model, "--output", "run", "--max_steps", 2, "--class_weights", "O=0.5"
    )
    assert code == 0, error
    assert "weights of the tags in the loss" in out
