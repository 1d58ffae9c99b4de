"""A charge is reserved, and settled once."""

from __future__ import annotations

import pytest

from planner.errors import InvalidSetting
from server.errors import BudgetExhausted, DuplicateRequest, LedgerInvalid, QueryTooExpensive, UnknownAnalyst
from server.ledger.account import Grant
from server.ledger.analyst import key_hash
from server.ledger.charge import Reservation
from server.ledger.ledger import Ledger
from server.query import Budget
from tests.support.charging import reserve
from tests.unit.server.ledger.charges import ACT, charge
from tests.unit.server.ledger.suite.ledger_case import LedgerCase, left, states


class Reservations(LedgerCase):
    def test_it_is_a_ledger(self, ledger: Ledger) -> None:
        promised: Ledger = ledger
        assert promised.budget("ada") == Budget(1.0, 1e-6, 1.0, 1e-6)

    def test_a_reservation_is_spent_at_once(self, ledger: Ledger) -> None:
        reservation = reserve(ledger, charge(0.25, 1e-7))
        assert reservation == Reservation(1, charge(0.25, 1e-7))
        assert ledger.budget("ada") == Budget(1.0, 1e-6, 0.75, 9e-7)

    def test_commit_keeps_the_charge(self, ledger: Ledger) -> None:
        assert ledger.commit(reserve(ledger, charge(0.25))).epsilon_left == 0.75
        assert states(ledger) == ["committed"]

    def test_fail_keeps_the_charge(self, ledger: Ledger) -> None:
        ledger.fail(reserve(ledger, charge(0.25)))
        assert ledger.budget("ada").epsilon_left == 0.75
        assert states(ledger) == ["failed"]

    def test_release_gives_it_back(self, ledger: Ledger) -> None:
        ledger.grant("dataset", Grant(2.0, 1e-5), ACT)
        ledger.release(reserve(ledger, charge(0.25, 1e-7)))
        assert ledger.budget("ada") == Budget(1.0, 1e-6, 1.0, 1e-6)
        assert left(ledger) == {"analyst:ada": 1.0, "dataset": 2.0}
        assert states(ledger) == ["released"]

    def test_a_charge_is_settled_once(self, ledger: Ledger) -> None:
        reservation = reserve(ledger, charge(0.25))
        ledger.commit(reservation)
        for settle in (ledger.commit, ledger.fail, ledger.release):
            with pytest.raises(LedgerInvalid):
                settle(reservation)
        assert ledger.budget("ada").epsilon_left == 0.75

    def test_ten_tenths_are_one(self, ledger: Ledger) -> None:
        for _ in range(10):
            reserve(ledger, charge(0.1))
        assert ledger.budget("ada").epsilon_left == 0.0
        with pytest.raises(BudgetExhausted):
            reserve(ledger, charge(1e-9))

    def test_too_much_takes_nothing_and_the_hint_fits(self, ledger: Ledger) -> None:
        reserve(ledger, charge(0.123456789))
        with pytest.raises(BudgetExhausted) as refused:
            reserve(ledger, charge(0.9))
        assert refused.value.hint == "At most epsilon 0.876543211 still fits."
        reserve(ledger, charge(0.876543211))
        assert ledger.budget("ada").epsilon_left == 0.0
        assert len(states(ledger)) == 2

    def test_delta_has_its_own_limit(self, ledger: Ledger) -> None:
        with pytest.raises(BudgetExhausted, match="delta"):
            reserve(ledger, charge(0.1, 2e-6))
        assert ledger.budget("ada").epsilon_left == 1.0

    def test_what_would_not_fit_is_foreseen_as_it_is_refused(self, ledger: Ledger) -> None:
        ledger.grant("group:lab", Grant(0.5, 1e-6), ACT)
        ledger.set_group("ada", "lab", ACT)
        for one in (charge(0.6), charge(0.1, 2e-6), charge(1.1, 2e-6)):
            budget_check = ledger.budget_check([one])
            with pytest.raises(BudgetExhausted) as refused:
                reserve(ledger, one)
            assert budget_check is not None
            assert (budget_check.message, budget_check.hint) == (refused.value.message, refused.value.hint)
        assert ledger.budget_check([charge(0.5, 1e-6)]) is None
        assert ledger.budget_check([charge(0.3), charge(0.2)]) is None
        assert ledger.budget_check([charge(0.3), charge(0.3)]) is not None
        assert states(ledger) == []

    def test_a_cap_is_foreseen_and_a_disabled_analyst_is_no_concern_of_it(self, ledger: Ledger) -> None:
        ledger.grant("analyst:ada", Grant(1.0, 1e-6, per_query_epsilon=0.25), ACT)
        budget_check = ledger.budget_check([charge(0.2), charge(0.3)])
        assert isinstance(budget_check, QueryTooExpensive)
        with pytest.raises(UnknownAnalyst):
            ledger.budget_check([charge(0.1, analyst="nobody")])

    def test_enormous_charges_are_refused(self, ledger: Ledger) -> None:
        with pytest.raises(BudgetExhausted):
            reserve(ledger, charge(1e9))
        with pytest.raises(InvalidSetting):
            reserve(ledger, charge(1e300))

    def test_the_largest_budget_does_not_overflow(self, ledger: Ledger) -> None:
        ledger.add_analyst("max", key_hash("ng_max"), 1e9, 1 - 2**-53)
        ledger.grant("dataset", Grant(1e9, 0.5), ACT)
        reserve(ledger, charge(1e9, analyst="max"))
        assert ledger.budget("max").epsilon_left == 0.0
        with pytest.raises(BudgetExhausted):
            reserve(ledger, charge(1e9, analyst="max"))
        with pytest.raises(InvalidSetting):
            ledger.top_up("analyst:max", 1.0, 0.0, ACT)

    def test_an_unknown_analyst_has_no_budget(self, ledger: Ledger) -> None:
        for ask in (
            ledger.budget,
            ledger.analyst,
            ledger.accounts,
            lambda name: reserve(ledger, charge(0.1, 0.0, name)),
        ):
            with pytest.raises(UnknownAnalyst):
                ask("eve")

    def test_numbers_have_no_gaps(self, ledger: Ledger) -> None:
        with pytest.raises(BudgetExhausted):
            reserve(ledger, charge(2.0))
        assert [reserve(ledger, charge(0.1)).id for _ in range(3)] == [1, 2, 3]

    def test_an_idempotency_key_charges_once(self, ledger: Ledger) -> None:
        first = reserve(ledger, charge(0.1, idempotency_key="k", request_hash="h"))
        with pytest.raises(DuplicateRequest):
            reserve(ledger, charge(0.1, idempotency_key="k"))
        ledger.fail(first)
        record = ledger.charge_of("ada", "k")
        assert record is not None
        assert (record.number, record.state, record.charge.idempotency_key) == (1, "failed", "k")
        assert record.charge.request_hash == "h"
        assert ledger.charge_of("ada", "") is None
        assert ledger.charge_of("eve", "k") is None
        assert ledger.budget("ada").epsilon_left == 0.9
