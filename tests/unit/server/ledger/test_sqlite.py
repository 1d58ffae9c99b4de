from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from planner.errors import InvalidSetting
from server.errors import (
    AnalystExists,
    BudgetExhausted,
    InvalidRequest,
    LedgerInvalid,
    LedgerUnavailable,
    UnknownAnalyst,
)
from server.keys import key_hash
from server.ledger.charge import Reservation
from server.ledger.ledger import Ledger
from server.ledger.open_ledger import open_ledger
from server.ledger.sqlite import SqliteLedger
from server.query import Budget
from tests.unit.server.ledger.charges import charge


def states(path: Path) -> list[str]:
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT state FROM charges ORDER BY number").fetchall()
    connection.close()
    return [row[0] for row in rows]


def test_it_is_a_ledger(ledger: SqliteLedger) -> None:
    promised: Ledger = ledger
    assert promised.budget("ada") == Budget(1.0, 1e-6, 1.0, 1e-6)


def test_a_key_finds_its_analyst(ledger: SqliteLedger) -> None:
    assert ledger.analyst_by_key(key_hash("ng_ada")) == "ada"
    assert ledger.analyst_by_key(key_hash("ng_eve")) is None


def test_an_analyst_is_added_once(ledger: SqliteLedger) -> None:
    with pytest.raises(AnalystExists):
        ledger.add_analyst("ada", key_hash("ng_other"), 9.0, 0.0)
    with pytest.raises(AnalystExists):
        ledger.add_analyst("eve", key_hash("ng_ada"), 9.0, 0.0)
    assert ledger.budget("ada").epsilon == 1.0


@pytest.mark.parametrize("name", ["", "a b", "a\n", "é", "a" * 65, "'; --"])
def test_a_name_is_a_word(ledger: SqliteLedger, name: str) -> None:
    with pytest.raises(InvalidRequest):
        ledger.add_analyst(name, key_hash("ng_new"), 1.0, 0.0)


def test_a_budget_is_a_number(ledger: SqliteLedger) -> None:
    with pytest.raises(InvalidSetting):
        ledger.add_analyst("eve", key_hash("ng_eve"), float("inf"), 0.0)


def test_a_reservation_is_spent_at_once(ledger: SqliteLedger) -> None:
    reservation = ledger.reserve(charge(0.25, 1e-7))
    assert reservation == Reservation(1, charge(0.25, 1e-7))
    assert ledger.budget("ada") == Budget(1.0, 1e-6, 0.75, 9e-7)


def test_commit_keeps_the_charge(ledger: SqliteLedger, path: Path) -> None:
    assert ledger.commit(ledger.reserve(charge(0.25))).epsilon_left == 0.75
    assert states(path) == ["committed"]


def test_fail_keeps_the_charge(ledger: SqliteLedger, path: Path) -> None:
    ledger.fail(ledger.reserve(charge(0.25)))
    assert ledger.budget("ada").epsilon_left == 0.75
    assert states(path) == ["failed"]


def test_release_gives_it_back(ledger: SqliteLedger, path: Path) -> None:
    ledger.release(ledger.reserve(charge(0.25, 1e-7)))
    assert ledger.budget("ada") == Budget(1.0, 1e-6, 1.0, 1e-6)
    assert states(path) == ["released"]


def test_a_charge_is_settled_once(ledger: SqliteLedger) -> None:
    reservation = ledger.reserve(charge(0.25))
    ledger.commit(reservation)
    for settle in (ledger.commit, ledger.fail, ledger.release):
        with pytest.raises(LedgerInvalid):
            settle(reservation)
    assert ledger.budget("ada").epsilon_left == 0.75


def test_ten_tenths_are_one(ledger: SqliteLedger) -> None:
    for _ in range(10):
        ledger.reserve(charge(0.1))
    assert ledger.budget("ada").epsilon_left == 0.0
    with pytest.raises(BudgetExhausted):
        ledger.reserve(charge(1e-9))


