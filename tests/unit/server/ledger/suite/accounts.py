"""Several accounts pay for one charge."""

from __future__ import annotations

import pytest

from server.errors import BudgetExhausted, QueryTooExpensive, UnknownAccount
from server.ledger.account import Grant
from server.ledger.analyst import key_hash
from server.ledger.ledger import Ledger
from tests.support.charging import reserve
from tests.unit.server.ledger.charges import ACT, charge
from tests.unit.server.ledger.suite.ledger_case import LedgerCase, left


class Accounts(LedgerCase):
    def test_all_accounts_pay(self, ledger: Ledger) -> None:
        ledger.grant("group:team", Grant(2.0), ACT)
        ledger.grant("dataset", Grant(3.0), ACT)
        ledger.set_group("ada", "team", ACT)
        reserve(ledger, charge(0.5))
        assert left(ledger, "ada") == {"analyst:ada": 0.5, "group:team": 1.5, "dataset": 2.5}

    def test_colluders_cannot_spend_more_than_their_group(self, ledger: Ledger) -> None:
        ledger.grant("group:team", Grant(1.5), ACT)
        ledger.add_analyst("eve", key_hash("ng_eve"), 1.0, 0.0, group="team")
        ledger.set_group("ada", "team", ACT)
        reserve(ledger, charge(1.0))
        with pytest.raises(BudgetExhausted, match="group") as refused:
            reserve(ledger, charge(1.0, analyst="eve"))
        assert refused.value.hint == "At most epsilon 0.5 still fits."
        assert left(ledger, "eve") == {"analyst:eve": 1.0, "group:team": 0.5}  # nothing was taken anywhere

    def test_all_together_cannot_spend_more_than_the_dataset(self, ledger: Ledger) -> None:
        ledger.grant("dataset", Grant(1.5), ACT)
        ledger.add_analyst("eve", key_hash("ng_eve"), 1.0, 0.0)
        reserve(ledger, charge(1.0))
        with pytest.raises(BudgetExhausted, match="dataset"):
            reserve(ledger, charge(0.6, analyst="eve"))
        reserve(ledger, charge(0.5, analyst="eve"))

    def test_leaving_a_group_gives_it_nothing_back(self, ledger: Ledger) -> None:
        ledger.grant("group:team", Grant(2.0), ACT)
        ledger.set_group("ada", "team", ACT)
        reservation = reserve(ledger, charge(0.5))
        ledger.set_group("ada", None, ACT)
        reserve(ledger, charge(0.25))
        assert left(ledger) == {"analyst:ada": 0.25, "group:team": 1.5}
        ledger.release(reservation)  # but what was not spent goes back to those who had paid
        assert left(ledger) == {"analyst:ada": 0.75, "group:team": 2.0}

    def test_a_group_needs_an_account(self, ledger: Ledger) -> None:
        with pytest.raises(UnknownAccount):
            ledger.set_group("ada", "nobody", ACT)
        with pytest.raises(UnknownAccount):
            ledger.grant("analyst:eve", Grant(1.0), ACT)
        with pytest.raises(UnknownAccount):
            ledger.top_up("dataset", 1.0, 0.0, ACT)

    def test_a_cap_holds_for_each_query(self, ledger: Ledger) -> None:
        ledger.grant("dataset", Grant(9.0, per_query_epsilon=0.25), ACT)
        with pytest.raises(QueryTooExpensive):
            reserve(ledger, charge(0.3))
        reserve(ledger, charge(0.25))
