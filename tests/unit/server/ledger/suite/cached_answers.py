"""Answers that are kept, and who may have them again."""

from __future__ import annotations

import pytest

from privacy.accounting.event import ZCDP
from server.errors import LedgerInvalid, SettledBefore
from server.ledger.account import Grant
from server.ledger.analyst import key_hash
from server.ledger.charge import Charge
from server.ledger.ledger import Ledger
from tests.support.charging import reserve
from tests.unit.server.ledger.charges import ACT, charge
from tests.unit.server.ledger.suite.ledger_case import LedgerCase, left


class CachedAnswers(LedgerCase):
    def test_an_answer_is_kept_with_its_charge(self, ledger: Ledger) -> None:
        assert ledger.cached_answer("question", "ada") is None
        reservation = reserve(ledger, charge(0.25, answer_key="question", event=ZCDP(0.03)))
        assert ledger.cached_answer("question", "ada") is None
        ledger.commit(reservation, b"\x00 noisy")
        kept = ledger.cached_answer("question", "ada")
        assert kept is not None
        assert (kept.number, kept.answer, kept.paid) == (1, b"\x00 noisy", True)
        assert kept.charge == reservation.charge
        assert "noisy" not in repr(kept)

    def test_what_failed_keeps_no_answer(self, ledger: Ledger) -> None:
        ledger.fail(reserve(ledger, charge(0.25, answer_key="question")))
        ledger.commit(reserve(ledger, charge(0.25)), b"without a key")
        assert ledger.cached_answer("question", "ada") is None
        assert ledger.cached_answer("", "ada") is None

    def test_another_analyst_pays_in_full_and_the_dataset_does_not(self, ledger: Ledger) -> None:
        ledger.grant("group:team", Grant(2.0), ACT)
        ledger.grant("dataset", Grant(3.0), ACT)
        ledger.add_analyst("eve", key_hash("ng_eve"), 1.0, 0.0, group="team")
        ledger.commit(reserve(ledger, charge(0.25, answer_key="question")), b"noisy")
        kept = ledger.cached_answer("question", "eve")
        assert kept is not None
        assert not kept.paid and not kept.answer
        again = reserve(ledger, charge(0.25, analyst="eve", answer_key="question", repeats=kept.number))
        unsettled = ledger.cached_answer("question", "eve")
        assert unsettled is not None
        assert not unsettled.paid
        ledger.commit(again)
        assert left(ledger) == {"analyst:ada": 0.75, "analyst:eve": 0.75, "group:team": 1.75, "dataset": 2.75}
        kept = ledger.cached_answer("question", "eve")
        assert kept is not None
        assert kept.paid

    def test_a_dataset_account_that_is_younger_than_an_answer_pays_for_it_once(self, ledger: Ledger) -> None:
        for name in ("eve", "bob"):
            ledger.add_analyst(name, key_hash(f"ng_{name}"), 1.0, 0.0)
        ledger.commit(reserve(ledger, charge(0.25, answer_key="question")), b"noisy")
        ledger.grant("dataset", Grant(3.0), ACT)
        kept = ledger.cached_answer("question", "eve")
        assert kept is not None and left(ledger)["dataset"] == 3.0
        for name in ("eve", "bob"):
            ledger.commit(reserve(ledger, charge(0.25, analyst=name, answer_key="question", repeats=kept.number)))
            assert left(ledger)["dataset"] == 2.75

    def test_of_two_who_raced_one_answer_leaves(self, ledger: Ledger) -> None:
        """Else answers that are computed from it would tell of both. Each has read private rows, and pays."""
        ledger.add_analyst("eve", key_hash("ng_eve"), 1.0, 0.0)
        first = reserve(ledger, charge(0.25, answer_key="question"))
        second = reserve(ledger, charge(0.25, analyst="eve", answer_key="question"))
        ledger.commit(second, b"to eve")
        with pytest.raises(SettledBefore):
            ledger.commit(first, b"to ada")
        assert [one.state for one in ledger.charges()] == ["failed", "committed"]
        assert left(ledger) == {"analyst:ada": 0.75, "analyst:eve": 0.75}
        for analyst, answer in (("ada", b""), ("eve", b"to eve")):
            kept = ledger.cached_answer("question", analyst)
            assert kept is not None
            assert (kept.number, kept.answer, kept.paid) == (second.id, answer, bool(answer))

    def test_only_a_kept_answer_is_repeated_and_at_its_price(self, ledger: Ledger) -> None:
        cases: list[Charge] = [
            charge(0.2, answer_key="question", repeats=1),  # cheaper
            charge(0.25, 1e-9, answer_key="question", repeats=1),
            charge(0.25, answer_key="question", repeats=1, event=ZCDP(1e-9)),
            charge(0.25, answer_key="other", repeats=1),
            charge(0.25, answer_key="question", repeats=2),  # not answered
            charge(0.25, answer_key="question", repeats=9),
            charge(0.25, repeats=1),
        ]
        ledger.commit(reserve(ledger, charge(0.25, answer_key="question")), b"noisy")
        reserve(ledger, charge(0.25, answer_key="question"))
        for asked in cases:
            with pytest.raises(LedgerInvalid):
                reserve(ledger, asked)
            assert ledger.budget("ada").epsilon_left == 0.5, asked

    def test_the_newest_answer_to_a_plan_is_found(self, ledger: Ledger) -> None:
        for epsilon in (0.1, 0.2):
            ledger.commit(reserve(ledger, charge(epsilon, answer_key=f"at {epsilon}")), b"noisy")
        reserve(ledger, charge(0.3, answer_key="unanswered"))
        ledger.commit(reserve(ledger, charge(0.3)), b"not kept")
        newest = ledger.answers_to("ada", "plan", limit=5)
        assert [one.charge.answer_key for one in newest] == ["at 0.2", "at 0.1"]
        assert ledger.answers_to("ada", "plan") == newest[:1]
        assert ledger.answers_to("eve", "plan") == ()
        assert ledger.answers_to("ada", "another plan") == ()

    def test_answers_that_an_older_version_kept_under_longer_keys_are_read(self, ledger: Ledger) -> None:
        """Thresholds could be taken from earlier answers once, and the key said from which."""
        base = 64 * "a"
        old = f"{base}+12:4,"
        ledger.commit(reserve(ledger, charge(0.1, answer_key=old)), b"noisy")
        assert [one.charge.answer_key for one in ledger.answers_to("ada", "plan")] == [old]
        assert ledger.cached_answer(base, "ada") is None
        assert ledger.paid_among([base], "ada") == frozenset()
        assert ledger.verify().fault is None

    def test_an_analysts_answers_to_a_plan_the_newest_first(self, ledger: Ledger) -> None:
        ledger.add_analyst("eve", key_hash("ng_eve"), 1.0, 0.0)
        for key in ("one", "two", "three"):
            ledger.commit(reserve(ledger, charge(0.1, answer_key=key)), b"noisy")
        ledger.commit(reserve(ledger, charge(0.1, analyst="eve", answer_key="two", repeats=2)))
        ledger.commit(reserve(ledger, charge(0.1)))
        ledger.fail(reserve(ledger, charge(0.1, answer_key="one")))

        def keys(limit: int = 9) -> list[str]:
            return [one.charge.answer_key for one in ledger.answers_to("ada", "plan", limit=limit)]

        assert keys() == ["three", "two", "one"]
        assert keys(limit=2) == ["three", "two"]
        assert ledger.answers_to("ada", "another plan") == ()
