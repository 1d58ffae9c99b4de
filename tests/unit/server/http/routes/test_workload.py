"""Asking many questions at once over HTTP."""

from __future__ import annotations

from typing import Any

from planner.errors import UnknownTable
from server.http.workload_body import WorkloadAnswerBody
from tests.unit.server.http.fakes import FakePipeline, assert_problem, raising, send

COUNT = "SELECT count(*) FROM orders"
TWO = {"queries": [{"sql": COUNT}, {"sql": COUNT + " WHERE o_orderkey > $1", "parameters": [7], "weight": 4}]}


def test_answers_come_as_those_of_single_questions_with_a_summary() -> None:
    pipeline = FakePipeline()
    response = send("POST", "/v1/workload", pipeline=pipeline, json={**TWO, "epsilon": 0.5})
    assert response.status_code == 200
    body = response.json()
    assert WorkloadAnswerBody.model_validate(body)
    single = send("POST", "/v1/query", pipeline=FakePipeline(), json={"sql": COUNT}).json()
    assert [{**answer, "request_id": ""} for answer in body["answers"]] == [{**single, "request_id": ""}] * 2
    assert body["charge"] == {"epsilon": 0.5, "delta": 0.0}
    assert body["summary"]["measured"] == [
        {"keys": ["ward"], "epsilon": 0.5, "delta": 0.0, "charged": 0.5, "queries": [1, 2]}
    ]
    (asked,) = pipeline.workloads
    assert (asked.epsilon, asked.analyst, [one.weight for one in asked.items]) == (0.5, "ada", [1.0, 4.0])
    assert asked.items[1].parameters == (7,)


def test_an_explanation_says_what_it_would_be() -> None:
    body = send("POST", "/v1/workload/explain", pipeline=FakePipeline(), json=TWO).json()
    assert body["charge"] == {"epsilon": 0.5, "delta": 0.0}
    assert body["summary"]["queries"][0]["half_width_alone"] == 9.0


def test_an_idempotency_key_goes_along() -> None:
    pipeline = FakePipeline()
    send("POST", "/v1/workload", pipeline=pipeline, json=TWO, headers={"Idempotency-Key": "monday"})
    assert pipeline.workloads[0].idempotency_key == "monday"


def test_a_question_may_be_its_text_alone() -> None:
    pipeline = FakePipeline()
    answer = send("POST", "/v1/workload", pipeline=pipeline, json={"queries": [COUNT, {"sql": COUNT}]})
    assert answer.status_code == 200
    assert [(one.sql, one.weight) for one in pipeline.workloads[0].items] == [(COUNT, 1.0)] * 2


def test_a_body_is_what_is_documented() -> None:
    cases: list[dict[str, Any]] = [
        {},
        {"queries": []},
        {"queries": [{"sql": ""}]},
        {"queries": [{"sql": COUNT}] * 65},
        {"queries": [{"sql": COUNT, "weight": 0}]},
        {"queries": [{"sql": COUNT, "epsilon": 1}]},
        {**TWO, "epsilon": 1, "max_relative_error": 0.1},
        {**TWO, "epsilon": 0},
        {**TWO, "epsilom": 1},
    ]
    for body in cases:
        pipeline = FakePipeline()
        assert_problem(send("POST", "/v1/workload", pipeline=pipeline, json=body), 422, "08P01")
        assert pipeline.workloads == [], body


def test_a_refusal_is_a_problem() -> None:
    pipeline = raising(BaseException())

    def refuse(*_: object) -> None:
        raise UnknownTable("question 2: there is no table of this name")

    pipeline.workload = refuse  # type: ignore[method-assign,assignment]
    assert_problem(send("POST", "/v1/workload", pipeline=pipeline, json=TWO), 400, "42P01")
