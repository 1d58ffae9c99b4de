from __future__ import annotations

import pytest

from privacy.accounting.amounts import Charge as Amount
from server.errors import QueryTooExpensive
from server.ledger.account import Grant
from server.ledger.balance import Balance
from server.ledger.terms import Terms
from server.ledger.writes.refusal import check_caps, exhausted
from tests.unit.server.ledger.charges import charge


def account(name: str, grant: Grant) -> Balance:
    return Balance.opened(name, Terms.of(grant), 0, 0)


def test_it_says_what_is_left_and_what_fits() -> None:
    own = account("analyst:ada", Grant(0.25))
    error = exhausted(charge(1.0), (own,), (own,))
    assert error.message == "The query asks for epsilon 1.0, but only epsilon 0.25 is left."
    assert error.hint == "At most epsilon 0.25 still fits."


def test_an_exhausted_delta_is_named() -> None:
    own = account("analyst:ada", Grant(1.0, 1e-7))
    error = exhausted(charge(0.1, delta=1e-6), (own,), (own,))
    assert error.message == "The query asks for delta 1e-06, but only delta 1e-07 is left."
    assert error.hint == (
        "At most epsilon 1.0 and delta 1e-07 still fits. An administrator can grant more: "
        "noisegate admin top-up analyst:ada --delta 1e-06 (with --policy and --reason), or the administration page."
    )


def test_every_account_that_lacks_the_delta_is_named() -> None:
    own, dataset = account("analyst:ada", Grant(1.0)), account("dataset", Grant(0.5))
    hint = exhausted(charge(0.1, delta=1e-6), (own, dataset), (own, dataset)).hint
    assert hint is not None and "top-up analyst:ada --delta 1e-06 and noisegate admin top-up dataset" in hint


def test_where_no_delta_is_left_it_is_said_who_grants_one_and_to_which_account() -> None:
    own, dataset = account("analyst:ada", Grant(1.0, 1e-6)), account("dataset", Grant(0.5))
    error = exhausted(charge(0.1, delta=1e-6), (dataset,), (own, dataset))
    assert error.message == "The query asks for delta 1e-06, but only delta 0.0 is left for the dataset as a whole."
    assert error.hint == (
        "With delta 0 (`--delta 0`, `SET noisegate.delta = 0`) and more noise,"
        " at most epsilon 0.5 still fits. An administrator can grant more: "
        "noisegate admin top-up dataset --delta 1e-06 (with --policy and --reason), or the administration page."
    )


def test_nothing_left_is_a_matter_for_the_administrator() -> None:
    own = account("analyst:ada", Grant(1.0))
    spent = own.charged(Amount(10**9), Amount(10**9))
    assert exhausted(charge(1.0), (spent,), (spent,)).hint == (
        "An administrator can grant more: noisegate admin top-up analyst:ada --epsilon 1.0 (with --policy and "
        "--reason), or the administration page. What you have paid for stays free, and so does what it determines, "
        "such as a total of its groups."
    )


def test_a_budget_that_is_renewed_says_when() -> None:
    own = account("analyst:ada", Grant(1.0, renew="month", most_in_total=12.0))
    spent = own.charged(Amount(10**9), Amount(10**9))
    hint = exhausted(charge(1.0), (spent,), (spent,)).hint
    assert hint is not None and hint.startswith(
        "It is renewed on 1970-02-01 (UTC). An administrator can grant more: "
    )
    dataset = account("dataset", Grant(0.5))
    both = exhausted(charge(1.0), (spent, dataset), (spent, dataset)).hint
    assert both is not None and "renewed" not in both, "the other account is not"


def test_where_all_periods_have_come_to_the_total_a_larger_one_is_named() -> None:
    own = account("analyst:ada", Grant(1.0, renew="month", most_in_total=1.5))
    first = own.charged(Amount(10**9), Amount(10**9))
    second = first.renewed(40 * 86_400_000, 40 * 86_400_000)
    error = exhausted(charge(1.0), (second,), (second,))
    assert error.message == "The query asks for epsilon 1.0, but only epsilon 0.5 is left."
    assert error.hint is not None and "raise it: noisegate admin grant" in error.hint
    spent = second.charged(Amount(5 * 10**8), Amount(5 * 10**8))
    hint = exhausted(charge(1.0), (spent,), (spent,)).hint
    assert hint is not None and "renewed on" not in hint, "nothing comes after it"


def test_the_short_account_is_named_and_the_hint_fits_all() -> None:
    own, group, dataset = (
        account("analyst:ada", Grant(3.0)),
        account("group:team", Grant(2.0, per_query_epsilon=0.5)),
        account("dataset", Grant(1.0)),
    )
    error = exhausted(charge(1.5), (dataset,), (own, group, dataset))
    assert error.message.endswith("only epsilon 1.0 is left for the dataset as a whole.")
    assert error.hint == "At most epsilon 0.5 still fits."
    assert exhausted(charge(2.5), (group,), (own, group)).message.endswith("is left for the analyst's group.")


def test_a_cap_names_itself() -> None:
    own = account("analyst:ada", Grant(3.0, per_query_epsilon=0.5))
    check_caps(charge(0.5), (own,))
    with pytest.raises(QueryTooExpensive) as refused:
        check_caps(charge(0.6), (own,))
    error = refused.value
    assert error.message == "The query asks for epsilon 0.6, but one query may spend at most epsilon 0.5."
    assert error.hint == "Ask with epsilon 0.5 or less."
