"""A policy's budget of the dataset that its account does not have."""

from __future__ import annotations

from dataclasses import replace

from planner.policy.sections import BudgetPolicy, Budgets
from server.ledger.account import AccountBalance, Grant
from server.policy.dataset_budget import dataset_budget
from tests.support.planning import demo_policy


def said(budget: BudgetPolicy | None, *grants: Grant) -> tuple[str, str] | None:
    accounts = [AccountBalance("dataset", grant, grant.epsilon, grant.delta, None) for grant in grants]
    found = dataset_budget(replace(demo_policy(), budgets=Budgets(dataset=budget)), accounts)
    return None if found is None else (found.message, (found.next_step or "").split(" --policy")[0])


def test_a_budget_that_is_the_account_s_is_no_finding() -> None:
    assert said(None, Grant(5.0)) is None
    assert said(BudgetPolicy(50.0, 1e-5), Grant(50.0, 1e-5)) is None


def test_a_budget_that_was_changed_later_is_told_with_the_command_that_grants_it() -> None:
    assert said(BudgetPolicy(50.0, 1e-5), Grant(20.0, renew="month", most_in_total=100.0)) == (
        "the account has epsilon 20, per month, at most 100 in total; [budgets.dataset] has epsilon 50, delta "
        "1e-05, which applies only to a new ledger",
        "noisegate admin grant dataset --epsilon 50 --delta 1e-05 --renew never",
    )
    renewed = BudgetPolicy(5.0, renew="week", most_in_total=float("inf"), per_query_epsilon=1.0)
    assert said(renewed, Grant(5.0)) == (
        "the account has epsilon 5; [budgets.dataset] has epsilon 5, per week, at most unlimited in total, at "
        "most 1 a question, which applies only to a new ledger",
        "noisegate admin grant dataset --epsilon 5 --delta 0 --renew week --most-in-total unlimited"
        " --per-query-epsilon 1",
    )


def test_nobody_is_told_to_grant_what_is_spent_already() -> None:
    account = AccountBalance("dataset", Grant(100.0), 2.0, 0.0, None, spent_epsilon=98.0)
    found = dataset_budget(replace(demo_policy(), budgets=Budgets(dataset=BudgetPolicy(50.0))), [account])
    assert found is not None and found.next_step is not None
    assert found.next_step.startswith("epsilon 98 is spent, so that budget would refuse every question: write into")


def test_a_budget_without_an_account_bounds_nobody() -> None:
    told = said(BudgetPolicy(5.0, 1e-6, "zcdp", window_days=7.0, event_delta=1e-7))
    assert told is not None and told[0].startswith("there is no such account, so nothing bounds")
    assert told[1] == (
        "noisegate admin grant dataset --epsilon 5 --delta 1e-06 --accounting zcdp"
        " --event-delta 1e-07 --window-days 7"
    )
