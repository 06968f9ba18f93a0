"""`pippin predict` and `pippin.load`."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import edit_record, make_rows, with_traits
from pippin.errors import PippinError
from pippin.files import is_staging


@pytest.fixture(scope="module")
def trained(tiny_model, tmp_path_factory) -> Path:
    import pippin

    folder = tmp_path_factory.mktemp("trained")
    rows = folder / "words.jsonl"
    rows.write_text("".join(json.dumps(row) + "\n" for row in make_rows(300)))
    pippin.train(rows, model_name_or_path=tiny_model, output_dir=folder / "run", learning_rate=2e-3, seed=1,
                 num_train_epochs=15, per_device_train_batch_size=16, quiet=True)  # fmt: skip
    return folder / "run"


def test_texts(run_cli, trained):
    code, out, err = run_cli("predict", trained, "--text", "the old dog", "--text", 'my "new" hammer, and')
    assert code == 0, err
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["label"] for row in rows] == ["animal", "tool"]
    assert rows[1]["text"] == 'my "new" hammer, and'
    assert all(0.5 < float(row["score"]) <= 1 for row in rows)


@pytest.fixture
def plain(trained, tmp_path) -> Path:
    """The same model as any transformers folder: without Pippin's record."""
    folder = tmp_path / "plain"
    shutil.copytree(trained, folder)
    (folder / "run.json").unlink()
    return folder


@pytest.fixture
def pair_run(trained, tmp_path) -> Path:
    """The same model, recorded as trained on the columns q and p."""
    folder = tmp_path / "pairs"
    shutil.copytree(trained, folder)
    edit_record(folder, lambda record: record["data"].update(text_columns=["q", "p"]))
    return folder


@pytest.fixture
def type_in(monkeypatch) -> Callable[[bytes], None]:
    """Bytes as standard input."""
    return lambda raw: monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8"))


def labels_of(out: str) -> list[str]:
    return [row["label"] for row in csv.DictReader(io.StringIO(out))]


def test_standard_input_keeps_blank_lines(run_cli, trained, type_in, monkeypatch):
    type_in(b"\xef\xbb\xbfthe soup\r\n\r\n \nthe wolf\n\n")
    code, out, err = run_cli("predict", trained)
    assert code == 0, err
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["text"] for row in rows] == ["the soup", "", " ", "the wolf", ""]
    assert [row["label"] for row in rows] == ["food", "", "", "animal", ""]
    assert [row["score"] == "" for row in rows] == [False, True, True, False, True]
    assert "3 of 5 rows, the first in standard input, row 2" in err
    monkeypatch.setattr("sys.stdin", io.StringIO("the soup\n\nthe wolf\n"))
    assert labels_of(run_cli("predict", trained)[1]) == ["food", "", "animal"]


def test_standard_input_in_another_encoding(run_cli, trained, type_in):
    raw = "the soup\nthe caf\xe9 dog\n".encode("latin-1")
    type_in(raw)
    code, out, err = run_cli("predict", trained)
    assert (code, out) == (2, "")
    assert "standard input, line 2: byte 0xE9 is not utf-8" in err
    type_in(raw)
    code, out, _ = run_cli("predict", trained, "--encoding", "latin-1")
    assert code == 0
    assert "the caf\xe9 dog,animal" in out
    type_in(raw)
    assert "no such encoding" in run_cli("predict", trained, "--encoding", "latin-x")[2]


@pytest.mark.parametrize("raw", [b"", None])
def test_no_standard_input(run_cli, trained, type_in, monkeypatch, raw):
    if raw is None:
        monkeypatch.setattr("sys.stdin", None)
    else:
        type_in(raw)
    code, _, err = run_cli("predict", trained)
    assert code == 2
    assert "standard input is empty" in err


def test_empty_texts_get_no_label(run_cli, trained):
    code, out, err = run_cli("predict", trained, "--text", "", "--text", "the dog")
    assert code == 0
    assert labels_of(out) == ["", "animal"]
    assert "1 of 2 rows" in err
    code, out, _ = run_cli("predict", trained, "--text", " ")
    assert (code, out.splitlines()[1]) == (0, " ,,")


