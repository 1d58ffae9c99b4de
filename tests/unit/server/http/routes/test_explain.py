from __future__ import annotations

from pydantic import TypeAdapter

from server.query import Explanation
from tests.unit.server.http.fakes import FakePipeline, assert_problem, explanation, send


def test_an_explanation_reads_back_as_it_was() -> None:
    pipeline = FakePipeline()
    response = send("POST", "/v1/explain", pipeline=pipeline, json={"sql": "SELECT 1", "mechanism": "r2t"})
    assert response.status_code == 200
    (asked,) = pipeline.asked
    assert asked.mechanism == "r2t"
    assert TypeAdapter(Explanation).validate_json(response.text) == explanation(asked)


def test_explaining_needs_a_key() -> None:
    response = send("POST", "/v1/explain", authorized=False, json={"sql": "SELECT 1"})
    assert_problem(response, 401, "28P01")
