"""Of all who ask a question at once, one measures."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from server.answers.cached_answers import CachedAnswers, Served, Wanted
from server.answers.encoding import encoded
from server.answers.released import Released
from server.backends.columns import Domain
from server.errors import BudgetExhausted, SettledBefore
from server.ledger.analyst import key_hash
from server.ledger.charge import Reservation
from server.ledger.ledger import Ledger
from server.query import Budget
from tests.support.charging import claim, reserve
from tests.support.released_plan import noisy_answer
from tests.unit.server.ledger.charges import charge
from tests.unit.server.ledger.suite.ledger_case import Clock, LedgerCase, Reopen, left, soon


class Claims(LedgerCase):
    def test_of_two_proxies_one_gets_a_question(self, ledger: Ledger, reopen: Reopen) -> None:
        ledger.add_analyst("eve", key_hash("ng_eve"), 1.0, 0.0)
        other = reopen()
        first = claim(ledger, charge(0.25, answer_key="question"))
        assert first is not None
        for analyst in ("ada", "eve"):
            assert claim(other, charge(0.25, analyst=analyst, answer_key="question")) is None
        assert claim(other, charge(0.25, answer_key="another question")) is not None
        ledger.commit(first, b"noisy")
        assert claim(other, charge(0.25, answer_key="question")) is None
        assert left(other) == {"analyst:ada": 0.5, "analyst:eve": 1.0}

    @pytest.mark.parametrize("end", ["fail", "release"])
    def test_who_gave_a_question_up_leaves_it_to_others(self, ledger: Ledger, reopen: Reopen, end: str) -> None:
        other, first = reopen(), claim(ledger, charge(0.25, answer_key="question"))
        assert first is not None
        getattr(ledger, end)(first)
        ledger.add_analyst("eve", key_hash("ng_eve"), 1.0, 0.0)  # ada is not asked again what has failed
        assert claim(other, charge(0.25, analyst="eve", answer_key="question")) is not None

    def test_several_questions_are_claimed_together_or_not_at_all(self, ledger: Ledger, reopen: Reopen) -> None:
        ledger.add_analyst("eve", key_hash("ng_eve"), 1.0, 0.0)
        other, keys = reopen(), ("one", "two", "three")
        assert claim(other, charge(0.25, analyst="eve", answer_key="three")) is not None
        before = len(ledger.charges("ada"))
        assert ledger.claim_all([charge(0.25, answer_key=key) for key in keys]) is None
        with pytest.raises(BudgetExhausted):
            ledger.claim_all([charge(0.5, answer_key="four"), charge(0.51, answer_key="five")])
        assert len(ledger.charges("ada")) == before, "nothing was written, so nothing is given back"
        assert left(ledger)["analyst:ada"] == 1.0
        both = ledger.claim_all([charge(0.25, answer_key=key) for key in keys[:2]])
        assert both is not None and [one.charge.answer_key for one in both] == ["one", "two"]
        assert left(ledger)["analyst:ada"] == 0.5
        assert claim(other, charge(0.25, answer_key="two")) is None
        for one in both:
            ledger.commit(one, b"noisy")
        assert ledger.verify().entries >= 4

    def test_the_dead_hold_no_question_and_the_late_do(self, ledger: Ledger, reopen: Reopen, clock: Clock) -> None:
        """A question may take as long as the policy allows, and each of its parts after the others."""
        other = reopen()
        assert claim(ledger, charge(0.1, answer_key="one")) is not None
        clock.seconds += 1_800.0
        assert claim(other, charge(0.1, answer_key="one")) is None
        ledger.close()
        assert soon(lambda: claim(other, charge(0.1, answer_key="one"))) is not None
        assert other.budget("ada").epsilon_left == 0.8

    def test_a_question_whose_end_was_not_written_is_free_after_an_hour(
        self, ledger: Ledger, reopen: Reopen, clock: Clock
    ) -> None:
        """As after an outage of the ledger, with a proxy that lives. Of two answers one leaves all the same."""
        other = reopen()
        first = claim(ledger, charge(0.1, answer_key="one"))
        clock.seconds += 3_601.0
        second = claim(other, charge(0.1, answer_key="one"))
        assert first is not None and second is not None
        other.commit(second, b"noisy")
        with pytest.raises(SettledBefore):
            ledger.commit(first, b"noisier")

    def test_an_answer_is_sold_again_once_to_each(self, ledger: Ledger, reopen: Reopen) -> None:
        ledger.add_analyst("eve", key_hash("ng_eve"), 1.0, 0.0)
        other = reopen()
        ledger.commit(reserve(ledger, charge(0.25, answer_key="question")), b"noisy")
        again = charge(0.25, analyst="eve", answer_key="question", repeats=1)
        sold = claim(ledger, again)
        assert sold is not None
        assert claim(other, again) is None
        assert claim(other, charge(0.25, answer_key="question", repeats=1)) is None  # ada's own
        ledger.commit(sold)
        assert claim(other, again) is None
        assert other.budget("eve").epsilon_left == 0.75

    def test_two_proxies_that_are_asked_at_once_measure_once(self, ledger: Ledger, reopen: Reopen) -> None:
        ledger.add_analyst("eve", key_hash("ng_eve"), 1.0, 0.0)
        together, measured = threading.Barrier(8), []
        released = Released(Domain(()), (noisy_answer([7.0]),))

        def ask(book: Ledger, kept: CachedAnswers, analyst: str) -> Served:
            asked = charge(0.25, analyst=analyst, answer_key="question")

            def measure(reservation: Reservation, served: Mapping[str, Served]) -> tuple[Released, Budget]:
                measured.append(reservation.id)
                time.sleep(0.2)
                return released, book.commit(reservation, encoded(released))

            together.wait(20)
            return kept.serve([Wanted(asked, lambda: None, measure)], [])["question"]

        proxies = [(book, CachedAnswers(book)) for book in (ledger, reopen())]
        with ThreadPoolExecutor(8) as threads:
            asked = [threads.submit(ask, *proxies[n % 2], ("ada", "eve")[n // 2 % 2]) for n in range(8)]
            served = [one.result(30) for one in asked]
        assert len(measured) == 1
        assert {float(one.released.noisy[0].values[0]) for one in served} == {7.0}
        assert sorted(one.epsilon for one in served) == [0.0] * 6 + [0.25] * 2
        assert left(ledger) == {"analyst:ada": 0.75, "analyst:eve": 0.75}
