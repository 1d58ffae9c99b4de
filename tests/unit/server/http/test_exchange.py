from __future__ import annotations

import re
import time
from collections.abc import Iterator, MutableMapping
from typing import Any

import pytest
from structlog.testing import capture_logs

from server.errors import BackendFailed, TooManyQueries
from server.query import QueryRequest, QueryResponse
from tests.unit.server.http.fakes import KEY, FakePipeline, answer, raising, send

Logs = list[MutableMapping[str, Any]]


@pytest.fixture
def logs() -> Iterator[Logs]:
    with capture_logs() as captured:
        yield captured


def test_a_request_id_is_made() -> None:
    ids = {send("GET", "/health").headers["x-request-id"] for _ in range(5)}
    assert len(ids) == 5
    assert all(re.fullmatch("[0-9a-f]{32}", request_id) for request_id in ids)


def test_a_well_formed_request_id_is_kept() -> None:
    for offered in ["my-request", "a" * 64, "00f0.67aa_0ba9-02b7"]:
        assert send("GET", "/health", headers={"X-Request-ID": offered}).headers["x-request-id"] == offered, offered


def test_any_other_is_replaced() -> None:
    for offered in ["", "short", "a" * 65, "with space", "<script>aaaa", "aaaaaaaa\tb", "ääääääää"]:
        made = send("GET", "/health", headers={"X-Request-ID": offered.encode()}).headers["x-request-id"]
        assert re.fullmatch("[0-9a-f]{32}", made), offered


def test_one_line_per_request(logs: Logs) -> None:
    send("POST", "/v1/query", json={"sql": "SELECT 1"}, headers={"X-Request-ID": "my-request"})
    assert logs == [
        {
            "event": "request",
            "log_level": "info",
            "request_id": "my-request",
            "analyst": "ada",
            "method": "POST",
            "route": "/v1/query",
            "code": "00000",
            "status": 200,
            "duration_ms": logs[0]["duration_ms"],
        }
    ]


def test_a_refusal_is_logged_by_its_code(logs: Logs) -> None:
    send("GET", "/v1/budget", authorized=False)
    (line,) = logs
    assert (line["analyst"], line["code"], line["status"]) == (None, "28P01", 401)


def test_durations_are_rounded_up(logs: Logs) -> None:
    def slow(request: QueryRequest) -> QueryResponse:
        time.sleep(0.11)
        return answer(request)

    send("POST", "/v1/query", pipeline=FakePipeline(answering=slow), json={"sql": "SELECT 1"})
    assert logs[0]["duration_ms"] >= 200
    assert logs[0]["duration_ms"] % 100 == 0


@pytest.mark.parametrize("error", [None, BackendFailed("secret-zebra"), ZeroDivisionError("secret-zebra")])
def test_nothing_that_was_asked_answered_or_raised_is_logged(logs: Logs, error: Exception | None) -> None:
    if error is not None:
        error.__cause__ = ValueError("secret-zebra")
    pipeline = FakePipeline() if error is None else raising(error)
    send("POST", "/v1/query", pipeline=pipeline, json={"sql": "SELECT 'secret-zebra'"}, params={"x": "secret-zebra"})
    send("GET", "/secret-zebra", pipeline=pipeline)
    text = repr(logs)
    assert len(logs) >= 2
    assert "zebra" not in text
    assert KEY not in text
    assert "FRANCE" not in text


@pytest.mark.parametrize("kind", [BackendFailed, ZeroDivisionError])
def test_a_failure_is_logged_with_its_kinds_and_places(logs: Logs, kind: type[Exception]) -> None:
    error = kind("secret")
    error.__cause__ = ValueError("secret")
    send(
        "POST", "/v1/query", pipeline=raising(error), json={"sql": "SELECT 1"}, headers={"X-Request-ID": "my-request"}
    )
    failed, request = logs
    assert failed["log_level"] == "error"
    assert failed["request_id"] == request["request_id"] == "my-request"
    assert failed["kinds"] == [f"{kind.__module__}.{kind.__qualname__}", "builtins.ValueError"]
    assert any(place.endswith(" fail") for place in failed["places"])
    assert request["code"] == "XX000"


def test_a_refusal_is_not_logged_as_a_failure(logs: Logs) -> None:
    send("POST", "/v1/query", pipeline=raising(TooManyQueries("busy")), json={"sql": "SELECT 1"})
    assert [line["event"] for line in logs] == ["request"]
