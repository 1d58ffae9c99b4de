"""What the ledger says about its past."""

from __future__ import annotations

from dataclasses import replace

import pytest

from server.errors import InvalidRequest, LedgerUnavailable
from server.ledger.account import Grant
from server.ledger.analyst import key_hash
from server.ledger.entry import PeriodsNoted
from server.ledger.ledger import Ledger
from tests.support.charging import reserve
from tests.unit.server.ledger.charges import ACT, charge
from tests.unit.server.ledger.suite.ledger_case import Clock, LedgerCase


def _noted(version: int) -> PeriodsNoted:
    way = {"shape": "s", "periods": {"2026-01": [version, "d"]}}
    return PeriodsNoted(
        version=version,
        fingerprint="structure",
        key="k",
        loads=[[version, "structure"]],
        tables={"visit": {"before": "2026-02-01", "ways": {"": way}}},
        whole={},
        reopened=[],
        by="grace",
        reason="a load",
    )


class Records(LedgerCase):
    def test_every_act_says_who_and_why(self, ledger: Ledger) -> None:
        ledger.grant("dataset", Grant(3.0), ACT)
        ledger.accept_policy("hash", ["visit: owned"], ["epsilon was raised"], ACT)
        reserve(ledger, charge(0.1))
        acts = ledger.entries(acts_only=True)
        assert [entry.kind for entry in acts] == ["opened", "analyst", "grant", "grant", "policy"]
        assert all((entry.content["by"], entry.content["reason"]) == ("grace", "a test") for entry in acts[3:])
        assert acts[-1].content["weakens"] == ["epsilon was raised"]
        assert ledger.entries(after=5)[0].kind == "reserved"
        with pytest.raises(InvalidRequest):
            ledger.set_role("ada", "admin", type(ACT)("grace", "x" * 1001))

    def test_the_data_version_is_the_administrators_and_resets_nothing(self, ledger: Ledger) -> None:
        reserve(ledger, charge(0.75))
        assert ledger.data_version() == 1
        assert ledger.bump_data(ACT) == 2
        assert ledger.data_version() == 2
        assert ledger.budget("ada").epsilon_left == 0.25

    def test_a_load_names_the_copy_that_was_made_of_it(self, ledger: Ledger) -> None:
        assert ledger.mirrored_load() == (1, None)
        assert ledger.bump_data(ACT, "a copy") == 2
        assert ledger.mirrored_load() == (2, "a copy")
        ledger.bump_data(ACT)
        assert ledger.mirrored_load() == (3, None)
        assert "mirror" not in ledger.entries(acts_only=True)[-1].content, "old entries hash as they did"
        assert ledger.verify().fault is None

    def test_the_last_accepted_policy_is_known(self, ledger: Ledger) -> None:
        assert (ledger.accepted_policy(), ledger.accepted_ownership()) == (None, None)
        ledger.accept_policy("one", ["visit: owned"], [], ACT)
        assert ledger.accepted_ownership() == ("visit: owned",)
        ledger.accept_policy("two", [], [], ACT)
        assert (ledger.accepted_policy(), ledger.accepted_ownership()) == ("two", ())
        assert "acknowledged" not in ledger.entries(acts_only=True)[-1].content, "old entries hash as they did"
        ledger.accept_policy("three", [], [], ACT, ["visit: 4 rows without an owner"])
        assert ledger.entries(acts_only=True)[-1].content["acknowledged"] == ["visit: 4 rows without an owner"]
        assert ledger.verify().fault is None

    def test_checked_keys_are_those_of_this_version_and_this_structure(self, ledger: Ledger) -> None:
        assert ledger.checked_keys("structure") == frozenset()
        ledger.note_checked(1, "structure", ["visit (id)"], ACT)
        assert ledger.checked_keys("structure") == {"visit (id)"}
        assert ledger.checked_keys("another") == frozenset()
        ledger.bump_data(ACT)
        assert ledger.checked_keys("structure") == frozenset()
        ledger.note_checked(1, "structure", ["visit (id)"], ACT)
        assert ledger.checked_keys("structure") == frozenset(), "counted before the new load"
        ledger.note_checked(2, "structure", ["visit (id)"], ACT)
        assert ledger.checked_keys("structure") == {"visit (id)"}
        assert ledger.verify().fault is None

    def test_closed_periods_are_noted_once_for_each_version(self, ledger: Ledger) -> None:
        assert ledger.noted_periods() is None
        assert ledger.note_periods(_noted(1))
        assert ledger.noted_periods() == _noted(1)
        assert not ledger.note_periods(replace(_noted(1), fingerprint="other")), "noted before"
        assert not ledger.note_periods(_noted(2)), "there is no such load yet"
        assert ledger.bump_data(ACT) == 2
        assert ledger.noted_periods() == _noted(1), "the newest there is"
        assert not ledger.note_periods(_noted(1))
        assert ledger.note_periods(_noted(2))
        assert ledger.noted_periods() == _noted(2)
        assert [entry.kind for entry in ledger.entries(acts_only=True)][-3:] == ["periods", "data", "periods"]
        assert ledger.verify().fault is None

    def test_answers_that_are_paid_are_found_among_many_keys(self, ledger: Ledger) -> None:
        ledger.add_analyst("eve", key_hash("ng_eve"), 1.0, 0.0)
        ledger.commit(reserve(ledger, charge(0.1, answer_key="one")), b"noisy")
        ledger.commit(reserve(ledger, charge(0.1, analyst="eve", answer_key="two")), b"noisy")
        ledger.fail(reserve(ledger, charge(0.1, answer_key="three")))
        reserve(ledger, charge(0.1, answer_key="four"))
        many = ["one", "two", "three", "four", *(f"none {number}" for number in range(1200))]
        assert ledger.paid_among(many, "ada") == {"one"}
        assert ledger.paid_among(list(reversed(many)), "eve") == {"two"}
        assert ledger.paid_among([], "ada") == frozenset()

    def test_charges_are_listed_in_pages(self, ledger: Ledger, clock: Clock) -> None:
        ledger.add_analyst("eve", key_hash("ng_eve"), 1.0, 0.0)
        for analyst in ("ada", "eve", "ada"):
            ledger.commit(reserve(ledger, charge(0.1, analyst=analyst)))
        assert [record.number for record in ledger.charges("ada")] == [1, 3]
        assert [record.number for record in ledger.charges(after=1, limit=1)] == [2]
        record = ledger.charges("eve")[0]
        assert record.charge == charge(0.1, analyst="eve")
        assert record.accounts == ("analyst:eve",)
        assert record.reserved_at_ms == record.settled_at_ms == 1_700_000_000_000

    def test_the_head_proves_the_ledger(self, ledger: Ledger) -> None:
        before = ledger.verify()
        assert (before.entries, before.fault) == (3, None)
        reserve(ledger, charge(0.1))
        after = ledger.verify()
        assert after.entries == 4
        assert after.head == ledger.entries(after=3)[0].hash.hex() != before.head

    def test_closing_twice_is_once_and_the_closed_refuse(self, ledger: Ledger) -> None:
        ledger.close()
        ledger.close()
        with pytest.raises(LedgerUnavailable):
            reserve(ledger, charge(0.1))
        with pytest.raises(LedgerUnavailable):
            ledger.analyst_by_key(key_hash("ng_ada"))
