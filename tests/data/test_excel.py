"""Excel workbooks: the first sheet, every kind of cell, and workbooks that are damaged or made to harm."""

from __future__ import annotations

import datetime
import io
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from data_helpers import load, refusal, text, write

from pippin.data import packed
from pippin.data.tables import open_table

openpyxl = pytest.importorskip("openpyxl")

ROWS = [[text(number), ("pos", "neg")[number % 2]] for number in range(40)]


def book(name: str, *rows: list[Any], **sheets: list[list[Any]]) -> str:
    """Write a workbook; further sheets by name."""
    made = openpyxl.Workbook()
    for row in rows:
        made.active.append(row)
    for title, more in sheets.items():
        sheet = made.create_sheet(title)
        for row in more:
            sheet.append(row)
    made.save(name)
    return name


def edited(name: str, member: str, old: bytes, new: bytes) -> str:
    """The same workbook with other bytes in one of its files."""
    out = io.BytesIO()
    with zipfile.ZipFile(name) as before, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as after:
        for info in before.infolist():
            content = before.read(info)
            assert info.filename != member or old in content
            after.writestr(info.filename, content.replace(old, new) if info.filename == member else content)
    Path(name).write_bytes(out.getvalue())
    return name


def test_rows_in_every_language():
    rows = [["größe 中文 한국어 العربية", "pos"], *ROWS[1:]]
    data = load(data=book("reviews.xlsx", ["text", "label"], *rows), validation_split=0)
    assert data.train.texts == [row[0] for row in rows]
    assert data.labels.names == ("neg", "pos")
    assert (data.name, data.notes) == ("reviews", [])


def test_cells_of_every_kind():
    day = datetime.datetime(2024, 5, 1, 12, 30)
    rows = [
        ["  text ", "label", None, "when"],
        ["a", 1, None, day],
        [],
        [2.5, True, None, datetime.time(8)],
        ["c", "#N/A"],
    ]
    table = open_table(Path(book("a.xlsx", *rows))).whole()
    assert table.columns == {
        "text": ["a", 2.5, "c"],
        "label": [1, True, None],
        "unnamed 3": [None, None, None],
        "when": ["2024-05-01 12:30:00", "08:00:00", None],
    }
    assert table.where(2) == "a.xlsx, row 3 (line 5)"


def test_other_sheets_are_named():
    first = book("a.xlsx", ["text", "label"], *ROWS, Notes=[["x"]], More=[["y"]])
    data = load(data=first, validation_split=0)
    assert data.notes == ["a.xlsx has 3 sheets; only the first, Sheet, is read."]
    hidden = openpyxl.load_workbook(first)
    hidden["Sheet"].sheet_state = "hidden"
    hidden["Notes"].append(["z"])
    hidden.active = 1
    hidden.save("b.xlsx")
    stream = open_table(Path("b.xlsx"))
    assert (stream.names, stream.notes) == (("x",), ("b.xlsx has 2 sheets; only the first, Notes, is read.",))


def test_mistakes_are_told_by_row_and_line():
    header = ["text", "label"]
    refusal(
        "a.xlsx, row 2 (line 3): column 'label' is empty", data=book("a.xlsx", header, ROWS[0], ["b", None], *ROWS[1:])
    )
    refusal(
        "a.xlsx, row 2 (line 3) has 3 cells", "names 2 columns: ['c']", data=book("a.xlsx", header, ROWS[0], [*"abc"])
    )
    refusal("a.xlsx: the first line has the column name text twice", data=book("a.xlsx", ["text", "text"], *ROWS))
    refusal("a.xlsx has no rows", data=book("a.xlsx", header))
    refusal("a.xlsx is empty", data=book("a.xlsx"))


def test_without_the_package(monkeypatch):
    path = book("a.xlsx", ["text", "label"], *ROWS)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    refusal("a.xlsx: Excel files need the package openpyxl: pip install 'pippin[excel]'", data=path)


def test_damaged_workbooks_are_one_message():
    whole = Path(book("a.xlsx", ["text", "label"], *ROWS)).read_bytes()
    Path("cut.xlsx").write_bytes(whole[: len(whole) // 2])
    refusal("cut.xlsx is not a readable Excel workbook", "Save it again", data="cut.xlsx")
    refusal("plain.xlsx is not a readable Excel workbook", data=write("plain.xlsx", "text,label"))
    Path("old.xlsx").write_bytes(b"\xd0\xcf\x11\xe0" + whole)
    refusal("old.xlsx is an old or locked Excel workbook", data="old.xlsx")
    with zipfile.ZipFile("other.xlsx", "w") as archive:
        archive.writestr("readme.txt", "hello")
    refusal("other.xlsx is not a readable Excel workbook", data="other.xlsx")
    Path("a.csv").write_bytes(whole)
    refusal("a.csv is a zip archive or an Excel workbook", "let its name end in .xlsx", data="a.csv")
    sheet = "xl/worksheets/sheet1.xml"
    refusal(
        "a.xlsx is not a readable Excel workbook", data=edited("a.xlsx", sheet, b"<sheetData>", b"<sheetData><row>")
    )


def test_workbooks_made_to_harm(monkeypatch):
    sheet = "xl/worksheets/sheet1.xml"
    path = book("a.xlsx", ["text", "label"], *ROWS)
    edited(path, sheet, b'ref="A1:B41"', b'ref="A1:XFD1048576"')
    assert open_table(Path(path)).rows == 40
    edited(path, sheet, b'<row r="41"', b'<row r="99999999999"')
    assert open_table(Path(path)).rows == 39, "no row is waited for that no sheet can have"
    laughs = b'<!DOCTYPE x [<!ENTITY a "ha">' + b"".join(
        b'<!ENTITY %c "%s">' % (98 + place, b"&%c;" % (97 + place) * 30) for place in range(12)
    )
    edited(path, sheet, b"<worksheet", laughs + b"]><worksheet")
    edited(path, sheet, b"<sheetData>", b"<sheetData>&m;")
    refusal("a.xlsx is not a readable Excel workbook", data=path)
    monkeypatch.setattr(packed, "_ALWAYS_FINE", 2**10)
    monkeypatch.setattr(packed, "_MOST_TIMES", 1)
    refusal(
        "unpacks to more than 1 times its size", "save the sheet as CSV", data=book("b.xlsx", ["text", "label"], *ROWS)
    )