def test_empty_cells_get_no_label(run_cli, trained, write_rows):
    rows = [{"id": 1, "text": None}, {"id": 2, "text": "the dog"}, {"id": 3, "text": "  "}, {"id": 4, "text": ""}]
    code, _, err = run_cli("predict", trained, "--file", write_rows("new.jsonl", rows), "--output", "out.jsonl")
    assert code == 0, err
    answers = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [(row["id"], row["label"]) for row in answers] == [(1, None), (2, "animal"), (3, None), (4, None)]
    assert [row["score"] is None for row in answers] == [True, False, True, True]
    assert "3 of 4 rows" in err


def test_a_pair_with_an_empty_half_gets_no_label(run_cli, pair_run, write_rows):
    rows = [{"q": "the dog", "p": ""}, {"q": "the dog", "p": "the cow"}]
    code, out, _ = run_cli("predict", pair_run, "--file", write_rows("new.csv", rows))
    assert code == 0
    assert [label == "" for label in labels_of(out)] == [True, False]


def test_cells_that_are_no_text_are_named(run_cli, trained):
    Path("new.jsonl").write_text('{"text": "the dog"}\n{"text": ["the", "dog"]}\n')
    code, out, err = run_cli("predict", trained, "--file", "new.jsonl")
    assert (code, out) == (2, "")
    assert "row 2 (line 2): column 'text' is ['the', 'dog'], not a text" in err


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_file_keeps_its_columns_and_order(run_cli, trained, write_rows, suffix):
    rows = [{"id": n, **row} for n, row in enumerate(make_rows(40, seed=3))]
    code, _, err = run_cli("predict", trained, "--file", write_rows("new.csv", rows), "--output", f"out.{suffix}")
    assert code == 0, err
    if suffix == "csv":
        with open("out.csv", newline="") as file:
            answers = list(csv.DictReader(file))
    else:
        answers = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [int(row["id"]) for row in answers] == list(range(40))
    right = sum(row["label"] == row["predicted_label"] for row in answers)
    assert right >= 36


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_columns_of_the_input_are_never_overwritten(run_cli, trained, write_rows, suffix):
    row = {"text": "the dog", "label": "mine", "predicted_label": "too", "score": "old"}
    code, _, err = run_cli("predict", trained, "--file", write_rows("new.csv", [row]), "--output", f"out.{suffix}")
    assert code == 0, err
    if suffix == "csv":
        header, cells = csv.reader(Path("out.csv").read_text().splitlines())
    else:
        header, cells = zip(*json.loads(Path("out.jsonl").read_text()).items(), strict=True)
    assert list(header) == [*row, "predicted_label_2", "predicted_score"]
    assert list(cells[:5]) == [*row.values(), "animal"]


def test_from_python(trained):
    import pippin

    classifier = pippin.load(trained)
    answers = classifier.predict(["a cow", "green cheese near"])
    assert [answer.label for answer in answers] == ["animal", "food"]
    assert classifier.predict([]) == []
    with pytest.raises(pippin.PippinError, match="trained on 1 text a row"):
        classifier.predict(["a cow"], ["a dog"])


def test_a_plain_transformers_folder_works(run_cli, plain):
    code, out, _ = run_cli("predict", plain, "--text", "the duck")
    assert code == 0
    assert "animal" in out


def test_a_plain_folder_does_not_guess_the_text(run_cli, plain, write_rows):
    path = write_rows("new.csv", [{"id": "hammer", "comment": "the dog", "stars": 3}])
    code, out, err = run_cli("predict", plain, "--file", path)
    assert (code, out) == (2, "")
    assert "which column is the text? It has id, comment, stars" in err
    code, out, _ = run_cli("predict", plain, "--file", path, "--text_column", "comment")
    assert (code, labels_of(out)) == (0, ["animal"])


@pytest.mark.parametrize("name", ["text", "sentence", None])
def test_a_plain_folder_takes_what_is_plain(run_cli, plain, write_rows, name):
    row = {"id": "hammer", name: "the dog"} if name else {"anything": "the dog"}
    code, out, err = run_cli("predict", plain, "--file", write_rows("new.csv", [row]))
    assert (code, labels_of(out)) == (0, ["animal"])
    assert f"text from {name or 'anything'}" in err


