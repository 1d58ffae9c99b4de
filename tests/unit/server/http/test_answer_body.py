from __future__ import annotations

from dataclasses import replace

from server.http.answer_body import AnswerBody
from server.query import Interval, QueryRequest
from tests.unit.server.http.fakes import answer


def test_an_answer_reads_back_as_it_was() -> None:
    response = answer(QueryRequest("ada", "SELECT 1", request_id="request-1"))
    response = replace(response, rows=((True, 1, 1.0), (None, -1, 0.5)), taus=((None, (4.0,), (8.0, 16.0)),))
    response = replace(response, intervals=((None, Interval(-1.0, None), Interval(0.0, 2.0)),) * 2)
    text = AnswerBody.of(response).model_dump_json()
    back = AnswerBody.model_validate_json(text).response()
    assert back == response
    assert [[type(cell) for cell in row] for row in back.rows] == [[bool, int, float], [type(None), int, float]]


def test_what_json_does_not_have_is_null() -> None:
    text = AnswerBody.of(answer(QueryRequest("ada", "SELECT 1"))).model_dump_json()
    body = AnswerBody.model_validate_json(text)
    assert body.rows[1][2] is None
    assert body.intervals[1][1] is not None
    assert (body.intervals[1][1].low, body.intervals[1][1].high) == (None, None)
    assert "NaN" not in text
    tau = body.response().taus[1][2]
    assert tau is not None and tau[0] is None
