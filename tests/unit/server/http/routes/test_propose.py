"""Asking which epsilon an accuracy needs."""

from __future__ import annotations

from typing import Any

from tests.unit.server.http.fakes import FakePipeline, assert_problem, send

COUNT = "SELECT count(*) FROM orders"


def test_a_proposal_says_what_to_ask_with() -> None:
    pipeline = FakePipeline()
    body = send("POST", "/v1/propose", pipeline=pipeline, json={"sql": COUNT, "interval_width": 100}).json()
    assert body == {
        "epsilon": 0.25,
        "delta": 0.0,
        "charge": 0.25,
        "epsilon_left": 9.0,
        "interval_width": 100.0,
        "relative_error": None,
        "basis": "public",
        "reason": "holds for all data",
    }
    assert (pipeline.asked[0].sql, pipeline.asked[0].epsilon) == (COUNT, None)


def test_an_accuracy_is_one_positive_number() -> None:
    cases: list[dict[str, Any]] = [
        {},
        {"interval_width": 1, "max_relative_error": 0.1},
        {"interval_width": 0},
        {"max_relative_error": -0.1},
        {"max_relative_error": "0.1"},
        {"interval_width": 1, "epsilon": 1.0},
    ]
    for accuracy in cases:
        pipeline = FakePipeline()
        assert_problem(send("POST", "/v1/propose", pipeline=pipeline, json={"sql": COUNT, **accuracy}), 422, "08P01")
        assert pipeline.asked == [], accuracy
