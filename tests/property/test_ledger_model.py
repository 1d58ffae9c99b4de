"""Whatever is asked of a ledger in whatever order, it does what a reference of ten lines does."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from server.errors import BudgetExhausted, LedgerInvalid
from server.ledger.account import Grant
from server.ledger.analyst import Act, key_hash
from server.ledger.charge import Charge, Reservation
from server.ledger.sqlite import create_ledger, open_ledger
from server.ledger.writes.clock import TOLERANCE_MS
from tests.support.charging import reserve
from tests.support.seeds import examples

WINDOW_S = 100
ANALYSTS = ("ada", "eve", "grace")
AMOUNTS = st.integers(1, 700)
SECONDS = st.sampled_from([0, 250, 60, -300])
PLACES = st.integers(0, 9)
MEMORY = Path("/dev/shm")
"""Where there is one, no disk is waited for: what is durable is not the question here."""


class Reference:
    """Accounts in thousandths of epsilon: everybody named pays, or nobody does."""

    def __init__(self, grants: dict[str, int]) -> None:
        self.granted, self.spent = dict(grants), dict.fromkeys(grants, 0)

    def reserve(self, payers: Iterable[str], amount: int) -> bool:
        fits = all(self.spent[name] + amount <= self.granted[name] for name in payers)
        for name in payers:
            self.spent[name] += amount * fits
        return fits


@dataclass(frozen=True)
class Taken:
    """A reservation, who paid how many thousandths, and when ada's window began."""

    reservation: Reservation
    payers: list[str]
    amount: int
    started: float


class LedgerModel(RuleBasedStateMachine):
    """Three analysts, one group, the dataset; ada's account has windows."""

    @initialize()
    def create(self) -> None:
        self.folder = tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None)
        self.paths = Path(self.folder.name) / "ledger.sqlite", Path(self.folder.name) / "marker.json"
        self.now = 1e9
        self.ledger = create_ledger(*self.paths, lambda: self.now)
        self.started = self.latest = self.now
        self.ahead = 0.0  # of the clock, since it was set back
        owners = {f"analyst:{name}": 1500 for name in ANALYSTS}
        self.reference = Reference(owners | {"group:team": 2000, "dataset": 3000})
        self.lost = 0  # charges up to this number were made by processes that ended
        self.open: list[Taken] = []
        self.answered: list[tuple[Reservation, int]] = []
        self.names = count()
        self.groups: dict[str, str | None] = dict.fromkeys(ANALYSTS)
        for name in ANALYSTS:
            self.ledger.add_analyst(name, key_hash(name), 1.5, 0.0)
        self.ledger.grant("analyst:ada", Grant(1.5, window_s=WINDOW_S), Act())
        self.ledger.grant("dataset", Grant(3.0), Act())
        self.ledger.grant("group:team", Grant(2.0), Act())

    @rule(analyst=st.sampled_from(ANALYSTS), amount=AMOUNTS)
    def reserve(self, analyst: str, amount: int) -> None:
        self._reserve(
            Charge(analyst, amount / 1000, 0.0, "r", "p", "q", "gem", answer_key=f"key {next(self.names)}"), amount
        )

    @precondition(lambda self: self.answered)
    @rule(which=PLACES, analyst=st.sampled_from(ANALYSTS))
    def repeat(self, which: int, analyst: str) -> None:
        first, amount = self.answered[which % len(self.answered)]
        asked = Charge(analyst, amount / 1000, 0.0, "r", "p", "q", "gem", None, first.charge.answer_key, first.id)
        self._reserve(asked, amount)

    @precondition(lambda self: self.open)
    @rule(which=PLACES)
    def commit(self, which: int) -> None:
        taken = self._settle(which, lambda one: self.ledger.commit(one, b"noisy"))
        if taken is not None and taken.reservation.charge.repeats is None:
            self.answered.append((taken.reservation, taken.amount))

    @precondition(lambda self: self.open)
    @rule(which=PLACES)
    def fail(self, which: int) -> None:
        self._settle(which, self.ledger.fail)

    @precondition(lambda self: self.open)
    @rule(which=PLACES, seconds=SECONDS)
    def release(self, which: int, seconds: int) -> None:
        self._pass(seconds)
        taken = self._settle(which, self.ledger.release)
        for name in taken.payers if taken is not None else ():
            assert taken is not None
            self.reference.spent[name] -= taken.amount * (name != "analyst:ada" or taken.started == self.started)

    @rule(account=st.sampled_from(["analyst:eve", "group:team", "dataset"]), amount=AMOUNTS)
    def top_up(self, account: str, amount: int) -> None:
        self.ledger.top_up(account, amount / 1000, 0.0, Act())
        self.reference.granted[account] += amount

    @rule(analyst=st.sampled_from(ANALYSTS), group=st.sampled_from([None, "team"]))
    def move(self, analyst: str, group: str | None) -> None:
        self.ledger.set_group(analyst, group, Act())
        self.groups[analyst] = group

    @rule(seconds=SECONDS)
    def let_time_pass(self, seconds: int) -> None:
        self._pass(seconds)

    @rule()
    def reopen(self) -> None:
        waiting = [record.number for record in self.ledger.charges(limit=10**6) if record.state == "reserved"]
        self.ledger.close()
        self.ledger = open_ledger(*self.paths, lambda: self.now)
        assert [one.id for one in self.ledger.recover()] == waiting
        self.lost = len(self.ledger.charges(limit=10**6))

    @invariant()
    def agrees(self) -> None:
        for account in self.ledger.accounts():
            left = self.reference.granted[account.name] - self.reference.spent[account.name]
            assert account.epsilon_left == left / 1000

    def teardown(self) -> None:
        assert self.ledger.verify().fault is None
        self.ledger.close()
        self.folder.cleanup()

    def _pass(self, seconds: int) -> None:
        self.now += seconds
        self.ledger.bump_data(Act())
        behind = self.latest - (self.now + self.ahead)
        if behind > TOLERANCE_MS / 1000:
            self.ahead += behind
            self.started += min(behind, WINDOW_S)
        self.latest = max(self.latest, self.now + self.ahead)
        if self.latest >= self.started + WINDOW_S:
            self.started += (self.latest - self.started) // WINDOW_S * WINDOW_S
            self.reference.spent["analyst:ada"] = 0

    def _reserve(self, charge: Charge, amount: int) -> None:
        payers = [f"analyst:{charge.analyst}"]
        payers += ["group:team"] if self.groups[charge.analyst] else []
        payers += ["dataset"] if charge.repeats is None else []
        fits = self.reference.reserve(payers, amount)
        try:
            reservation = reserve(self.ledger, charge)
        except BudgetExhausted:
            assert not fits
        else:
            assert fits
            self.open.append(Taken(reservation, payers, amount, self.started))

    def _settle(self, which: int, settle: Callable[[Reservation], object]) -> Taken | None:
        """What was settled; None for what an earlier process made, which is refused."""
        taken = self.open.pop(which % len(self.open))
        try:
            settle(taken.reservation)
        except LedgerInvalid:
            assert taken.reservation.id <= self.lost
            return None
        assert taken.reservation.id > self.lost
        return taken


def test_the_ledger_does_what_the_reference_does() -> None:
    run_state_machine_as_test(
        LedgerModel, settings=settings(max_examples=examples(15, 1_000), stateful_step_count=40)
    )
