from __future__ import annotations

from server.http.budget_body import RemainingQuestionsBody
from server.ledger.account import UNLIMITED, AccountBalance, BasicLeft, Grant, PeriodsSoFar
from server.ledger.balance import RemainingQuestions
from tests.unit.server.http.fakes import assert_problem, send


def test_the_budget_is_that_of_who_asks() -> None:
    response = send("GET", "/v1/budget")
    assert response.status_code == 200
    body = response.json()
    assert {name: body[name] for name in ("epsilon", "delta", "epsilon_left", "delta_left")} == {
        "epsilon": 10.0,
        "delta": 1e-6,
        "epsilon_left": 9.0,
        "delta_left": 1e-6,
    }
    assert body["guarantee"] == "epsilon 10, delta 1e-06 in total"
    assert (body["questions_left"], body["questions_like"], body["limited_by"]) == (18, 10, "analyst:ada")
    assert (body["accounting"], body["epsilon_left_basic"], body["renew"], body["period"]) == (
        "basic",
        None,
        None,
        None,
    )


def test_a_renewed_budget_says_both_totals() -> None:
    grant = Grant(10.0, 1e-6, "zcdp", renew="month", most_in_total=UNLIMITED)
    so_far = PeriodsSoFar("2026-11", 10.0, 1e-6, 20.0, 2e-6, UNLIMITED, UNLIMITED)
    own = AccountBalance("analyst:ada", grant, 4.0, 0.0, 1_798_761_600_000, BasicLeft(0.5, 1e-6), so_far)
    dataset = AccountBalance("dataset", Grant(5.0), 1.0, 0.0, None)
    body = RemainingQuestionsBody.seen_by("ada", RemainingQuestions((own, dataset), 3, 10, "dataset")).model_dump(
        mode="json"
    )
    assert (body["total_epsilon"], body["most_in_total"], body["epsilon_left_basic"]) == (30.0, "unlimited", 0.5)
    assert (body["limited_by"], body["epsilon_left"]) == ("dataset", 4.0)
    assert body["guarantee"] == (
        "epsilon 10, delta 1e-06 per month; at most epsilon 30, delta 3e-06 in all periods together until the end of"
        " 2026-11; in total nothing bounds it: k periods are k budgets"
    )


def test_the_group_that_pays_is_shown_beside_the_own_budget() -> None:
    own = AccountBalance("analyst:ada", Grant(10.0, 1e-6), 9.0, 1e-6, None)
    shared = AccountBalance("group:lab", Grant(20.0), 4.5, 0.0, None)
    body = RemainingQuestionsBody.seen_by("ada", RemainingQuestions((own, shared), 3, 10, "group:lab")).model_dump(
        mode="json"
    )
    assert body["group"] == {"name": "lab", "epsilon": 20.0, "delta": 0.0, "epsilon_left": 4.5, "delta_left": 0.0}
    assert RemainingQuestionsBody.seen_by("ada", RemainingQuestions((own,), 3, 10, None)).group is None


def test_the_budget_needs_a_key() -> None:
    assert_problem(send("GET", "/v1/budget", authorized=False), 401, "28P01")
