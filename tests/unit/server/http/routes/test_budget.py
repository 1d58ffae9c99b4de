from __future__ import annotations

from tests.unit.server.http.fakes import assert_problem, send


def test_the_budget_is_that_of_who_asks() -> None:
    response = send("GET", "/v1/budget")
    assert response.status_code == 200
    assert response.json() == {"epsilon": 10.0, "delta": 1e-6, "epsilon_left": 9.0, "delta_left": 1e-6}


def test_the_budget_needs_a_key() -> None:
    assert_problem(send("GET", "/v1/budget", authorized=False), 401, "28P01")
