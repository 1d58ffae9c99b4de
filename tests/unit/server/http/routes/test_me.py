from __future__ import annotations

from server.ledger.analyst import Role
from tests.unit.server.http.fakes import assert_problem, send


def test_whoever_holds_a_key_is_told_who_that_is_and_what_answers_rest_on() -> None:
    cases: list[Role] = ["analyst", "auditor", "admin"]
    for role in cases:
        assert send("GET", "/v1/me", role=role).json() == {
            "name": "ada",
            "role": role,
            "group": None,
            "dataset": "demo",
            "policy_hash": "0" * 64,
            "data_version": 3,
        }, role


def test_it_needs_a_key() -> None:
    assert_problem(send("GET", "/v1/me", authorized=False), 401, "28P01")
