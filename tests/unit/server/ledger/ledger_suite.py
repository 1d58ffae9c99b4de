"""What every ledger does, whatever holds its tables. A store's test file inherits this and brings the fixtures."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from planner.errors import InvalidSetting
from privacy.accounting.event import ZCDP, BoundedRange
from server.answers.encoding import encoded
from server.answers.kept_answers import KeptAnswers
from server.answers.released import Released
from server.answers.served import Served
from server.backends.columns import Domain
from server.errors import (
    AnalystExists,
    BudgetExhausted,
    DuplicateRequest,
    InvalidRequest,
    LedgerInvalid,
    LedgerUnavailable,
    QueryTooExpensive,
    UnknownAccount,
    UnknownAnalyst,
)
from server.keys import key_hash
from server.ledger.account import Grant
from server.ledger.analyst import Analyst, Credentials
from server.ledger.book import Book
from server.ledger.charge import Charge, Reservation
from server.ledger.ledger import Ledger
from server.query import Budget
from tests.support.released_plan import noisy_answer
from tests.unit.server.ledger.charges import ACT, charge

Reopen = Callable[[], Book]
"""Opens the ledger of the test once more, beside what is open; closed after the test."""


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.seconds = 1_700_000_000.0

    def __call__(self) -> float:
        return self.seconds


def states(ledger: Book) -> list[str]:
    return [record.state for record in ledger.charges()]


def left(ledger: Book, analyst: str | None = None) -> dict[str, float]:
    return {account.name: account.epsilon_left for account in ledger.accounts(analyst)}


class LedgerSuite:
    """To be inherited with the fixtures `ledger` (ada may spend epsilon 1, delta 1e-6), `clock` and `reopen`."""

    @pytest.fixture(autouse=True)
    def _verified_afterwards(self, reopen: Reopen) -> Iterator[None]:
        """Whatever a test did, the ledger follows from its entries."""
        yield
        assert reopen().verify().fault is None

    def test_it_is_a_ledger(self, ledger: Book) -> None:
        promised: Ledger = ledger
        assert promised.budget("ada") == Budget(1.0, 1e-6, 1.0, 1e-6)

    # Analysts

    def test_a_key_finds_its_analyst(self, ledger: Book) -> None:
        assert ledger.analyst_by_key(key_hash("ng_ada")) == "ada"
        assert ledger.analyst_by_key(key_hash("ng_eve")) is None

    def test_an_analyst_is_added_once(self, ledger: Book) -> None:
        with pytest.raises(AnalystExists):
            ledger.add_analyst("ada", key_hash("ng_other"), 9.0, 0.0)
        with pytest.raises(AnalystExists):
            ledger.add_analyst("eve", key_hash("ng_ada"), 9.0, 0.0)
        assert ledger.budget("ada").epsilon == 1.0
        assert ledger.analysts() == (Analyst("ada", "analyst", None, True),)

    @pytest.mark.parametrize("name", ["", "a b", "a\n", "é", "a" * 65, "'; --"])
    def test_a_name_is_a_word(self, ledger: Book, name: str) -> None:
        with pytest.raises(InvalidRequest):
            ledger.add_analyst(name, key_hash("ng_new"), 1.0, 0.0)

    def test_a_budget_is_a_number(self, ledger: Book) -> None:
        with pytest.raises(InvalidSetting):
            ledger.add_analyst("eve", key_hash("ng_eve"), math.inf, 0.0)

    def test_a_rotated_key_opens_alone(self, ledger: Book) -> None:
        ledger.set_credentials("ada", Credentials(key_hash("ng_new"), "SCRAM-SHA-256$4096:c2FsdA==$k:s"), ACT)
        assert ledger.analyst_by_key(key_hash("ng_ada")) is None
        assert ledger.analyst_by_key(key_hash("ng_new")) == "ada"
        assert ledger.scram_verifier("ada") == "SCRAM-SHA-256$4096:c2FsdA==$k:s"
        assert ledger.scram_verifier("eve") is None

    def test_a_key_belongs_to_one(self, ledger: Book) -> None:
        ledger.add_analyst("eve", key_hash("ng_eve"), 1.0, 0.0)
        with pytest.raises(AnalystExists):
            ledger.set_credentials("eve", Credentials(key_hash("ng_ada")), ACT)
        assert ledger.analyst_by_key(key_hash("ng_eve")) == "eve"

    def test_the_disabled_open_and_spend_nothing(self, ledger: Book) -> None:
        ledger.reserve(charge(0.25))
        ledger.set_enabled("ada", False, ACT)
        assert ledger.analyst_by_key(key_hash("ng_ada")) is None
        assert ledger.scram_verifier("ada") is None
        with pytest.raises(UnknownAnalyst):
            ledger.reserve(charge(0.25))
        ledger.set_enabled("ada", True, ACT)
        assert ledger.budget("ada").epsilon_left == 0.75

    def test_a_role_changes(self, ledger: Book) -> None:
        ledger.set_credentials("ada", Credentials("b" * 64, "verifier"), ACT)
        assert ledger.scram_verifier("ada") == "verifier"
        ledger.set_role("ada", "auditor", ACT)
        assert ledger.scram_verifier("ada") is None  # no other role may ask
        assert ledger.analyst("ada").role == "auditor"
        with pytest.raises(UnknownAnalyst):
            ledger.set_role("eve", "admin", ACT)

    # Reserving and settling

    def test_a_reservation_is_spent_at_once(self, ledger: Book) -> None:
        reservation = ledger.reserve(charge(0.25, 1e-7))
        assert reservation == Reservation(1, charge(0.25, 1e-7))
        assert ledger.budget("ada") == Budget(1.0, 1e-6, 0.75, 9e-7)

    def test_commit_keeps_the_charge(self, ledger: Book) -> None:
        assert ledger.commit(ledger.reserve(charge(0.25))).epsilon_left == 0.75
        assert states(ledger) == ["committed"]

    def test_fail_keeps_the_charge(self, ledger: Book) -> None:
        ledger.fail(ledger.reserve(charge(0.25)))
        assert ledger.budget("ada").epsilon_left == 0.75
        assert states(ledger) == ["failed"]

    def test_release_gives_it_back(self, ledger: Book) -> None:
        ledger.grant("dataset", Grant(2.0, 1e-5), ACT)
        ledger.release(ledger.reserve(charge(0.25, 1e-7)))
        assert ledger.budget("ada") == Budget(1.0, 1e-6, 1.0, 1e-6)
        assert left(ledger) == {"analyst:ada": 1.0, "dataset": 2.0}
        assert states(ledger) == ["released"]

    def test_a_charge_is_settled_once(self, ledger: Book) -> None:
        reservation = ledger.reserve(charge(0.25))
        ledger.commit(reservation)
        for settle in (ledger.commit, ledger.fail, ledger.release):
            with pytest.raises(LedgerInvalid):
                settle(reservation)
        assert ledger.budget("ada").epsilon_left == 0.75

    def test_ten_tenths_are_one(self, ledger: Book) -> None:
        for _ in range(10):
            ledger.reserve(charge(0.1))
        assert ledger.budget("ada").epsilon_left == 0.0
        with pytest.raises(BudgetExhausted):
            ledger.reserve(charge(1e-9))

    def test_too_much_takes_nothing_and_the_hint_fits(self, ledger: Book) -> None:
        ledger.reserve(charge(0.123456789))
        with pytest.raises(BudgetExhausted) as refused:
            ledger.reserve(charge(0.9))
        assert refused.value.hint == "At most epsilon 0.876543211 still fits."
        ledger.reserve(charge(0.876543211))
        assert ledger.budget("ada").epsilon_left == 0.0
        assert len(states(ledger)) == 2

    def test_delta_has_its_own_limit(self, ledger: Book) -> None:
        with pytest.raises(BudgetExhausted, match="delta"):
            ledger.reserve(charge(0.1, 2e-6))
        assert ledger.budget("ada").epsilon_left == 1.0

    def test_enormous_charges_are_refused(self, ledger: Book) -> None:
        with pytest.raises(BudgetExhausted):
            ledger.reserve(charge(1e9))
        with pytest.raises(InvalidSetting):
            ledger.reserve(charge(1e300))

    def test_the_largest_budget_does_not_overflow(self, ledger: Book) -> None:
        ledger.add_analyst("max", key_hash("ng_max"), 1e9, 1 - 2**-53)
        ledger.grant("dataset", Grant(1e9, 0.5), ACT)
        ledger.reserve(charge(1e9, analyst="max"))
        assert ledger.budget("max").epsilon_left == 0.0
        with pytest.raises(BudgetExhausted):
            ledger.reserve(charge(1e9, analyst="max"))
        with pytest.raises(InvalidSetting):
            ledger.top_up("analyst:max", 1.0, 0.0, ACT)

    def test_an_unknown_analyst_has_no_budget(self, ledger: Book) -> None:
        for ask in (
            ledger.budget,
            ledger.analyst,
            ledger.accounts,
            lambda name: ledger.reserve(charge(0.1, 0.0, name)),
        ):
            with pytest.raises(UnknownAnalyst):
                ask("eve")

    def test_numbers_have_no_gaps(self, ledger: Book) -> None:
        with pytest.raises(BudgetExhausted):
            ledger.reserve(charge(2.0))
        assert [ledger.reserve(charge(0.1)).id for _ in range(3)] == [1, 2, 3]

    def test_an_idempotency_key_charges_once(self, ledger: Book) -> None:
        first = ledger.reserve(charge(0.1, idempotency_key="k", request_hash="h"))
        with pytest.raises(DuplicateRequest):
            ledger.reserve(charge(0.1, idempotency_key="k"))
        ledger.fail(first)
        record = ledger.charge_of("ada", "k")
        assert record is not None
        assert (record.number, record.state, record.charge.idempotency_key) == (1, "failed", "k")
        assert record.charge.request_hash == "h"
        assert ledger.charge_of("ada", "") is None
        assert ledger.charge_of("eve", "k") is None
        assert ledger.budget("ada").epsilon_left == 0.9

    # Several accounts

    def test_all_accounts_pay(self, ledger: Book) -> None:
        ledger.grant("group:team", Grant(2.0), ACT)
        ledger.grant("dataset", Grant(3.0), ACT)
        ledger.set_group("ada", "team", ACT)
        ledger.reserve(charge(0.5))
        assert left(ledger, "ada") == {"analyst:ada": 0.5, "group:team": 1.5, "dataset": 2.5}

    def test_colluders_cannot_spend_more_than_their_group(self, ledger: Book) -> None:
        ledger.grant("group:team", Grant(1.5), ACT)
        ledger.add_analyst("eve", key_hash("ng_eve"), 1.0, 0.0, group="team")
        ledger.set_group("ada", "team", ACT)
        ledger.reserve(charge(1.0))
        with pytest.raises(BudgetExhausted, match="group") as refused:
            ledger.reserve(charge(1.0, analyst="eve"))
        assert refused.value.hint == "At most epsilon 0.5 still fits."
        assert left(ledger, "eve") == {"analyst:eve": 1.0, "group:team": 0.5}  # nothing was taken anywhere

    def test_all_together_cannot_spend_more_than_the_dataset(self, ledger: Book) -> None:
        ledger.grant("dataset", Grant(1.5), ACT)
        ledger.add_analyst("eve", key_hash("ng_eve"), 1.0, 0.0)
        ledger.reserve(charge(1.0))
        with pytest.raises(BudgetExhausted, match="dataset"):
            ledger.reserve(charge(0.6, analyst="eve"))
        ledger.reserve(charge(0.5, analyst="eve"))

    def test_leaving_a_group_gives_it_nothing_back(self, ledger: Book) -> None:
        ledger.grant("group:team", Grant(2.0), ACT)
        ledger.set_group("ada", "team", ACT)
        reservation = ledger.reserve(charge(0.5))
        ledger.set_group("ada", None, ACT)
        ledger.reserve(charge(0.25))
        assert left(ledger) == {"analyst:ada": 0.25, "group:team": 1.5}
        ledger.release(reservation)  # but what was not spent goes back to those who had paid
        assert left(ledger) == {"analyst:ada": 0.75, "group:team": 2.0}

    def test_a_group_needs_an_account(self, ledger: Book) -> None:
        with pytest.raises(UnknownAccount):
            ledger.set_group("ada", "nobody", ACT)
        with pytest.raises(UnknownAccount):
            ledger.grant("analyst:eve", Grant(1.0), ACT)
        with pytest.raises(UnknownAccount):
            ledger.top_up("dataset", 1.0, 0.0, ACT)

    def test_a_cap_holds_for_each_query(self, ledger: Book) -> None:
        ledger.grant("dataset", Grant(9.0, per_query_epsilon=0.25), ACT)
        with pytest.raises(QueryTooExpensive):
            ledger.reserve(charge(0.3))
        ledger.reserve(charge(0.25))

    # Other currencies

    @pytest.mark.parametrize("accounting", ["zcdp", "renyi"])
    def test_gaussian_noise_fits_better(self, ledger: Book, accounting: str) -> None:
        ledger.grant("analyst:ada", Grant(100.0), ACT)
        ledger.grant("dataset", Grant(1.0, 1e-6, accounting), ACT)  # type: ignore[arg-type]
        noise = charge(0.5, event=ZCDP(0.003))
        released = [ledger.reserve(noise) for _ in range(4)]
        assert 0 < left(ledger)["dataset"] < 1  # basic composition would have spent 2.0
        ledger.release(released[3])
        with pytest.raises(BudgetExhausted, match="dataset") as refused:
            ledger.reserve(charge(0.9))
        assert refused.value.hint is not None
        ledger.reserve(charge(float(refused.value.hint.split()[3])))
        with pytest.raises(BudgetExhausted):
            ledger.reserve(noise)

    def test_an_event_says_what_the_release_costs(self, ledger: Book) -> None:
        ledger.grant("dataset", Grant(9.0, 1e-6, "zcdp"), ACT)
        ledger.reserve(charge(0.5))
        pure = left(ledger)["dataset"]
        ledger.grant("group:other", Grant(9.0, 1e-6, "zcdp"), ACT)
        ledger.add_analyst("eve", key_hash("ng_eve"), 1.0, 0.0, group="other")
        ledger.reserve(charge(0.5, analyst="eve", event=BoundedRange(0.5)))
        assert left(ledger)["group:other"] > pure
        assert left(ledger)["analyst:eve"] == 0.5

    def test_an_event_with_its_own_delta_needs_room_for_it(self, ledger: Book) -> None:
        ledger.grant("dataset", Grant(1.0, 1e-6, "zcdp"), ACT)
        with pytest.raises(BudgetExhausted, match="delta"):
            ledger.reserve(charge(0.1, 1e-7))
        ledger.grant("dataset", Grant(1.0, 1e-6, "zcdp", event_delta=1e-7), ACT)
        ledger.reserve(charge(0.1, 1e-7))

    def test_an_accounting_is_for_good(self, ledger: Book) -> None:
        with pytest.raises(InvalidSetting):
            ledger.grant("analyst:ada", Grant(1.0, 1e-6, "zcdp"), ACT)
        with pytest.raises(InvalidSetting):
            ledger.grant("dataset", Grant(1.0, 0.0, "zcdp"), ACT)  # zCDP says nothing without a delta
        with pytest.raises(InvalidSetting):
            ledger.grant("dataset", Grant(1.0, 0.0, "pld"), ACT)  # type: ignore[arg-type]

    # Grants and windows

    def test_a_top_up_adds(self, ledger: Book) -> None:
        ledger.reserve(charge(1.0))
        ledger.top_up("analyst:ada", 0.5, 1e-6, ACT)
        assert ledger.budget("ada") == Budget(1.5, 2e-6, 0.5, 2e-6)
        for epsilon, delta in ((-1.0, 0.0), (0.0, 0.0), (math.nan, 0.0), (0.1, 1.0)):
            with pytest.raises(InvalidSetting):
                ledger.top_up("analyst:ada", epsilon, delta, ACT)

    def test_a_grant_below_what_is_spent_leaves_nothing(self, ledger: Book) -> None:
        reservation = ledger.reserve(charge(0.5))
        ledger.grant("analyst:ada", Grant(0.25), ACT)
        assert ledger.budget("ada").epsilon_left == 0.0
        with pytest.raises(BudgetExhausted):
            ledger.reserve(charge(1e-9))
        ledger.release(reservation)
        assert ledger.budget("ada").epsilon_left == 0.25

    def test_a_window_starts_again(self, ledger: Book, clock: Clock) -> None:
        ledger.grant("analyst:ada", Grant(1.0, 1e-6, window_s=86_400), ACT)
        ledger.reserve(charge(1.0))
        clock.seconds += 86_399
        assert ledger.budget("ada").epsilon_left == 0.0
        clock.seconds += 1
        assert ledger.budget("ada").epsilon_left == 1.0
        ledger.reserve(charge(0.75))
        clock.seconds += 86_399  # windows are counted from the first, not from the last charge
        assert ledger.budget("ada").epsilon_left == 0.25
        clock.seconds += 1 + 5 * 86_400
        assert ledger.budget("ada").epsilon_left == 1.0

    def test_a_clock_that_goes_back_renews_nothing(self, ledger: Book, clock: Clock) -> None:
        ledger.grant("analyst:ada", Grant(1.0, 1e-6, window_s=60), ACT)
        clock.seconds += 90
        ledger.reserve(charge(1.0))
        clock.seconds -= 10**6
        assert ledger.budget("ada").epsilon_left == 0.0
        with pytest.raises(BudgetExhausted):
            ledger.reserve(charge(0.1))
        ledger.top_up("analyst:ada", 0.5, 0.0, ACT)
        ledger.reserve(charge(0.5))
        times = [entry.at_ms for entry in ledger.entries()]
        assert times == sorted(times)

    def test_a_later_window_gives_nothing_back_for_an_earlier_one(self, ledger: Book, clock: Clock) -> None:
        ledger.grant("analyst:ada", Grant(1.0, 1e-6, window_s=60), ACT)
        early = ledger.reserve(charge(0.5))
        clock.seconds += 60
        ledger.reserve(charge(0.75))
        ledger.release(early)
        assert ledger.budget("ada").epsilon_left == 0.25

    def test_a_window_given_later_forgives_nothing_at_once(self, ledger: Book, clock: Clock) -> None:
        ledger.reserve(charge(1.0))
        clock.seconds += 10**6
        ledger.grant("analyst:ada", Grant(1.0, 1e-6, window_s=60), ACT)
        assert ledger.budget("ada").epsilon_left == 0.0
        clock.seconds += 60
        assert ledger.budget("ada").epsilon_left == 1.0

    # Kept answers

    def test_an_answer_is_kept_with_its_charge(self, ledger: Book) -> None:
        assert ledger.kept_answer("question", "ada") is None
        reservation = ledger.reserve(charge(0.25, answer_key="question", event=ZCDP(0.03)))
        assert ledger.kept_answer("question", "ada") is None
        ledger.commit(reservation, b"\x00 noisy")
        kept = ledger.kept_answer("question", "ada")
        assert kept is not None
        assert (kept.number, kept.answer, kept.paid) == (1, b"\x00 noisy", True)
        assert kept.charge == reservation.charge
        assert "noisy" not in repr(kept)

    def test_what_failed_keeps_no_answer(self, ledger: Book) -> None:
        ledger.fail(ledger.reserve(charge(0.25, answer_key="question")))
        ledger.commit(ledger.reserve(charge(0.25)), b"without a key")
        assert ledger.kept_answer("question", "ada") is None
        assert ledger.kept_answer("", "ada") is None

    def test_another_analyst_pays_in_full_and_the_dataset_does_not(self, ledger: Book) -> None:
        ledger.grant("group:team", Grant(2.0), ACT)
        ledger.grant("dataset", Grant(3.0), ACT)
        ledger.add_analyst("eve", key_hash("ng_eve"), 1.0, 0.0, group="team")
        ledger.commit(ledger.reserve(charge(0.25, answer_key="question")), b"noisy")
        kept = ledger.kept_answer("question", "eve")
        assert kept is not None
        assert not kept.paid
        again = ledger.reserve(charge(0.25, analyst="eve", answer_key="question", repeats=kept.number))
        unsettled = ledger.kept_answer("question", "eve")
        assert unsettled is not None
        assert not unsettled.paid
        ledger.commit(again)
        assert left(ledger) == {"analyst:ada": 0.75, "analyst:eve": 0.75, "group:team": 1.75, "dataset": 2.75}
        kept = ledger.kept_answer("question", "eve")
        assert kept is not None
        assert kept.paid

    def test_two_who_raced_have_paid_for_their_own_answers_only(self, ledger: Book) -> None:
        ledger.add_analyst("eve", key_hash("ng_eve"), 1.0, 0.0)
        first = ledger.reserve(charge(0.25, answer_key="question"))
        second = ledger.reserve(charge(0.25, analyst="eve", answer_key="question"))
        ledger.commit(second, b"to eve")
        ledger.commit(first, b"to ada")
        for analyst, answer in (("ada", b"to ada"), ("eve", b"to eve")):
            kept = ledger.kept_answer("question", analyst)
            assert kept is not None
            assert (kept.answer, kept.paid) == (answer, True)

    def test_of_two_proxies_one_gets_a_question(self, ledger: Book, reopen: Reopen) -> None:
        ledger.add_analyst("eve", key_hash("ng_eve"), 1.0, 0.0)
        other = reopen()
        first = ledger.claim(charge(0.25, answer_key="question"))
        assert first is not None
        for analyst in ("ada", "eve"):
            assert other.claim(charge(0.25, analyst=analyst, answer_key="question")) is None
        assert other.claim(charge(0.25, answer_key="another question")) is not None
        ledger.commit(first, b"noisy")
        assert other.claim(charge(0.25, answer_key="question")) is None
        assert left(other) == {"analyst:ada": 0.5, "analyst:eve": 1.0}

    @pytest.mark.parametrize("end", ["fail", "release"])
    def test_who_gave_a_question_up_leaves_it_to_others(self, ledger: Book, reopen: Reopen, end: str) -> None:
        other, first = reopen(), ledger.claim(charge(0.25, answer_key="question"))
        assert first is not None
        getattr(ledger, end)(first)
        assert other.claim(charge(0.25, answer_key="question")) is not None

    def test_the_dead_and_the_late_hold_no_question(self, ledger: Book, reopen: Reopen, clock: Clock) -> None:
        other = reopen()
        assert ledger.claim(charge(0.1, answer_key="one")) is not None
        assert ledger.claim(charge(0.1, answer_key="two")) is not None
        assert other.claim(charge(0.1, answer_key="one")) is None
        clock.seconds += 601.0
        assert other.claim(charge(0.1, answer_key="one")) is not None
        clock.seconds -= 1.0
        assert ledger.claim(charge(0.1, answer_key="three")) is not None
        ledger.close()
        assert other.claim(charge(0.1, answer_key="three")) is not None
        assert other.budget("ada").epsilon_left == 0.5

    def test_an_answer_is_sold_again_once_to_each(self, ledger: Book, reopen: Reopen) -> None:
        ledger.add_analyst("eve", key_hash("ng_eve"), 1.0, 0.0)
        other = reopen()
        ledger.commit(ledger.reserve(charge(0.25, answer_key="question")), b"noisy")
        again = charge(0.25, analyst="eve", answer_key="question", repeats=1)
        sold = ledger.claim(again)
        assert sold is not None
        assert other.claim(again) is None
        assert other.claim(charge(0.25, answer_key="question", repeats=1)) is None  # ada's own
        ledger.commit(sold)
        assert other.claim(again) is None
        assert other.budget("eve").epsilon_left == 0.75

    def test_two_proxies_that_are_asked_at_once_measure_once(self, ledger: Book, reopen: Reopen) -> None:
        ledger.add_analyst("eve", key_hash("ng_eve"), 1.0, 0.0)
        together, measured = threading.Barrier(8), []
        released = Released(Domain(()), (noisy_answer([7.0]),))

        def ask(book: Book, kept: KeptAnswers, analyst: str) -> Served:
            asked = charge(0.25, analyst=analyst, answer_key="question")

            def measure() -> tuple[Released, Budget] | None:
                reservation = book.claim(asked)
                if reservation is None:
                    return None
                measured.append(reservation.id)
                time.sleep(0.2)
                return released, book.commit(reservation, encoded(released))

            together.wait(20)
            return kept.serve(asked, measure)

        proxies = [(book, KeptAnswers(book)) for book in (ledger, reopen())]
        with ThreadPoolExecutor(8) as threads:
            asked = [threads.submit(ask, *proxies[n % 2], ("ada", "eve")[n // 2 % 2]) for n in range(8)]
            served = [one.result(30) for one in asked]
        assert len(measured) == 1
        assert {float(one.released.noisy[0].values[0]) for one in served} == {7.0}
        assert sorted(one.epsilon for one in served) == [0.0] * 6 + [0.25] * 2
        assert left(ledger) == {"analyst:ada": 0.75, "analyst:eve": 0.75}

    @pytest.mark.parametrize(
        "asked",
        [
            charge(0.2, answer_key="question", repeats=1),  # cheaper
            charge(0.25, 1e-9, answer_key="question", repeats=1),
            charge(0.25, answer_key="question", repeats=1, event=ZCDP(1e-9)),
            charge(0.25, answer_key="other", repeats=1),
            charge(0.25, answer_key="question", repeats=2),  # not answered
            charge(0.25, answer_key="question", repeats=9),
            charge(0.25, repeats=1),
        ],
    )
    def test_only_a_kept_answer_is_repeated_and_at_its_price(self, ledger: Book, asked: Charge) -> None:
        ledger.commit(ledger.reserve(charge(0.25, answer_key="question")), b"noisy")
        ledger.reserve(charge(0.25, answer_key="question"))
        with pytest.raises(LedgerInvalid):
            ledger.reserve(asked)
        assert ledger.budget("ada").epsilon_left == 0.5

    def test_the_newest_answer_to_a_plan_is_found(self, ledger: Book) -> None:
        for epsilon in (0.1, 0.2):
            ledger.commit(ledger.reserve(charge(epsilon, answer_key=f"at {epsilon}")), b"noisy")
        ledger.reserve(charge(0.3, answer_key="unanswered"))
        ledger.commit(ledger.reserve(charge(0.3)), b"not kept")
        newest = ledger.newest_answer("ada", "plan")
        assert newest is not None
        assert newest.charge.answer_key == "at 0.2"
        assert ledger.newest_answer("eve", "plan") is None
        assert ledger.newest_answer("ada", "another plan") is None

    # Crashes

    def test_what_is_left_reserved_is_recovered_once_and_stays_charged(self, ledger: Book, reopen: Reopen) -> None:
        ledger.commit(ledger.reserve(charge(0.5)))
        ledger.reserve(charge(0.25, 1e-7, event=BoundedRange(0.25)))
        ledger.close()
        reopened = reopen()
        assert reopened.recover() == (Reservation(2, charge(0.25, 1e-7, event=BoundedRange(0.25))),)
        assert reopened.recover() == ()
        assert reopened.budget("ada").epsilon_left == 0.25
        assert states(reopened) == ["committed", "crashed"]

    def test_what_another_proxy_may_still_settle_is_not_recovered(self, ledger: Book, reopen: Reopen) -> None:
        reservation = ledger.reserve(charge(0.25))
        second = reopen()
        own = second.reserve(charge(0.25))
        third = reopen()
        second.close()
        assert [one.id for one in third.recover()] == [own.id]
        assert ledger.commit(reservation).epsilon_left == 0.5

    def test_nobody_settles_for_another(self, ledger: Book, reopen: Reopen) -> None:
        reservation = ledger.reserve(charge(0.25))
        second = reopen()
        for settle in (second.commit, second.fail, second.release):
            with pytest.raises(LedgerInvalid):
                settle(reservation)
        assert second.budget("ada").epsilon_left == 0.75

    # Records

    def test_every_act_says_who_and_why(self, ledger: Book) -> None:
        ledger.grant("dataset", Grant(3.0), ACT)
        ledger.accept_policy("hash", ["epsilon was raised"], ACT)
        ledger.reserve(charge(0.1))
        acts = ledger.entries(acts_only=True)
        assert [entry.kind for entry in acts] == ["opened", "analyst", "grant", "grant", "policy"]
        assert all((entry.content["by"], entry.content["reason"]) == ("grace", "a test") for entry in acts[3:])
        assert acts[-1].content["weakens"] == ["epsilon was raised"]
        assert ledger.entries(after=5)[0].kind == "reserved"
        with pytest.raises(InvalidRequest):
            ledger.set_role("ada", "admin", type(ACT)("grace", "x" * 1001))

    def test_the_data_version_is_the_custodians_and_resets_nothing(self, ledger: Book) -> None:
        ledger.reserve(charge(0.75))
        assert ledger.data_version() == 1
        assert ledger.bump_data(ACT) == 2
        assert ledger.data_version() == 2
        assert ledger.budget("ada").epsilon_left == 0.25

    def test_the_last_accepted_policy_is_known(self, ledger: Book) -> None:
        assert ledger.accepted_policy() is None
        ledger.accept_policy("one", [], ACT)
        ledger.accept_policy("two", [], ACT)
        assert ledger.accepted_policy() == "two"

    def test_charges_are_listed_in_pages(self, ledger: Book, clock: Clock) -> None:
        ledger.add_analyst("eve", key_hash("ng_eve"), 1.0, 0.0)
        for analyst in ("ada", "eve", "ada"):
            ledger.commit(ledger.reserve(charge(0.1, analyst=analyst)))
        assert [record.number for record in ledger.charges("ada")] == [1, 3]
        assert [record.number for record in ledger.charges(after=1, limit=1)] == [2]
        record = ledger.charges("eve")[0]
        assert record.charge == charge(0.1, analyst="eve")
        assert record.accounts == ("analyst:eve",)
        assert record.reserved_at_ms == record.settled_at_ms == 1_700_000_000_000

    def test_the_head_proves_the_ledger(self, ledger: Book) -> None:
        before = ledger.verify()
        assert (before.entries, before.fault) == (3, None)
        ledger.reserve(charge(0.1))
        after = ledger.verify()
        assert after.entries == 4
        assert after.head == ledger.entries(after=3)[0].hash.hex() != before.head

    def test_closing_twice_is_once_and_the_closed_refuse(self, ledger: Book) -> None:
        ledger.close()
        ledger.close()
        with pytest.raises(LedgerUnavailable):
            ledger.reserve(charge(0.1))
        with pytest.raises(LedgerUnavailable):
            ledger.analyst_by_key(key_hash("ng_ada"))