def test_two_candidates_in_a_plain_folder(run_cli, plain, write_rows):
    path = write_rows("new.csv", [{"text": "the dog", "sentence": "a saw"}])
    assert "which column is the text?" in run_cli("predict", plain, "--file", path)[2]


def test_as_many_columns_as_in_training(run_cli, trained, pair_run, write_rows):
    path = write_rows("new.csv", [{"q": "the dog", "p": "a saw", "stars": 1}])
    for run, asked, message in [
        (pair_run, "q", "was trained on 2 texts a row (q, p), but 1 came: name 2 with --text_column"),
        (trained, "q,stars", "was trained on 1 text a row (text), but 2 came: name 1 with --text_column"),
        (pair_run, "q,q", "two different ones"),
    ]:
        code, out, err = run_cli("predict", run, "--file", path, "--text_column", asked)
        assert (code, out) == (2, "")
        assert message in err
    assert run_cli("predict", pair_run, "--file", path, "--text_column", "p,q")[0] == 0
    assert "give --text and --text2" in run_cli("predict", pair_run, "--text", "x")[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no/such/run", "--text", "x"], "there is no such folder"),
        (["nosuchrun", "--text", "x"], "there is no such folder"),
        (["RUN", "--txt", "x"], "Did you mean --text?"),
        (["--text", "x"], "name one RUN folder"),
        (["RUN", "--file", "missing.csv"], "missing.csv: there is no such file"),
        (["RUN", "--text", "x", "--output", "out.xlsx"], "must end in .csv or .jsonl"),
        (["RUN", "--text", "x", "--device", "gpu"], "there is no such device"),
        (["RUN", "--text", "x", "--text2", "y"], "was trained on 1 text"),
        (["RUN", "--text", "x", "--text_column", "foo"], "--text_column goes with --file"),
        (["RUN", "--text_column", "foo"], "--text_column goes with --file"),
        (["RUN", "-text", "x"], "-text: flags start with two dashes. Did you mean --text?"),
        (["-x", "x.csv", "RUN", "--text", "x"], "pippin: -x: flags start with two dashes."),
        (["-o", "x.xlsx", "RUN", "--text", "x"], "--output x.xlsx: the name must end in"),
        (["RUN", "--txt"], "pippin: --txt: there is no such flag. Did you mean --text?\n"),
        (["--foo", "RUN"], "pippin: --foo: there is no such flag.\n"),
        (["RUN", "--text", "--output", "x.csv"], "pippin: --text needs a value after it.\n"),
        (["RUN", "--text", "x\ud800"], "holds half of a character"),
        (["runs/none", "--text", "x"], "there is no such folder"),
    ],
)
def test_mistakes(run_cli, trained, arguments, message):
    code, out, err = run_cli("predict", *[trained if word == "RUN" else word for word in arguments])
    assert (code, out) == (2, "")
    assert message in err


def test_missing_text_column_names_those_that_are_there(run_cli, trained, write_rows):
    path = write_rows("other.csv", [{"body": "the dog", "n": 1}])
    code, _, err = run_cli("predict", trained, "--file", path)
    assert code == 2
    assert "body, n" in err
    code, out, _ = run_cli("predict", trained, "--file", path, "--text_column", "body")
    assert code == 0
    assert "animal" in out


def refuse_to_load(*_: object, **__: object) -> None:
    raise AssertionError("the model was loaded")


def test_output_is_opened_before_the_work(run_cli, trained, monkeypatch):
    Path("folder.csv").mkdir()
    Path("there.csv").write_text("mine")
    Path("dangling.csv").symlink_to("nowhere.csv")
    monkeypatch.setattr("pippin.commands.predictor.Predictor.load", refuse_to_load)
    for name, message in [
        ("folder.csv", "is a folder"),
        ("there.csv", "is there already. Name another file, or add --overwrite"),
        ("dangling.csv", "is there already"),
    ]:
        code, _, err = run_cli("predict", trained, "--text", "x", "--output", name)
        assert code == 2
        assert message in err
    monkeypatch.setattr("os.open", refuse_to_open)
    code, _, err = run_cli("predict", trained, "--text", "x", "--output", "out.csv")
    assert code == 2
    assert "--output out.csv cannot be written: No space" in err


