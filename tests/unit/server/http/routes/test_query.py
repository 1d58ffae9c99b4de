from __future__ import annotations

from dataclasses import replace

from planner.errors import InvalidSyntax
from server.errors import (
    BackendFailed,
    BudgetExhausted,
    DuplicateRequest,
    KeyReused,
    NotDerivable,
    ServerError,
    TooManyQueries,
)
from server.ledger.analyst import Role
from server.query import QueryRequest, QueryResponse
from tests.unit.server.http.fakes import FakePipeline, answer, assert_problem, raising, send


def test_an_answer_has_the_documented_shape() -> None:
    response = send("POST", "/v1/query", json={"sql": "SELECT 1"})
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.json() == {
        "columns": [
            {"name": "nation", "type": "text"},
            {"name": "count", "type": "int8"},
            {"name": "sum", "type": "float8"},
        ],
        "rows": [["FRANCE", -3, 5.0], ["PERU", 2**60, None]],
        "intervals": [
            [None, {"low": -10.0, "high": 4.0}, {"low": 1.5, "high": None}],
            [None, {"low": None, "high": None}, {"low": 0.0, "high": 1.0}],
        ],
        "confidence": 0.95,
        "covers": "clipped value",
        "mechanism": "gem",
        "low_precision": [],
        "clipped": [],
        "raw": [],
        "at_most": None,
        "taus": [[None, [4.0], [8.0, 16.0]], [None, [4.0], [None]]],
        "charge": {"epsilon": 1.0, "delta": 0.0},
        "cached": False,
        "derived_from": [],
        "cached_periods": [],
        "budget": {"epsilon": 10.0, "delta": 1e-6, "epsilon_left": 9.0, "delta_left": 1e-6},
        "note": "The interval covers the clipped value, in which people with many rows count in part; the "
        "true value may lie outside it.",
        "details": ["Noise only."],
        "detail_kinds": ["plain"],
        "practice": False,
        "request_id": response.headers["x-request-id"],
    }
    assert "-3, 5.0" in response.text.replace(",", ", ")  # a float stays a float, a count stays whole


def test_the_pipeline_gets_the_question_as_it_was_asked() -> None:
    pipeline = FakePipeline()
    body = {"sql": "SELECT count(*) FROM orders", "epsilon": 1, "delta": 1e-9, "mechanism": "r2t"}
    send("POST", "/v1/query", pipeline=pipeline, json=body, headers={"X-Request-ID": "my-request"})
    assert pipeline.asked == [
        QueryRequest(
            "ada", "SELECT count(*) FROM orders", epsilon=1.0, delta=1e-9, mechanism="r2t", request_id="my-request"
        )
    ]


def test_what_is_left_out_is_left_to_the_policy() -> None:
    pipeline = FakePipeline()
    send("POST", "/v1/query", pipeline=pipeline, json={"sql": "SELECT 1", "epsilon": None})
    (asked,) = pipeline.asked
    assert (asked.epsilon, asked.delta, asked.mechanism) == (None, None, None)


def test_whether_an_answer_may_follow_from_others_reaches_the_pipeline() -> None:
    pipeline = FakePipeline()
    for reuse in ({}, {"reuse": "only"}, {"reuse": "never"}):
        send("POST", "/v1/query", pipeline=pipeline, json={"sql": "SELECT 1", **reuse})
    assert [asked.reuse for asked in pipeline.asked] == ["auto", "only", "never"]
    refused = send("POST", "/v1/query", pipeline=pipeline, json={"sql": "SELECT 1", "reuse": "always"})
    assert_problem(refused, 422, "08P01")


def test_where_nothing_follows_it_says_what_to_do() -> None:
    error = NotDerivable("the answer does not follow", hint="with reuse = auto it is measured")
    body = assert_problem(send("POST", "/v1/query", pipeline=raising(error), json={"sql": "SELECT"}), 422, "PD006")
    assert body["hint"] == "with reuse = auto it is measured"


def test_a_planners_error_points_into_the_statement() -> None:
    error = InvalidSyntax("expected FROM", hint="SELECT ... FROM ...", position=8)
    body = assert_problem(send("POST", "/v1/query", pipeline=raising(error), json={"sql": "SELECT"}), 400, "42601")
    assert (body["message"], body["hint"], body["position"]) == ("expected FROM", "SELECT ... FROM ...", 8)


