from __future__ import annotations

import asyncio
import csv
import io
import json
import math
import sys
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from starlette.responses import Response

from server.connections import Outgoing
from server.errors import NotAcceptable
from server.http.answer_body import AnswerBody
from server.http.representations import (
    ARROW,
    CSV,
    JSON,
    SHORT_CELLS,
    AnswerStream,
    accepted,
    pieces,
    represented,
    written,
)
from server.query import Cell, Interval, QueryRequest, QueryResponse, ResultColumn
from tests.unit.server.http.fakes import answer

ANSWER = answer(QueryRequest("ada", "SELECT 1", request_id="r"))


def made(kind: str) -> Response:
    response = represented(ANSWER, kind)
    assert isinstance(response, Response)
    assert response.media_type == kind
    return response


def test_the_first_form_that_there_is_is_taken() -> None:
    cases: list[tuple[str | None, str]] = [
        (None, JSON),
        ("", JSON),
        ("application/*", JSON),
        ("TEXT/CSV", CSV),
        ("text/html, text/csv;q=0.8", CSV),
        (f"{ARROW}, {JSON}", ARROW),
    ]
    for accept, kind in cases:
        assert accepted(accept) == kind, accept


def long_answer(rows: int) -> QueryResponse:
    """So many rows like the two of the short one."""
    return replace(
        ANSWER,
        rows=tuple(ANSWER.rows) * (rows // 2),
        intervals=tuple(ANSWER.intervals) * (rows // 2),
        taus=tuple(ANSWER.taus) * (rows // 2),
        low_precision=(True, False) * (rows // 2),
    )


@pytest.mark.slow
def test_the_pieces_of_an_answer_are_small_and_together_all_of_it() -> None:
    for kind in [JSON, CSV, ARROW]:
        for rows in [0, 2, SHORT_CELLS, 10_000]:
            response = long_answer(rows)
            made = list(pieces(response, kind))
            rest = made[1:] if kind == ARROW else made  # its first piece says which rows are weak, too
            assert max(map(len, rest), default=0) < 150_000, (
                "a millisecond's work, and little to keep for a client that does not read"
            )
            whole = b"".join(made)
            if kind == JSON:
                assert whole == AnswerBody.of(response).model_dump_json().encode(), (kind, rows)
            elif kind == CSV:
                assert whole.decode().count("\r\n") == rows + 1, (kind, rows)
            else:
                table = pa.ipc.open_stream(whole).read_all()
                assert table.num_rows == rows, (kind, rows)
                assert json.loads(table.schema.metadata[b"noisegate"])["low_precision"] == list(
                    response.low_precision
                ), (kind, rows)


def test_only_what_is_asked_for_is_made() -> None:
    class Counted(tuple[tuple[Cell, ...], ...]):
        read = 0

        def __getitem__(self, place: Any) -> Any:
            Counted.read += 1
            return super().__getitem__(place)

    made = pieces(replace(long_answer(30_000), rows=Counted(long_answer(30_000).rows)), CSV)
    assert (next(made), next(made)) and Counted.read == 1


def test_numbers_that_json_has_not_are_null() -> None:
    columns = (ResultColumn("x", "float8"),)
    odd = replace(
        ANSWER, columns=columns, rows=((math.inf,), (2**70,)), intervals=((Interval(None, math.nan),), (None,))
    )
    odd = replace(odd, taus=(((math.inf, 1.0),), (None,)))
    assert b"".join(pieces(odd, JSON)) == AnswerBody.of(odd).model_dump_json().encode()


def test_long_answers_are_written_while_they_are_read() -> None:
    for kind in [JSON, CSV, ARROW]:
        for rows, streamed in [(SHORT_CELLS // 4, False), (SHORT_CELLS, True)]:
            sent = asyncio.run(written(long_answer(rows), kind, "ada", Outgoing()))
            assert isinstance(sent, AnswerStream) == streamed, (kind, rows)


def test_few_cells_of_long_texts_are_written_while_they_are_read_too() -> None:
    room = Outgoing()
    sent = asyncio.run(written(replace(ANSWER, text_bytes=1 << 20), JSON, "ada", room))
    assert isinstance(sent, AnswerStream) and room.n_bytes > 1 << 20


def test_a_form_that_there_is_not_is_refused() -> None:
    with pytest.raises(NotAcceptable):
        accepted("image/png, text/html")


def test_arrow_is_refused_by_name_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(NotAcceptable) as refused:
        accepted(ARROW)
    assert "noisegate[arrow]" in str(refused.value.hint)
    assert accepted(f"{CSV}, {ARROW}") == CSV


def test_json_is_the_body() -> None:
    assert json.loads(bytes(made(JSON).body)) == json.loads(AnswerBody.of(ANSWER).model_dump_json())


def test_csv_has_names_first_and_its_charge_in_headers() -> None:
    response = made(CSV)
    names, *rows = csv.reader(io.StringIO(bytes(response.body).decode(), newline=""))
    assert names[0] == "nation" and "count" in names and "count_lo" in names
    assert rows[0][0] == "FRANCE"
    assert [names[-2:], *(row[-2:] for row in rows)] == [["low_precision", "clipped"], *[["false", "false"]] * 2]
    assert (response.headers["noisegate-epsilon"], response.headers["noisegate-epsilon-left"]) == ("1.0", "9.0")


def test_weak_and_cut_rows_are_marked_in_every_form() -> None:
    made = replace(ANSWER, low_precision=(True, False), clipped=(False, True))
    as_csv, as_arrow = represented(made, CSV), represented(made, ARROW)
    assert isinstance(as_csv, Response) and isinstance(as_arrow, Response)
    read = list(csv.DictReader(io.StringIO(bytes(as_csv.body).decode(), newline="")))
    assert [(row["low_precision"], row["clipped"]) for row in read] == [("true", "false"), ("false", "true")]
    table = pa.ipc.open_stream(bytes(as_arrow.body)).read_all()
    assert [table.column(name).to_pylist() for name in ("low_precision", "clipped")] == [[True, False], [False, True]]
    assert json.loads(table.schema.metadata[b"noisegate"])["clipped"] == [False, True]


def test_an_exact_answer_has_no_mark() -> None:
    exact = represented(replace(ANSWER, intervals=((None,) * len(ANSWER.columns),) * 2, covers="exact"), CSV)
    assert isinstance(exact, Response)
    names = bytes(exact.body).decode().splitlines()[0].split(",")
    assert len(names) == len(ANSWER.columns) and "low_precision" not in names


def test_no_text_of_csv_is_a_formula_and_numbers_are_numbers() -> None:
    columns = ResultColumn("=1+1", "text"), ResultColumn("n", "int8"), ResultColumn("big", "numeric")
    texts = ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(1)", "\t=1", "1-1", ""]
    rows = tuple((text, -3, "-0.1234567890123456789") for text in texts)
    nothing = ((None,) * 3,) * len(rows)
    response = represented(replace(ANSWER, columns=columns, rows=rows, intervals=nothing, taus=nothing), CSV)
    assert isinstance(response, Response)
    names, *read = csv.reader(io.StringIO(bytes(response.body).decode(), newline=""))
    assert names[0] == "'=1+1"
    assert [row[0] for row in read] == [*(f"'{text}" for text in texts[:5]), "1-1", ""]
    assert {tuple(row[1:]) for row in read} == {("-3", "-0.1234567890123456789")}


def test_arrow_is_one_typed_batch_with_the_rest_beside_it() -> None:
    table = pa.ipc.open_stream(bytes(made(ARROW).body)).read_all()
    assert table.column("nation").to_pylist() == ["FRANCE", "PERU"]
    assert table.schema.field("count").type == pa.int64()
    assert table.column("count").to_pylist() == [-3, 2**60]
    beside = json.loads(table.schema.metadata[b"noisegate"])
    assert beside["charge"] == {"epsilon": 1.0, "delta": 0.0}
    assert beside["budget"]["epsilon_left"] == 9.0


def test_dates_and_whole_numbers_beyond_64_bits_have_a_place_in_arrow() -> None:
    columns = (ResultColumn("day", "date"), ResultColumn("n", "int8"), ResultColumn("yes", "bool"))
    row = ("2024-02-29", 2**70, True)
    made = replace(ANSWER, columns=columns, rows=(row,), intervals=((None,) * 3,), taus=((None,) * 3,))
    response = represented(made, ARROW)
    assert isinstance(response, Response)
    (read,) = pa.ipc.open_stream(bytes(response.body)).read_all().to_pylist()
    assert str(read["day"]) == "2024-02-29"
    assert (read["n"], read["yes"]) == (2**63 - 1, True)