def refuse_to_open(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def staged() -> list[Path]:
    return [path for path in Path().iterdir() if is_staging(path.name)]


def test_output_replaces_a_file_only_when_asked(run_cli, trained):
    Path("precious.csv").write_text("mine")
    Path("out.csv").symlink_to("precious.csv")
    assert run_cli("predict", trained, "--text", "the soup", "--output", "out.csv", "--overwrite")[0] == 0
    assert Path("precious.csv").read_text() == "mine", "not through a link"
    assert labels_of(Path("out.csv").read_text()) == ["food"]


def test_output_is_never_the_input(run_cli, trained):
    Path("in.csv").write_text("text\nthe soup\n")
    Path("same.csv").hardlink_to("in.csv")
    Path("link.csv").symlink_to("in.csv")
    for name in ("in.csv", "same.csv", "link.csv"):
        code, _, err = run_cli("predict", trained, "--file", "in.csv", "--output", name, "--overwrite")
        assert code == 2
        assert "is the file that is read" in err
    with open("in.csv") as typed:
        kept = os.dup(0)
        os.dup2(typed.fileno(), 0)
        try:
            code, _, err = run_cli("predict", trained, "--output", "in.csv", "--overwrite")
        finally:
            os.dup2(kept, 0)
            os.close(kept)
    assert code == 2
    assert "is the file that is read" in err
    assert Path("in.csv").read_text() == "text\nthe soup\n"


def test_two_at_once_never_mix_their_rows(run_cli, trained, monkeypatch):
    """The second begins while the first is at work, and is done before it."""
    from pippin.commands.predictor import Predictor

    answers, inner = Predictor.answers, []

    def second(self, *arguments):
        if not inner:
            inner.append(None)
            inner[0] = run_cli("predict", trained, "--text", "the wolf", "--output", "out.csv")
        return answers(self, *arguments)

    monkeypatch.setattr(Predictor, "answers", second)
    code, _, err = run_cli("predict", trained, "--text", "the soup", "--output", "out.csv")
    assert (code, inner[0][0]) == (0, 0)
    assert "written to out-2.csv" in err
    assert labels_of(Path("out.csv").read_text()) == ["animal"]
    assert labels_of(Path("out-2.csv").read_text()) == ["food"]
    assert not staged()


def test_a_failure_leaves_no_file(run_cli, trained, monkeypatch):
    before = b"as it was"
    Path("out.csv").write_bytes(before)

    def full(*_: object) -> None:
        assert staged()
        raise OSError(errno.ENOSPC, "No space left on device")

    def broken(*_: object) -> None:
        assert staged()
        raise PippinError("broken")

    for place, failure, message in [
        (
            "pippin.runs.predictions.LabelledWriter.write",
            full,
            "--output out.csv cannot be written: No space left",
        ),
        ("pippin.commands.predictor.Predictor.answers", broken, "pippin: broken"),
    ]:
        with monkeypatch.context() as patch:
            patch.setattr(place, failure)
            code, _, err = run_cli("predict", trained, "--text", "x", "--output", "out.csv", "--overwrite")
        assert code == 2
        assert message in err
        assert not staged()
        assert Path("out.csv").read_bytes() == before


@pytest.fixture
def small_chunks(monkeypatch) -> int:
    """Seven rows at a time."""
    monkeypatch.setattr("pippin.data.chunks.MOST_ROWS", 7)
    return 7


@pytest.mark.parametrize("source", ["csv", "tsv", "jsonl", "json", "parquet"])
@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_chunks_are_answered_as_the_whole(run_cli, trained, write_rows, monkeypatch, source, suffix):
    rows = [{"id": n, "text": row["text"] if n % 5 else ""} for n, row in enumerate(make_rows(40, seed=3))]
    path = write_rows(f"new.{source}", rows)
    assert run_cli("predict", trained, "--file", path, "--output", f"whole.{suffix}")[0] == 0
    monkeypatch.setattr("pippin.data.chunks.MOST_ROWS", 7)
    code, _, err = run_cli("predict", trained, "--file", path, "--output", f"chunks.{suffix}")
    assert code == 0, err
    assert Path(f"chunks.{suffix}").read_bytes() == Path(f"whole.{suffix}").read_bytes()
    assert "8 of 40 rows, the first in" in err
    assert "row 1" in err


class CountedInput(io.BytesIO):
    """Standard input that knows how far it was read."""

    def __init__(self, raw: bytes):
        super().__init__(raw)
        self.buffer = self


def test_standard_input_flows(run_cli, trained, small_chunks, monkeypatch):
    """Rows are written while most of the input is still to be read."""
    monkeypatch.setattr("pippin.data.text_files._BLOCK", 16)
    texts = [row["text"] for row in make_rows(210, seed=4)]
    source = CountedInput("\n".join(texts).encode())
    size, seen = len(source.getvalue()), []
    monkeypatch.setattr("sys.stdin", source)
    from pippin.runs.predictions import LabelledWriter

    write = LabelledWriter.write

    def watched(self, columns, answers):
        seen.append(source.tell() / size)
        write(self, columns, answers)

    monkeypatch.setattr(LabelledWriter, "write", watched)
    code, out, err = run_cli("predict", trained)
    assert code == 0, err
    assert [row["text"] for row in csv.DictReader(io.StringIO(out))] == texts
    assert len(seen) == 210 / small_chunks
    assert all(share < (number + 4) / len(seen) for number, share in enumerate(seen))


def test_line_ends_of_standard_input_across_blocks(run_cli, trained, type_in, monkeypatch):
    for block in (1, 2, 3, 5):
        monkeypatch.setattr("pippin.data.text_files._BLOCK", block)
        type_in("the café\r\n\rthe wolf\n\r\n".encode())
        _, out, _ = run_cli("predict", trained)
        assert [row["text"] for row in csv.DictReader(io.StringIO(out))] == ["the café", "", "the wolf", ""]


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("new.jsonl", '{"text": ["a"]}', r"row 39 (line 39): column 'text' is ['a'], not a text"),
        ("new.jsonl", '{"text": "\\ud83d"}', "row 39 (line 39): column 'text' holds half of a character"),
        ("new.jsonl", '{"text": ', "line 39: not valid JSON"),
        ("new.csv", "one,two", "row 38 (line 39) has 2: 'one,two'"),
    ],
)
@pytest.mark.usefixtures("small_chunks")
def test_a_late_mistake_leaves_the_old_output(run_cli, trained, name, line, message):
    rows = [row["text"] for row in make_rows(37)]
    lines = ["text", *rows] if name.endswith("csv") else [json.dumps({"text": text}) for text in ["first", *rows]]
    Path(name).write_text("\n".join([*lines, line]) + "\n")
    Path("out.csv").write_text("as it was")
    code, out, err = run_cli("predict", trained, "--file", name, "--output", "out.csv", "--overwrite")
    assert (code, out) == (2, "")
    assert f"{name}" in err
    assert message in err
    assert Path("out.csv").read_text() == "as it was"
    assert not staged()


