"""What the custodian's check warns of although every answer would be protected."""

from __future__ import annotations

from dataclasses import replace

from planner.policy.draft import draft
from planner.policy.policy import ColumnPolicy, Policy, TablePolicy, parse_policy
from planner.policy.sections import BudgetPolicy, Budgets
from planner.policy.validate import advice, is_draft
from planner.schema import Schema
from tests.support.planning import demo_policy
from tests.support.tpch_schema import tpch_schema

FOUND = TablePolicy(columns={"c_mktsegment": ColumnPolicy(discover=True)})


def advised(policy: Policy) -> dict[str, str]:
    return dict(advice(policy, tpch_schema()))


def opened(**settings: object) -> Policy:
    policy = demo_policy()
    return replace(policy, tables={**policy.tables, "customer": FOUND}, **settings)  # type: ignore[arg-type]


def test_a_policy_that_was_decided_on_gives_none() -> None:
    assert advised(demo_policy()) == {}


def test_a_draft_is_told_wherever_its_database_is_until_anything_is_decided() -> None:
    text = draft(tpch_schema(), "shop")
    policy = parse_policy(text)
    for untouched in (policy, replace(policy, database_url="file:url"), parse_policy(text + "\n# mine\n")):
        assert "draft" in advised(untouched)["policy"]
    assert not is_draft(replace(policy, tables={**policy.tables, "nation": TablePolicy(public=True)}), tpch_schema())
    assert not is_draft(demo_policy(), Schema({})), "a catalog without a key has no draft to compare with"


def test_keys_to_be_found_want_a_delta() -> None:
    assert "customer.c_mktsegment allow partition selection" in advised(opened(delta=0.0))["privacy.delta"]
    assert advised(opened(delta=1e-7)) == {}


def test_keys_of_which_a_person_may_have_several_want_no_bound() -> None:
    found = TablePolicy(columns={"o_orderstatus": ColumnPolicy(discover=True)})
    policy = replace(demo_policy(), delta=1e-7, groups_per_unit={})
    assert advised(replace(policy, tables={**policy.tables, "orders": found})) == {}


def test_budgets_in_which_no_delta_fits_are_told() -> None:
    for budgets, told in [
        (Budgets(), set()), (Budgets(BudgetPolicy(1.0, 1e-6), BudgetPolicy(9.0, 1e-5)), set()),
        (Budgets(BudgetPolicy(1.0), BudgetPolicy(9.0, 1e-5)), {"budgets.analyst.delta"}),
        (Budgets(BudgetPolicy(1.0), BudgetPolicy(9.0, 1e-8)), {"budgets.analyst.delta", "budgets.dataset.delta"}),
    ]:  # fmt: skip
        found = advised(replace(demo_policy(), delta=1e-7, budgets=budgets))
        assert set(found) == told
        assert all("by default those with one person" in why for why in found.values())
        assert set(advised(replace(demo_policy(), budgets=budgets))) == set(), "pure privacy needs none"
        for why in advised(opened(delta=1e-7, budgets=budgets)).values():
            assert "c_mktsegment" in why


def test_many_columns_are_not_all_named() -> None:
    columns = {name: ColumnPolicy(discover=True) for name in ("c_name", "c_address", "c_phone", "c_mktsegment")}
    policy = demo_policy()
    many = replace(policy, tables={**policy.tables, "customer": TablePolicy(columns=columns)})
    assert "customer.c_phone and 1 more" in advised(many)["privacy.delta"]
