"""The ledger over any store: each method is one read or one write; the rules are in the files it calls."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

from server.errors import (
    BudgetExhausted,
    ChargeUnsettled,
    LedgerUnavailable,
    LedgerUncertain,
    QueryTooExpensive,
    TooManyQueries,
)
from server.ledger import tuning
from server.ledger.account import AccountBalance, analyst_account
from server.ledger.analyst import Act, Analyst
from server.ledger.balance import OUTLOOK_CHARGES, Balance, Outlook, outlook
from server.ledger.charge import Charge, ChargeRecord, KeptAnswer, Reservation
from server.ledger.entry import (
    Committed,
    DataBumped,
    Entry,
    Failed,
    KeysChecked,
    PeriodsNoted,
    PolicyAccepted,
    Released,
    Verification,
)
from server.ledger.store import ACTS_OF_KIND, Reading, Store, Writing
from server.ledger.tuning import Histogram, TuningRecord, reserve_tuning, settle_tuning
from server.ledger.verify import verify
from server.ledger.writes import account_rows, charge_rows
from server.ledger.writes.administer import Administering, data_version, noted_periods
from server.ledger.writes.clock import ClockBehind, RenewalDue, check_clock, note_clock, note_renewals
from server.ledger.writes.journal import Journal, Vitals, ledger_time, read_entries, vitals
from server.ledger.writes.refusal import exhausted
from server.ledger.writes.reserve import (
    NotAllClaimed,
    Settled,
    Short,
    claim,
    claim_all,
    foreseen,
    paying_accounts,
    recover,
    reserve,
    settle,
)
from server.query import Budget

_NOTED_FIRST = 2
"""So many things may have to be noted before a write: the clock, and that periods are over."""

_NEWEST = f"SELECT content FROM entries WHERE {ACTS_OF_KIND} ORDER BY number DESC LIMIT 1"

P = ParamSpec("P")
T = TypeVar("T")


class StoreLedger(Administering):
    """A Ledger (see the Protocol for what each method promises). Usable from any thread, not across a fork.

    Args:
      store: holds the tables; closed with the book.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._operations = itertools.count(1)  # next() of it is atomic

    @property
    def id(self) -> str:
        """Which ledger this is."""
        return self._store.id

    @property
    def local(self) -> bool:
        """Is it a file of this machine?"""
        return self._store.local

    def reserve(self, charge: Charge) -> Reservation:
        """Take the charge from all its accounts, or refuse. Raises: as `Charges` says."""
        reserved = self._write(reserve, charge)
        if isinstance(reserved, Short):
            raise exhausted(charge, reserved.accounts, reserved.paying)
        return reserved

    def claim(self, charge: Charge) -> Reservation | None:
        """Take the charge, unless the question is answered or being answered.

        Raises: as `Charges` says.
        """
        claimed = self._write(claim, self._store, charge)
        if isinstance(claimed, Short):
            raise exhausted(charge, claimed.accounts, claimed.paying)
        return claimed

    def claim_all(self, charges: Sequence[Charge]) -> tuple[Reservation, ...] | None:
        """Take several charges in one write, or none. Raises: as `Charges` says."""
        try:
            return self._write(claim_all, self._store, charges)
        except NotAllClaimed as refused:
            if refused.short is None:
                return None
            charge, short = refused.short
            raise exhausted(charge, short.accounts, short.paying) from None

    def foreseen(self, charges: Sequence[Charge]) -> BudgetExhausted | QueryTooExpensive | None:
        """How the charges would be refused now; None where they all fit. Raises: as `Charges` says."""
        found = self._store.read(lambda reading: foreseen(charges, _now(reading), reading))
        if isinstance(found, QueryTooExpensive) or found is None:
            return found
        charge, short = found
        return exhausted(charge, short.accounts, short.paying)

    def commit(self, reservation: Reservation, answer: bytes | None = None) -> Budget:
        """The query was answered."""
        return _budget(self._settled(reservation, Committed, answer))

    def fail(self, reservation: Reservation, *, cancelled: bool = False) -> None:
        """The query was not answered; the charge stands."""
        self._settled(reservation, Failed, counts=not cancelled)

    def release(self, reservation: Reservation) -> None:
        """Give the charge back: no private row was read."""
        self._settled(reservation, Released)

    def reserve_tuning(self, epsilon: float, policy_hash: str, measures: Sequence[tuple[str, str]], act: Act) -> int:
        """Take an epsilon for a tuning, or refuse.

        Args:
          epsilon, policy_hash, measures, act: as of `Tunings.reserve_tuning`.
        """
        charge = Charge("", epsilon, 0.0, "", policy_hash, "", "tune")
        reserved = self._write(reserve_tuning, charge, measures, act)
        if isinstance(reserved, Short):
            raise exhausted(charge, reserved.accounts, reserved.paying)
        return reserved

    def settle_tuning(self, number: int, histograms: Sequence[Histogram] | None, act: Act) -> None:
        """Keep what a tuning released, or give its epsilon back.

        Args:
          number, histograms, act: as of `Tunings.settle_tuning`.
        """
        self._write(settle_tuning, number, histograms, act)

    def tunings(self) -> tuple[TuningRecord, ...]:
        """All tunings, in order."""
        return self._store.read(tuning.tunings)

    def recover(self) -> tuple[Reservation, ...]:
        """Mark as crashed what dead processes left reserved."""
        return self._write(recover, self._store)

    def kept_answer(self, answer_key: str, analyst: str) -> KeptAnswer | None:
        """The kept answer for which the analyst was charged, else the first one."""
        return self._store.read(lambda reading: charge_rows.kept(reading, answer_key, analyst))

    def paid_among(self, answer_keys: Sequence[str], analyst: str) -> frozenset[str]:
        """The keys under which the analyst was charged for answers."""
        return self._store.read(lambda reading: charge_rows.paid_among(reading, answer_keys, analyst))

    def charge_of(self, analyst: str, idempotency_key: str) -> ChargeRecord | None:
        """The analyst's charge that was made under an idempotency key."""
        return self._store.read(lambda reading: charge_rows.by_idempotency_key(reading, analyst, idempotency_key))

    def answers_to(self, analyst: str, plan_hash: str, *, limit: int = 1) -> tuple[ChargeRecord, ...]:
        """Up to `limit` of the analyst's committed charges with an answer key for a plan, the newest first.

        Args:
          analyst, plan_hash: whose, and of which plan.
          limit: the most charges.
        """
        return self._store.read(lambda reading: charge_rows.answered(reading, analyst, plan_hash, limit=limit))

    def budget(self, analyst: str) -> Budget:
        """What the analyst's own account was granted and has left."""
        return _budget(self._store.read(partial(_own_balance, analyst)))

    def outlook(self, analyst: str) -> Outlook:
        """What the accounts that pay for an analyst have left, and how many more questions that is."""
        return self._store.read(partial(_outlook, analyst))

    def analyst_by_key(self, key_hash: str) -> str | None:
        """The enabled analyst who holds the key, or None."""
        return self._store.read(lambda reading: account_rows.by_key(reading, key_hash))

    def is_disabled(self, key_hash: str) -> bool:
        """Whether the key is that of a disabled analyst."""
        return self._store.read(lambda reading: account_rows.is_disabled(reading, key_hash))

    def scram_verifier(self, analyst: str, *, enabled: bool = True) -> str | None:
        """The verifier for the wire protocol of an analyst who is enabled, or who is not; or None."""
        return self._store.read(lambda reading: account_rows.scram_verifier(reading, analyst, enabled))

    def analyst(self, name: str) -> Analyst:
        """An analyst by name. Raises UnknownAnalyst."""
        return self._store.read(lambda reading: account_rows.analyst(reading, name))

    def analysts(self) -> tuple[Analyst, ...]:
        """All analysts by name, the disabled included."""
        return self._store.read(account_rows.analysts)

    def accounts(self, analyst: str | None = None) -> tuple[AccountBalance, ...]:
        """The accounts that pay for an analyst's queries, or all."""
        return self._store.read(partial(_accounts, analyst))

    def charges(self, analyst: str | None = None, *, after: int = 0, limit: int = 1000) -> tuple[ChargeRecord, ...]:
        """Charges with numbers above `after`."""
        return self._store.read(lambda reading: charge_rows.records(reading, analyst, after, limit))

    def newest_charges(self, analyst: str, *, before: int | None = None, limit: int = 50) -> tuple[ChargeRecord, ...]:
        """The analyst's charges, the newest first."""
        return self._store.read(lambda reading: charge_rows.newest(reading, analyst, before, limit))

    def entries(self, *, after: int = 0, limit: int = 1000, acts_only: bool = False) -> tuple[Entry, ...]:
        """Entries with numbers above `after`."""
        return self._store.read(lambda reading: read_entries(reading, after, limit, acts_only))

    def accepted_policy(self) -> str | None:
        """The hash of the policy that was last accepted, or None."""
        accepted = self._store.read(_accepted_policy)
        return None if accepted is None else accepted.policy_hash

    def accepted_ownership(self) -> tuple[str, ...] | None:
        """What made rows people's own then; None where that was not noted."""
        accepted = self._store.read(_accepted_policy)
        return None if accepted is None or accepted.ownership is None else tuple(accepted.ownership)

    def data_version(self) -> int:
        """The version of the data, from 1."""
        return self._store.read(data_version)

    def mirrored_load(self) -> tuple[int, str | None]:
        """The version of the data, and the copy that was made of it."""
        return self._store.read(_mirrored_load)

    def noted_periods(self) -> PeriodsNoted | None:
        """What was last noted of closed periods."""
        return self._store.read(noted_periods)

    def checked_keys(self, fingerprint: str) -> frozenset[str]:
        """The keys that this version of the data has been checked for."""
        return self._store.read(partial(_checked_keys, fingerprint))

    def vitals(self) -> Vitals:
        """Counts for whoever watches the proxy."""
        return self._store.read(vitals)

    def check_writable(self) -> None:
        """Whether a charge could be written now."""
        self._store.check_writable()

    def verify(self) -> Verification:
        """Walk all entries, and work out every total and state anew from them."""
        return self._store.walk(verify)

    def close(self) -> None:
        """Let go of the store; twice is once."""
        self._store.close()

    def _settled(
        self, reservation: Reservation, settled: Settled, answer: bytes | None = None, **how: bool
    ) -> Balance:
        """Settle. Where that cannot be written the charge stands, which the error says."""
        try:
            return self._write(settle, reservation, settled, answer, **how)
        except (LedgerUnavailable, TooManyQueries) as error:
            if settled is Released and isinstance(error, LedgerUncertain):
                raise  # it may have been given back; in every other state it stands, written or not
            raise ChargeUnsettled("The charge could not be settled; it stands.") from error

    def _write(self, work: Callable[Concatenate[Journal, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """One write under one operation, however often it is tried."""
        operation = next(self._operations)

        def attempt(writing: Writing) -> T:
            journal = Journal(writing, self._store.instance, operation)
            if not journal.all_done_before():  # a clock set back meanwhile would have it begun anew, and done twice
                check_clock(writing)
            return work(journal, *args, **kwargs)

        for _ in range(_NOTED_FIRST):  # rolled back: nothing of the work was written
            try:
                return self._store.write(attempt)
            except ClockBehind:
                self._note(note_clock)
            except RenewalDue:
                self._note(note_renewals)
        return self._store.write(attempt)

    def _note(self, work: Callable[[Journal], None]) -> None:
        """A write of its own, before the one that needs it."""
        noted = next(self._operations)
        self._store.write(lambda writing: work(Journal(writing, self._store.instance, noted)))


def _own_balance(analyst: str, reading: Reading) -> Balance:
    account_rows.analyst(reading, analyst)  # an unknown one is refused by that name
    return account_rows.balance(reading, analyst_account(analyst)).as_of(*_now(reading))


def _balances(analyst: str | None, reading: Reading) -> tuple[Balance, ...]:
    if analyst is None:
        found = account_rows.all_balances(reading)
    else:
        found = account_rows.balances(reading, paying_accounts(account_rows.analyst(reading, analyst)))
    now = _now(reading)
    return tuple(one.as_of(*now) for one in found)


def _now(reading: Reading) -> tuple[int, int]:
    """The ledger's time and the clock's, in milliseconds since the epoch."""
    at_ms = ledger_time(reading)
    return at_ms, at_ms - reading.offset_ms


def _accounts(analyst: str | None, reading: Reading) -> tuple[AccountBalance, ...]:
    return _with_tuning(tuple(one.shown for one in _balances(analyst, reading)), reading)


def _with_tuning(shown: tuple[AccountBalance, ...], reading: Reading) -> tuple[AccountBalance, ...]:
    """With what tunings add to what each account says of the guarantee."""
    found = tuning.tunings(reading)
    return tuple(replace(one, tuning_epsilon=tuning.tuned_epsilon(found, one.name)) for one in shown)


def _outlook(analyst: str, reading: Reading) -> Outlook:
    spent = charge_rows.newest_spent(reading, analyst, OUTLOOK_CHARGES)
    found = outlook(_balances(analyst, reading), spent)
    return replace(found, accounts=_with_tuning(found.accounts, reading))


def _checked_keys(fingerprint: str, reading: Reading) -> frozenset[str]:
    row = reading.row(_NEWEST, KeysChecked.kind.value)
    if row is None:
        return frozenset()
    checked = KeysChecked(**KeysChecked.arguments(json.loads(row[0])))
    now = checked.version == data_version(reading) and checked.fingerprint == fingerprint
    return frozenset(checked.keys) if now else frozenset()


def _mirrored_load(reading: Reading) -> tuple[int, str | None]:
    row = reading.row(_NEWEST, DataBumped.kind.value)
    bumped = None if row is None else DataBumped(**DataBumped.arguments(json.loads(row[0])))
    return data_version(reading), None if bumped is None else bumped.mirror


def _accepted_policy(reading: Reading) -> PolicyAccepted | None:
    row = reading.row(_NEWEST, PolicyAccepted.kind.value)
    return None if row is None else PolicyAccepted(**PolicyAccepted.arguments(json.loads(row[0])))


def _budget(own: Balance) -> Budget:
    grant = own.terms.grant
    return Budget(grant.epsilon, grant.delta, own.epsilon_left(), own.delta_left)