def test_a_chunk_without_any_text(run_cli, trained, type_in, small_chunks):
    type_in(b"the wolf\n" + b"\n" * 3 * small_chunks + b"the soup\n")
    code, out, err = run_cli("predict", trained)
    assert code == 0, err
    assert labels_of(out) == ["animal", *[""] * 3 * small_chunks, "food"]


def test_the_hub_is_asked_aloud(run_cli, monkeypatch):
    code, _, err = run_cli("predict", "no/such", "--text", "x")
    assert code == 2
    first, second = err.splitlines()
    assert first == "no/such is no folder here; asking the Hub"
    assert "no/such cannot be loaded" in second
    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda *_: "config.json")
    assert "asking the Hub" not in run_cli("predict", "no/such", "--text", "x")[2]


def test_a_file_is_no_run(run_cli):
    Path("model.safetensors").write_bytes(b"")
    code, _, err = run_cli("predict", "model.safetensors", "--text", "x")
    assert code == 2
    assert "is a file" in err


def test_unfinished_run(run_cli, tmp_path):
    (tmp_path / "run").mkdir()
    code, _, err = run_cli("predict", tmp_path / "run", "--text", "x")
    assert code == 2
    assert "no config.json" in err


def test_a_model_that_was_never_trained_is_refused(run_cli, tiny_model):
    code, out, err = run_cli("predict", tiny_model, "--text", "x")
    assert (code, out) == (2, "")
    assert "its answers would be random" in err


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
