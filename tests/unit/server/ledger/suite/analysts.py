"""Analysts, their keys and roles."""

from __future__ import annotations

import math

import pytest

from planner.errors import InvalidSetting
from server.errors import AnalystExists, InvalidRequest, UnknownAnalyst
from server.ledger.analyst import Analyst, Credentials, key_hash
from server.ledger.ledger import Ledger
from tests.support.charging import reserve
from tests.unit.server.ledger.charges import ACT, charge
from tests.unit.server.ledger.suite.ledger_case import LedgerCase


class Analysts(LedgerCase):
    def test_a_key_finds_its_analyst(self, ledger: Ledger) -> None:
        assert ledger.analyst_by_key(key_hash("ng_ada")) == "ada"
        assert ledger.analyst_by_key(key_hash("ng_eve")) is None

    def test_an_analyst_is_added_once(self, ledger: Ledger) -> None:
        with pytest.raises(AnalystExists):
            ledger.add_analyst("ada", key_hash("ng_other"), 9.0, 0.0)
        with pytest.raises(AnalystExists):
            ledger.add_analyst("eve", key_hash("ng_ada"), 9.0, 0.0)
        assert ledger.budget("ada").epsilon == 1.0
        assert ledger.analysts() == (Analyst("ada", "analyst", None, True),)

    def test_a_name_is_a_word(self, ledger: Ledger) -> None:
        for name in ["", "a b", "a\n", "é", "a" * 65, "'; --"]:
            with pytest.raises(InvalidRequest):
                ledger.add_analyst(name, key_hash("ng_new"), 1.0, 0.0)

    def test_a_budget_is_a_number(self, ledger: Ledger) -> None:
        with pytest.raises(InvalidSetting):
            ledger.add_analyst("eve", key_hash("ng_eve"), math.inf, 0.0)

    def test_a_rotated_key_opens_alone(self, ledger: Ledger) -> None:
        ledger.set_credentials("ada", Credentials(key_hash("ng_new"), "SCRAM-SHA-256$4096:c2FsdA==$k:s"), ACT)
        assert ledger.analyst_by_key(key_hash("ng_ada")) is None
        assert ledger.analyst_by_key(key_hash("ng_new")) == "ada"
        assert ledger.scram_verifier("ada") == "SCRAM-SHA-256$4096:c2FsdA==$k:s"
        assert ledger.scram_verifier("eve") is None

    def test_a_key_belongs_to_one(self, ledger: Ledger) -> None:
        ledger.add_analyst("eve", key_hash("ng_eve"), 1.0, 0.0)
        with pytest.raises(AnalystExists):
            ledger.set_credentials("eve", Credentials(key_hash("ng_ada")), ACT)
        assert ledger.analyst_by_key(key_hash("ng_eve")) == "eve"

    def test_the_disabled_open_and_spend_nothing(self, ledger: Ledger) -> None:
        reserve(ledger, charge(0.25))
        ledger.set_enabled("ada", False, ACT)
        assert ledger.analyst_by_key(key_hash("ng_ada")) is None
        assert ledger.scram_verifier("ada") is None
        assert [ledger.is_disabled(key_hash(key)) for key in ("ng_ada", "ng_eve")] == [True, False]
        assert ledger.entries()[-1].kind == "disabled"
        with pytest.raises(UnknownAnalyst):
            reserve(ledger, charge(0.25))
        ledger.set_enabled("ada", True, ACT)
        assert ledger.budget("ada").epsilon_left == 0.75

    def test_a_role_changes(self, ledger: Ledger) -> None:
        ledger.set_credentials("ada", Credentials("b" * 64, "verifier"), ACT)
        assert ledger.scram_verifier("ada") == "verifier"
        ledger.set_role("ada", "auditor", ACT)
        assert ledger.scram_verifier("ada") is None  # no other role may ask
        assert ledger.analyst("ada").role == "auditor"
        with pytest.raises(UnknownAnalyst):
            ledger.set_role("eve", "admin", ACT)
