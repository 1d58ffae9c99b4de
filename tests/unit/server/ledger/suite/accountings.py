"""Accounts that add up otherwise than epsilon by epsilon."""

from __future__ import annotations

import pytest

from planner.errors import InvalidSetting
from privacy.accounting.event import ZCDP, BoundedRange
from server.errors import BudgetExhausted
from server.ledger.account import Grant
from server.ledger.analyst import key_hash
from server.ledger.ledger import Ledger
from tests.support.charging import reserve
from tests.unit.server.ledger.charges import ACT, charge
from tests.unit.server.ledger.suite.ledger_case import LedgerCase, left


class Accountings(LedgerCase):
    @pytest.mark.parametrize("accounting", ["zcdp", "renyi"])
    def test_gaussian_noise_fits_better(self, ledger: Ledger, accounting: str) -> None:
        ledger.grant("analyst:ada", Grant(100.0), ACT)
        ledger.grant("dataset", Grant(1.0, 1e-6, accounting), ACT)  # type: ignore[arg-type]
        noise = charge(0.5, event=ZCDP(0.003))
        released = [reserve(ledger, noise) for _ in range(4)]
        assert 0 < left(ledger)["dataset"] < 1  # basic composition would have spent 2.0
        ledger.release(released[3])
        with pytest.raises(BudgetExhausted, match="dataset") as refused:
            reserve(ledger, charge(0.9))
        assert refused.value.hint is not None
        reserve(ledger, charge(float(refused.value.hint.split()[3])))
        with pytest.raises(BudgetExhausted):
            reserve(ledger, noise)

    def test_an_event_says_what_the_release_costs(self, ledger: Ledger) -> None:
        ledger.grant("dataset", Grant(9.0, 1e-6, "zcdp"), ACT)
        reserve(ledger, charge(0.5))
        pure = left(ledger)["dataset"]
        ledger.grant("group:other", Grant(9.0, 1e-6, "zcdp"), ACT)
        ledger.add_analyst("eve", key_hash("ng_eve"), 1.0, 0.0, group="other")
        reserve(ledger, charge(0.5, analyst="eve", event=BoundedRange(0.5)))
        assert left(ledger)["group:other"] > pure
        assert left(ledger)["analyst:eve"] == 0.5

    def test_an_event_with_its_own_delta_needs_room_for_it(self, ledger: Ledger) -> None:
        ledger.grant("dataset", Grant(1.0, 1e-6, "zcdp"), ACT)
        with pytest.raises(BudgetExhausted, match="delta"):
            reserve(ledger, charge(0.1, 1e-7))
        ledger.grant("dataset", Grant(1.0, 1e-6, "zcdp", event_delta=1e-7), ACT)
        reserve(ledger, charge(0.1, 1e-7))

    def test_an_accounting_is_for_good(self, ledger: Ledger) -> None:
        with pytest.raises(InvalidSetting):
            ledger.grant("analyst:ada", Grant(1.0, 1e-6, "zcdp"), ACT)
        with pytest.raises(InvalidSetting):
            ledger.grant("dataset", Grant(1.0, 0.0, "zcdp"), ACT)  # zCDP says nothing without a delta
        with pytest.raises(InvalidSetting):
            ledger.grant("dataset", Grant(1.0, 0.0, "pld"), ACT)  # type: ignore[arg-type]
