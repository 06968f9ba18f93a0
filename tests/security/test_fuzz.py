"""Files changed at random, by fixed seeds: each is read, or refused by one message; nothing else is ever raised."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from helpers import make_rows, sealed
from pippin.cli.predict_input import to_label
from pippin.data.tables import open_table
from pippin.errors import PippinError
from pippin.recipe.files import settings_from_file
from pippin.recipe.reading import read_recipe, recipe_from
from pippin.records import to_json
from pippin.report.page.run_page import read_records, run_page
from pippin.tasks.sequence.dataset import prepare
from pippin.tasks.sequence.sources import find_source

sys.path.insert(0, str(Path(__file__).parents[1] / "report" / "page"))
from makers import make_report, make_run  # noqa: E402

#: What stands for something to one reader or another.
PIECES = [
    b'"', b",", b"\n", b"\r", b"\r\n", b"\t", b"\x00", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\\", b"\\ud800",
    b"\\u0000", b"{", b"}", b"[", b"]", b"[" * 3000, b'{"a":' * 3000, b":", b": ", b"- ", b"&a ", b"*a",
    b"<<: *a", b"!!int x", b"!!python/name:os ", b"0x_", b"null", b"NaN", b"-Infinity", b"1e999", b"9" * 5000,
    b"-1", b"true", b"''", b'""', b"label", b"text", b"#", b"|", b"%", b"\xe2\x80\xae",
]  # fmt: skip
SEEDS = 200


def mutated(content: bytes, seed: int) -> bytes:
    """The content with one to four changes."""
    draw = random.Random(seed)
    raw = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        start = draw.randrange(len(raw) + 1)
        stop = min(len(raw), start + draw.choice((1, 1, 4, 40)))
        kind = draw.randrange(5)
        if kind == 0:
            raw[start:stop] = bytes(draw.randrange(256) for _ in range(stop - start))
        elif kind == 1:
            raw[start:start] = draw.choice(PIECES)
        elif kind == 2:
            del raw[start:stop]
        elif kind == 3:
            raw[start:start] = raw[start:stop]
        else:
            raw[start:stop] = draw.choice(PIECES)
        if draw.random() < 0.05:
            del raw[start:]
    return bytes(raw)


def refused_or_read(name: str, content: bytes, read: Callable[[], object], seeds: int = SEEDS) -> None:
    """Read a file under many changes. Some must be refused and some not, or the changes are too wild or too tame."""
    refused = 0
    for seed in range(seeds):
        Path(name).write_bytes(mutated(content, seed))
        try:
            read()
        except PippinError as error:
            refused += 1
            assert len(str(error)) < 1500  # noqa: PT017 (most are not raised)
        except BaseException as error:
            raise AssertionError(f"seed {seed} of {name}") from error
    assert 0 < refused < seeds


def rows_of(suffix: str) -> bytes:
    rows = make_rows(30)
    if suffix == ".csv":
        return b"id,text,label\n" + b"".join(
            b'%d,"%s, ""x""",%s\n' % (n, r["text"].encode(), r["label"].encode()) for n, r in enumerate(rows)
        )
    if suffix == ".tsv":
        return b"text\tlabel\n" + b"".join(b"%s\t%s\n" % (r["text"].encode(), r["label"].encode()) for r in rows)
    if suffix == ".jsonl":
        return "".join(json.dumps({**r, "n": n, "more": {"a": [n]}}) + "\n" for n, r in enumerate(rows)).encode()
    return json.dumps({"data": rows} if suffix == ".json" else rows, indent=1).encode()


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".json"])
@pytest.mark.parametrize("numbers", [False, True], ids=["classes", "numbers"])
def test_rows(suffix, numbers):
    name = f"rows{suffix}"
    content = rows_of(suffix)
    if numbers:
        for number, label in enumerate(("animal", "food", "tool")):
            content = content.replace(label.encode(), f"{number}.5".encode())
    recipe = recipe_from({"data": name, "do_regression": numbers, "skip_bad_rows": numbers}).recipe

    def read() -> None:
        prepare(find_source(recipe), recipe)
        stream = open_table(Path(name))
        for _ in to_label(stream.parts(), stream.names[:1], False, 64):
            pass

    refused_or_read(name, content, read, SEEDS // 2)


def test_parquet():
    import pyarrow as pa
    import pyarrow.parquet as parquet

    features = {"label": {"names": ["animal", "food", "tool"], "_type": "ClassLabel"}}
    table = pa.table({"text": [row["text"] for row in make_rows(30)], "label": [n % 3 for n in range(30)]})
    table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    parquet.write_table(table, "rows.parquet", compression="none")
    recipe = recipe_from({"data": "rows.parquet"}).recipe
    refused_or_read("rows.parquet", Path("rows.parquet").read_bytes(), lambda: prepare(find_source(recipe), recipe))


def test_settings():
    content = (
        b"learning_rate: &rate 1e-4\nhead_learning_rate: *rate\nseed: 0x2a\ntext_column: [a, b]\nrun_name: 'x'\n"
        b"lr_scheduler_kwargs:\n  num_cycles: 2\n  when: 2026-01-01\nbf16: no\nsave_steps: 0.5\nreport_to: none\n"
    )

    def read() -> None:
        mistakes: list[str] = []
        read_recipe(settings_from_file("settings.yaml", mistakes), mistakes)

    refused_or_read("settings.yaml", content, read)


@pytest.mark.parametrize("name", ["run.json", "report.json", "events.jsonl"])
def test_records(name):
    Path("run.json").write_text(sealed(to_json(make_run())))
    Path("report.json").write_text(json.dumps(to_json(make_report())))
    event = {
        "event": "log",
        "time": "2026-11-16T10:00:00+00:00",
        "step": 1,
        "loss": 0.5,
        "seconds_left": 3.0,
        "memory": 9,
    }
    Path("events.jsonl").write_text("".join(json.dumps({**event, "step": step}) + "\n" for step in range(20)))

    content = Path(name).read_bytes()
    if name == "run.json":
        refused_or_read(name, content, _page_of_sealed_record, SEEDS // 2)
        return
    for seed in range(SEEDS // 2):
        Path(name).write_bytes(mutated(content, seed))
        run_page(*read_records(Path()), "run")


def _page_of_sealed_record() -> None:
    """A stranger can give any record the right checksum."""
    with suppress(ValueError, RecursionError):
        Path("run.json").write_text(sealed(json.loads(Path("run.json").read_text())))
    run_page(*read_records(Path()), "run")