def test_too_much_takes_nothing_and_the_hint_fits(ledger: SqliteLedger, path: Path) -> None:
    ledger.reserve(charge(0.123456789))
    with pytest.raises(BudgetExhausted) as refused:
        ledger.reserve(charge(0.9))
    assert refused.value.hint == "At most epsilon 0.876543211 still fits."
    ledger.reserve(charge(0.876543211))
    assert ledger.budget("ada").epsilon_left == 0.0
    assert len(states(path)) == 2


def test_delta_has_its_own_limit(ledger: SqliteLedger) -> None:
    with pytest.raises(BudgetExhausted, match="delta"):
        ledger.reserve(charge(0.1, 2e-6))
    assert ledger.budget("ada").epsilon_left == 1.0


def test_enormous_charges_are_refused(ledger: SqliteLedger) -> None:
    with pytest.raises(BudgetExhausted):
        ledger.reserve(charge(1e9))
    with pytest.raises(InvalidSetting):
        ledger.reserve(charge(1e300))


def test_analysts_do_not_share(ledger: SqliteLedger) -> None:
    ledger.add_analyst("eve", key_hash("ng_eve"), 2.0, 0.0)
    ledger.reserve(charge(1.0))
    assert ledger.budget("eve").epsilon_left == 2.0


def test_an_unknown_analyst_has_no_budget(ledger: SqliteLedger) -> None:
    with pytest.raises(UnknownAnalyst):
        ledger.budget("eve")
    with pytest.raises(UnknownAnalyst):
        ledger.reserve(charge(0.1, analyst="eve"))


def test_numbers_have_no_gaps(ledger: SqliteLedger) -> None:
    with pytest.raises(BudgetExhausted):
        ledger.reserve(charge(2.0))
    assert [ledger.reserve(charge(0.1)).id for _ in range(3)] == [1, 2, 3]


def test_what_is_left_reserved_is_recovered_once_and_stays_charged(
    ledger: SqliteLedger, path: Path, marker: Path
) -> None:
    ledger.commit(ledger.reserve(charge(0.5)))
    ledger.reserve(charge(0.25, 1e-7))
    ledger.close()
    reopened = open_ledger(path, marker)
    assert reopened.recover() == (Reservation(2, charge(0.25, 1e-7)),)
    assert reopened.recover() == ()
    assert reopened.budget("ada").epsilon_left == 0.25
    reopened.close()
    assert states(path) == ["committed", "crashed"]


def test_what_another_process_may_still_settle_is_not_recovered(
    ledger: SqliteLedger, path: Path, marker: Path
) -> None:
    reservation = ledger.reserve(charge(0.25))
    second = open_ledger(path, marker)
    assert second.recover() == ()
    second.close()
    assert ledger.commit(reservation).epsilon_left == 0.75


def test_the_time_of_a_charge_is_kept(path: Path, marker: Path, ledger: SqliteLedger) -> None:
    timed = SqliteLedger(path, marker, clock=lambda: 1_700_000_000.5)
    timed.commit(timed.reserve(charge(0.25)))
    timed.close()
    with sqlite3.connect(path) as connection:
        times = connection.execute("SELECT reserved_at_ms, settled_at_ms FROM charges").fetchone()
    connection.close()
    assert times == (1_700_000_000_500, 1_700_000_000_500)


def test_closing_twice_is_once_and_the_closed_refuse(ledger: SqliteLedger) -> None:
    ledger.close()
    ledger.close()
    with pytest.raises(LedgerUnavailable):
        ledger.reserve(charge(0.1))
    with pytest.raises(LedgerUnavailable):
        ledger.analyst_by_key(key_hash("ng_ada"))


def test_keys_are_not_in_the_file(ledger: SqliteLedger, path: Path) -> None:
    ledger.close()
    assert b"ng_ada" not in path.read_bytes()
