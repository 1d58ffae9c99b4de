from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import PlannerError
from server.pgwire.copy_format import CopyFormat, copy_format

CELLS = st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), min_size=1, max_size=4)


def test_copy_options_in_both_syntaxes_mean_one_format() -> None:
    cases: list[tuple[str, CopyFormat]] = [
        ("", CopyFormat()),
        ("(FORMAT text)", CopyFormat()),
        ("(format csv, header)", CopyFormat(True, ",", "", True)),
        ("WITH (FORMAT 'csv', HEADER true, DELIMITER ';')", CopyFormat(True, ";", "", True)),
        ('(FORMAT "binary")', CopyFormat(binary=True)),
        ("csv header", CopyFormat(True, ",", "", True)),
        ("WITH CSV HEADER DELIMITER AS '|' NULL AS 'none'", CopyFormat(True, "|", "none", True)),
        (" DELIMITER ',' NULL ''", CopyFormat(False, ",", "")),
        ("(FORMAT csv, HEADER off, QUOTE '''')", CopyFormat(True, ",", "", False, "'")),
    ]
    for options, wanted in cases:
        assert copy_format(options) == wanted, options


def test_what_is_not_understood() -> None:
    for options in [
        "BINARY HEADER",
        "(FORMAT binary, DELIMITER ';')",
        "(FORMAT csv, COLOUR 'red')",
        "(DELIMITER 'ab')",
        "(FORMAT csv, QUOTE ',')",
        "]",
    ]:
        with pytest.raises(PlannerError):
            copy_format(options)


@given(CELLS)
def test_csv_reads_back(cells: list[str]) -> None:
    line = CopyFormat(True, ",", "\\N").line(list(cells)).decode()
    assert (next(csv.reader(io.StringIO(line, newline=""))) or [""]) == cells  # a blank line is one empty cell


@given(st.lists(st.none() | st.text(st.characters(codec="ascii", exclude_characters="\0")), min_size=1, max_size=4))
def test_text_reads_back_by_postgresqls_rules(cells: list[str | None]) -> None:
    line = CopyFormat().line(cells).decode()
    assert line.count("\n") == 1
    read = [None if cell == "\\N" else _unescaped(cell) for cell in line[:-1].split("\t")]
    assert read == cells


def _unescaped(cell: str) -> str:
    plain = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v"}
    out, place = [], 0
    while place < len(cell):
        if cell[place] == "\\":
            place += 1
            out.append(plain.get(cell[place], cell[place]))
        else:
            out.append(cell[place])
        place += 1
    return "".join(out)


def test_null_and_the_text_that_looks_like_it() -> None:
    assert CopyFormat(True, ",", "").line([None, "", "a"]) == b',"",a\n'
    assert CopyFormat().line([None, "\\N"]) == b"\\N\t\\\\N\n"
