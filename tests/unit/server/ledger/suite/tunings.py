"""What is told to everybody is spent once, and stated as a part of every account's guarantee."""

from __future__ import annotations

import csv
import io

import pytest

from planner.errors import InvalidSetting
from server.errors import BudgetExhausted, LedgerInvalid
from server.ledger.account import Grant, guarantee
from server.ledger.analyst import key_hash
from server.ledger.charge import shown_ms
from server.ledger.export import charges_csv
from server.ledger.ledger import Ledger
from tests.support.charging import reserve
from tests.unit.server.ledger.charges import ACT, charge
from tests.unit.server.ledger.suite.ledger_case import LedgerCase, Reopen, left

ROWS = [("visit", "rows")]
FOUND = [{"unit": "1.0", "first": 0, "people": [5, -1, 2]}]


def tuning(ledger: Ledger) -> dict[str, float]:
    return {account.name: account.tuning_epsilon for account in ledger.accounts()}


class Tunings(LedgerCase):
    def test_it_adds_to_the_guarantee_of_everybody_once(self, ledger: Ledger) -> None:
        assert ledger.reserve_tuning(0.5, "policy", ROWS, ACT) == 1
        ledger.settle_tuning(1, FOUND, ACT)
        assert ledger.reserve_tuning(0.25, "policy", ROWS, ACT) == 2
        ledger.settle_tuning(2, FOUND, ACT)
        ledger.add_analyst("eve", key_hash("ng_eve"), 2.0, 0.0)
        assert tuning(ledger) == {"analyst:ada": 0.75, "analyst:eve": 0.75}
        assert left(ledger) == {"analyst:ada": 1.0, "analyst:eve": 2.0}, "nobody's own budget pays"
        (ada,) = ledger.remaining_questions("ada").accounts
        assert guarantee(ada) == "epsilon 1, delta 1e-06 in total; and epsilon 0.75 of tuning, once, in addition"
        assert [(one.number, one.state, one.version) for one in ledger.tunings()] == [
            (1, "committed", 1),
            (2, "committed", 1),
        ]
        assert ledger.tunings()[0].histograms == tuple(FOUND)

    def test_what_an_analyst_was_told_is_the_own_spending_and_tuning(self, ledger: Ledger) -> None:
        reserve(ledger, charge(0.25))
        ledger.reserve_tuning(0.5, "policy", ROWS, ACT)
        (ada,) = ledger.accounts("ada")
        assert (ada.spent_epsilon, ada.tuning_epsilon) == (0.25, 0.5)

    @pytest.mark.parametrize("terms", [Grant(1.0), Grant(3.0, 1e-6, "zcdp"), Grant(3.0, 1e-6, "renyi")])
    def test_the_dataset_pays_where_it_has_an_account(self, ledger: Ledger, terms: Grant) -> None:
        ledger.reserve_tuning(0.125, "policy", ROWS, ACT)
        ledger.grant("dataset", terms, ACT)
        assert tuning(ledger) == {"analyst:ada": 0.125, "dataset": 0.125}, "it has not paid for what was before it"
        before = left(ledger)["dataset"]
        number = ledger.reserve_tuning(0.5, "policy", ROWS, ACT)
        assert left(ledger)["dataset"] < before
        assert tuning(ledger) == {"analyst:ada": 0.625, "dataset": 0.125}
        entries = len(ledger.entries())
        with pytest.raises(BudgetExhausted, match="dataset"):
            ledger.reserve_tuning(9.0, "policy", ROWS, ACT)
        assert len(ledger.entries()) == entries, "nothing is written of what does not fit"
        ledger.settle_tuning(number, None, ACT)
        assert left(ledger)["dataset"] == before
        assert tuning(ledger) == {"analyst:ada": 0.125, "dataset": 0.125}

    def test_it_is_settled_once(self, ledger: Ledger) -> None:
        with pytest.raises(LedgerInvalid, match="tuning 1"):
            ledger.settle_tuning(1, FOUND, ACT)
        number = ledger.reserve_tuning(0.5, "policy", ROWS, ACT)
        ledger.settle_tuning(number, FOUND, ACT)
        for again in (FOUND, None):
            with pytest.raises(LedgerInvalid, match="reserved"):
                ledger.settle_tuning(number, again, ACT)
        for epsilon in (0.0, -1.0, float("nan"), float("inf")):
            with pytest.raises(InvalidSetting):
                ledger.reserve_tuning(epsilon, "policy", ROWS, ACT)

    def test_after_a_crash_it_stands(self, ledger: Ledger, reopen: Reopen) -> None:
        ledger.grant("dataset", Grant(1.0), ACT)
        ledger.reserve_tuning(0.5, "policy", ROWS, ACT)
        ledger.close()
        reopened = reopen()
        reopened.recover()
        assert left(reopened)["dataset"] == 0.5
        assert tuning(reopened) == {"analyst:ada": 0.5, "dataset": 0.0}
        (record,) = reopened.tunings()
        assert (record.state, record.histograms, record.paid) == ("reserved", (), True)

    def test_it_is_in_every_export(self, ledger: Ledger) -> None:
        reserve(ledger, charge(0.25))
        ledger.settle_tuning(ledger.reserve_tuning(0.5, "policy", ROWS, ACT), FOUND, ACT)
        rows = list(csv.DictReader(io.StringIO("".join(charges_csv(ledger)))))
        assert [(one["analyst"], one["epsilon"], one["state"], one["mechanism"]) for one in rows] == [
            ("ada", "0.25", "reserved", "gem"),
            ("", "0.5", "committed", "tune"),
        ]
        reserved, settled = ledger.entries(acts_only=True)[-2:]
        assert (reserved.kind, settled.kind) == ("tuning", "tuned")
        assert reserved.shown_at_ms == reserved.at_ms
        assert settled.shown_at_ms == shown_ms(settled.at_ms), "how long counting took depends on the rows"
