"""What a process leaves reserved."""

from __future__ import annotations

import pytest

from privacy.accounting.event import BoundedRange
from server.errors import LedgerInvalid
from server.ledger.charge import Reservation
from server.ledger.ledger import Ledger
from tests.support.charging import reserve
from tests.unit.server.ledger.charges import charge
from tests.unit.server.ledger.suite.ledger_case import LedgerCase, Reopen, soon, states


class Crashes(LedgerCase):
    def test_what_is_left_reserved_is_recovered_once_and_stays_charged(self, ledger: Ledger, reopen: Reopen) -> None:
        ledger.commit(reserve(ledger, charge(0.5)))
        reserve(ledger, charge(0.25, 1e-7, event=BoundedRange(0.25)))
        ledger.close()
        reopened = reopen()
        assert soon(reopened.recover) == (Reservation(2, charge(0.25, 1e-7, event=BoundedRange(0.25))),)
        assert reopened.recover() == ()
        assert reopened.budget("ada").epsilon_left == 0.25
        assert states(reopened) == ["committed", "crashed"]

    def test_what_another_proxy_may_still_settle_is_notrecovered(self, ledger: Ledger, reopen: Reopen) -> None:
        reservation = reserve(ledger, charge(0.25))
        second = reopen()
        own = reserve(second, charge(0.25))
        third = reopen()
        second.close()
        assert [one.id for one in soon(third.recover)] == [own.id]
        assert ledger.commit(reservation).epsilon_left == 0.5

    def test_nobody_settles_for_another(self, ledger: Ledger, reopen: Reopen) -> None:
        reservation = reserve(ledger, charge(0.25))
        second = reopen()
        for settle in (second.commit, second.fail, second.release):
            with pytest.raises(LedgerInvalid):
                settle(reservation)
        assert second.budget("ada").epsilon_left == 0.75