def test_an_exhausted_budget_says_what_fits() -> None:
    error = BudgetExhausted("too much", hint="At most epsilon 0.25 still fits.")
    body = assert_problem(send("POST", "/v1/query", pipeline=raising(error), json={"sql": "SELECT"}), 403, "PD001")
    assert body["hint"] == "At most epsilon 0.25 still fits."


def test_a_busy_proxy_says_when_to_come_back() -> None:
    response = send("POST", "/v1/query", pipeline=raising(TooManyQueries("busy")), json={"sql": "SELECT"})
    assert_problem(response, 503, "53300")
    assert response.headers["retry-after"] == "1"


def test_no_word_of_the_database_reaches_the_client() -> None:
    cases: list[Exception] = [BackendFailed("o_custkey zebra"), RuntimeError("o_custkey zebra")]
    for error in cases:
        error.__cause__ = ValueError("o_custkey zebra")
        response = send("POST", "/v1/query", pipeline=raising(error), json={"sql": "SELECT"})
        assert_problem(response, 500, "XX000")
        for shown in (response.text, str(response.headers)):  # which hold a random number in hex: no z
            assert "custkey" not in shown and "zebra" not in shown, error


def test_an_idempotency_key_goes_with_the_question() -> None:
    pipeline = FakePipeline()
    send("POST", "/v1/query", pipeline=pipeline, json={"sql": "SELECT 1"}, headers={"Idempotency-Key": "order-7"})
    assert pipeline.asked[0].idempotency_key == "order-7"


def test_an_idempotency_key_is_one_short_word() -> None:
    for key in ["", "x" * 129, "two words"]:
        pipeline = FakePipeline()
        answer = send(
            "POST", "/v1/query", pipeline=pipeline, json={"sql": "SELECT 1"}, headers={"Idempotency-Key": key}
        )
        assert_problem(answer, 422, "08P01")
        assert pipeline.asked == [], key


def test_a_key_that_made_another_charge_is_refused() -> None:
    cases: list[tuple[type[ServerError], int]] = [(DuplicateRequest, 409), (KeyReused, 422)]
    for kind, status in cases:
        error = kind(
            "The idempotency key belongs to another request.", hint="send it again with a new idempotency key"
        )
        answer = send("POST", "/v1/query", pipeline=raising(error), json={"sql": "SELECT 1"})
        assert "another request" in assert_problem(answer, status, "23505")["message"], kind


def test_only_analysts_ask() -> None:
    cases: list[Role] = ["auditor", "admin"]
    for role in cases:
        pipeline = FakePipeline()
        answer = send("POST", "/v1/query", pipeline=pipeline, role=role, json={"sql": "SELECT 1"})
        assert role in assert_problem(answer, 403, "42501")["message"], role
        assert pipeline.asked == [], role


def test_a_large_answer_is_written_in_pieces() -> None:
    """As a whole it would take seconds, in which nobody else would be answered."""
    for form in ["application/json", "text/csv", "application/vnd.apache.arrow.stream"]:
        _a_large_answer_is_written_in_pieces(form)


def _a_large_answer_is_written_in_pieces(form: str) -> None:

    def large(request: QueryRequest) -> QueryResponse:
        one = answer(request)
        rows, intervals, taus = tuple(one.rows), tuple(one.intervals), tuple(one.taus)
        return replace(one, rows=rows[:1] * 1_000, intervals=intervals[:1] * 1_000, taus=taus[:1] * 1_000)

    headers = {"Accept": form}
    pipeline = FakePipeline(answering=large)
    response = send("POST", "/v1/query", pipeline=pipeline, json={"sql": "SELECT 1"}, headers=headers)
    assert response.status_code == 200
    assert response.headers["content-type"].startswith(form)
    assert "content-length" not in response.headers
    if form == "application/json":
        body, small = response.json(), send("POST", "/v1/query", json={"sql": "SELECT 1"}).json()
        assert len(body["rows"]) == len(body["intervals"]) == 1_000
        for field in set(small) - {"request_id"}:
            if field in ("rows", "intervals", "taus"):
                assert body[field][0] == body[field][-1] == small[field][0]
            else:
                assert body[field] == small[field]
