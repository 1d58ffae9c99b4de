"""The ledger: who may spend how much, and what has been spent; durable before any row is read.

Each method is one read or one write of a store; the rules are in the files that it calls.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
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
from server.ledger.account import AccountBalance, Grant, GrantChange, analyst_account, grant_before, named_account
from server.ledger.analyst import CUSTODIAN, Act, Analyst, Credentials, Role
from server.ledger.balance import OUTLOOK_CHARGES, Balance, Outlook, outlook
from server.ledger.charge import Charge, Reservation
from server.ledger.entry import (
    Committed,
    DataBumped,
    Disabled,
    Enabled,
    Failed,
    GroupChanged,
    KeysChecked,
    PeriodsNoted,
    PolicyAccepted,
    Released,
    Restored,
    RoleChanged,
    Verification,
)
from server.ledger.store import Reading, Store, Writing
from server.ledger.terms import Terms
from server.ledger.tuning import Histogram, reserve_tuning, settle_tuning
from server.ledger.verify import verify
from server.ledger.writes import account_rows, administer, charge_rows
from server.ledger.writes.administer import C, data_version, newest_act, signed
from server.ledger.writes.clock import ClockBehind, RenewalDue, check_clock, note_clock, note_renewals
from server.ledger.writes.journal import Journal, read_entries, vitals
from server.ledger.writes.refusal import exhausted
from server.ledger.writes.reserve import (
    AnsweredElsewhere,
    Settled,
    Short,
    claim_all,
    foreseen,
    paying_accounts,
    recover,
    settle,
)
from server.query import Budget

_NOTED_FIRST = 2
"""So many things may have to be noted before a write: the clock, and that periods are over."""

P = ParamSpec("P")
T = TypeVar("T")


def _read(work: Callable[Concatenate[Reading, P], T]) -> Callable[Concatenate[Ledger, P], T]:
    """A method of the ledger that is one read, by the function that says what it reads."""

    @wraps(work)
    def method(self: Ledger, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._store.read(lambda reading: work(reading, *args, **kwargs))

    return method


class Ledger:
    """Append-only accounts of privacy budgets over any store. Usable from any thread, not across a fork.

    A charge is *reserved*, then settled once: *committed* (answered), *failed* (not answered, though private rows
    could have been read), *released* (given back: no private row was read) or *crashed* (the process ended in
    between). All but *released* count as spent, *reserved* included.

    Every method raises LedgerUnavailable when the store fails and TooManyQueries when it stays busy; the ones that
    settle raise ChargeUnsettled for both, since the charge stands then. Where it is not known whether a charge was
    reserved or given back, `claim_all` and `release` raise LedgerUncertain. Reads are never behind a writer.

    Each act of a custodian is one entry with who did it and why, and raises UnknownAnalyst where it names one.

    Attributes:
      id: which ledger this is; never changes.
      local: is it a file of this machine, which is read in microseconds?

    Args:
      store: holds the tables; closed with the ledger.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.id = store.id
        self.local = store.local
        self._operations = itertools.count(1)  # next() of it is atomic

    def claim_all(self, charges: Sequence[Charge]) -> tuple[Reservation, ...] | None:
        """Take each charge from the analyst's account, the group's and the dataset's, or none from any; durable on
        return.

        Returns: None where one of the answers is kept, or another proxy that lives is measuring it; for a charge that
          `repeats`, where the analyst has paid for it, or is about to. Nothing is written then; look for the kept
          answer a little later.
        Raises: BudgetExhausted (which account is short, what is left, and the largest epsilon that fits all of
          them), QueryTooExpensive (a cap on single queries), UnknownAnalyst (also when disabled), InvalidSetting,
          DuplicateRequest (the idempotency key was used), LedgerInvalid (`repeats` names no kept answer of that key
          and price); TooManyFailures, TooManyOwnQueries and TooManyQueries where one failure more would be too many
          (of the analyst, or of all), and RateLimited after too many charges that were given back.
        """
        try:
            return self._reserved(claim_all, self._store, charges)
        except AnsweredElsewhere:
            return None

    def foreseen(self, charges: Sequence[Charge]) -> BudgetExhausted | QueryTooExpensive | None:
        """How the charges would be refused if they were reserved together now; None where they all fit.

        One read, never behind a writer; nothing is promised: another question may be charged in between.
        Raises: UnknownAnalyst.
        """
        found = self._store.read(lambda reading: foreseen(charges, reading))
        return exhausted(found.charge, found.accounts, found.paying) if isinstance(found, Short) else found

    def commit(self, reservation: Reservation, answer: bytes | None = None) -> Budget:
        """The query was answered; the answer is kept, in the same write, under the charge's answer key.

        Returns: the analyst's budget afterwards.
        Raises: LedgerInvalid when the charge was settled before (also: as crashed, by a proxy that took this one for
          dead). The charge stands then, and the answer must not leave.
        """
        return _budget(self._settled(reservation, Committed, answer))

    def fail(self, reservation: Reservation, *, cancelled: bool = False) -> None:
        """The query was not answered, but private rows could have been read: the charge stands.

        What the client has cancelled does not count as a failure.
        """
        self._settled(reservation, Failed, counts=not cancelled)

    def release(self, reservation: Reservation) -> None:
        """Give the charge back. Only if no private row was read under it."""
        self._settled(reservation, Released)

    def reserve_tuning(self, epsilon: float, policy_hash: str, measures: Sequence[tuple[str, str]], act: Act) -> int:
        """Take an epsilon for a tuning, durably, before a row is read; returns its number.

        The dataset's account pays where there is one. It is added to what every other account's guarantee says.

        Args:
          epsilon: for all measures together; rounded up to whole nano-epsilon.
          measures: what will be counted of each person: a table, and `rows` or a column.
        Raises: BudgetExhausted for more than the dataset's account has left; InvalidSetting.
        """
        charge = Charge("", epsilon, 0.0, "", policy_hash, "", "tune")
        return self._reserved(reserve_tuning, charge, measures, act)

    def settle_tuning(self, number: int, histograms: Sequence[Histogram] | None, act: Act) -> None:
        """Keep what a tuning released, by measure; None gives its epsilon back, as no private row was read.

        Raises: LedgerInvalid for one that is not reserved.
        """
        self._act(settle_tuning, number, histograms, act)

    def recover(self) -> tuple[Reservation, ...]:
        """Mark as crashed what dead processes left reserved, and return it; all of it stays charged.

        To be called at start. What belongs to a proxy that still lives is left alone.
        """
        return self._write(recover, self._store)

    def add_analyst(
        self,
        name: str,
        key: str | Credentials,
        epsilon: float,
        delta: float,
        *,
        role: Role = "analyst",
        group: str | None = None,
        act: Act = CUSTODIAN,
        grant: Grant | None = None,
    ) -> None:
        """Make an analyst with a budget by basic composition, rounded down, or with another grant.

        Args:
          name: 1 to 64 characters of letters, digits, `_`, `.`, `@`, `-`, the first a letter, a digit or `_`.
          key: the hash from `server.ledger.analyst.key_hash`, or all credentials.
          epsilon, delta: the budget; epsilon above 0, delta in [0, 1).
          role, group: what the key opens, and whose account also pays.
          act: who does it, and why.
          grant: the whole grant, instead of epsilon and delta: the accounting is fixed by it.
        Raises: AnalystExists, InvalidRequest (the name), InvalidSetting (the budget).
        """
        credentials = Credentials(key) if isinstance(key, str) else key
        new = Analyst(name, role, group, enabled=True)
        self._act(administer.add_analyst, new, credentials, grant or Grant(epsilon, delta), act)

    def set_credentials(self, name: str, credentials: Credentials, act: Act) -> None:
        """Rotate the key: the old one opens nothing from now on. Raises AnalystExists for a key that is in use."""
        self._act(administer.set_credentials, name, credentials, act)

    def set_role(self, name: str, role: Role, act: Act) -> None:
        """Change what the analyst's key opens."""
        self._act(administer.change_analyst, RoleChanged(analyst=name, role=role, **signed(act)))

    def set_enabled(self, name: str, enabled: bool, act: Act) -> None:
        """Disable (the key opens nothing, nothing can be charged) or enable again. Spending stays."""
        kind = Enabled if enabled else Disabled
        self._act(administer.change_analyst, kind(analyst=name, enabled=int(enabled), **signed(act)))

    def set_group(self, name: str, group: str | None, act: Act) -> None:
        """Move to a group, or to none. What was spent so far stays where it was charged."""
        self._act(administer.change_analyst, GroupChanged(analyst=name, group=group, **signed(act)))

    def grant(self, account: str, grant: Grant, act: Act) -> None:
        """Set what an account may spend: `analyst:NAME`, `group:NAME` or `dataset` (the last two are made by it).

        What was spent stays. A grant below what is spent leaves nothing.
        Raises: InvalidSetting (also: another accounting than the account began with).
        """
        self._act(administer.set_grant, account, Terms.of(grant), act)

    def change_grant(self, name: str, change: GrantChange, usual_delta: float, act: Act) -> AccountBalance:
        """As `grant`, of an account by any name (`named_account`), whose grant is changed; returns it as it is then.

        Args:
          usual_delta: of a new account, as of `grant_before`.
        Raises: as `grant`; UnknownAccount.
        """
        accounts = self.accounts()
        account = named_account(accounts, name)
        self.grant(account, change.of(grant_before(accounts, account, usual_delta)), act)
        return self._account(account)

    def top_up(self, name: str, epsilon: float, delta: float, act: Act) -> AccountBalance:
        """Add to what an account by any name may spend, rounded down, both >= 0; returns it as it is then.

        Raises: InvalidSetting, UnknownAccount.
        """
        account = named_account(self.accounts(), name)
        self._act(administer.top_up, account, epsilon, delta, act)
        return self._account(account)

    def _account(self, name: str) -> AccountBalance:
        return next(one for one in self.accounts() if one.name == name)

    def accept_policy(
        self,
        policy_hash: str,
        ownership: Sequence[str],
        weakens: Sequence[str],
        act: Act,
        acknowledged: Sequence[str] = (),
    ) -> None:
        """Record that a policy is in force from now on, what makes rows people's own, and what is weaker.

        Args:
          ownership: the paths that make rows people's own.
          weakens: what protects less than under the policy before, a sentence each.
          acknowledged: which rows the custodian knows to be counted less than others, a sentence each.
        """
        said = PolicyAccepted(
            policy_hash=policy_hash,
            ownership=list(ownership),
            weakens=list(weakens),
            acknowledged=list(acknowledged) or None,
            **signed(act),
        )
        self._act(Journal.append, said)

    def note_checked(self, version: int, fingerprint: str, keys: Sequence[str], act: Act) -> None:
        """Say that no row of a version of the data, in a database of this structure, shares one of these keys."""
        said = KeysChecked(version=version, fingerprint=fingerprint, keys=list(keys), **signed(act))
        self._act(Journal.append, said)

    def note_periods(self, noted: PeriodsNoted) -> bool:
        """Say which periods of append-only tables are closed in a version of the data, and since when they are so.

        Returns: is it noted? Not where the data is of another version by now, or it was noted of this one before.
        """
        return self._write(administer.note_periods, noted)

    def note_restored(self, missing: int | None, act: Act) -> None:
        """Say that the ledger was restored from a copy, which lacks so many entries that were known."""
        self._act(Journal.append, Restored(missing=missing, **signed(act)))

    def bump_data(self, act: Act, mirror: str | None = None) -> int:
        """Say that the data is a new load, and which copy was made of it; returns its version. Resets no spending."""
        return self._write(administer.bump_data, act, mirror)

    cached_answer = _read(charge_rows.kept)
    paid_among = _read(charge_rows.paid_among)
    charge_of = _read(charge_rows.by_idempotency_key)
    answers_to = _read(charge_rows.answered)
    charges = _read(charge_rows.records)
    newest_charges = _read(charge_rows.newest)
    entries = _read(read_entries)
    tunings = _read(tuning.tunings)
    analyst = _read(account_rows.analyst)
    analysts = _read(account_rows.analysts)
    analyst_by_key = _read(account_rows.by_key)
    is_disabled = _read(account_rows.is_disabled)
    scram_verifier = _read(account_rows.scram_verifier)
    data_version = _read(data_version)
    vitals = _read(vitals)

    def budget(self, analyst: str) -> Budget:
        """What the analyst's own account was granted and has left, rounded down. Raises UnknownAnalyst."""

        def own(reading: Reading) -> Balance:
            account_rows.analyst(reading, analyst)  # an unknown one is refused by that name
            return account_rows.balance(reading, analyst_account(analyst)).as_of(reading.at_ms, reading.utc_ms)

        return _budget(self._store.read(own))

    def outlook(self, analyst: str) -> Outlook:
        """The accounts that pay for an analyst's queries, and how many more like the last ten they pay for."""

        def found(reading: Reading) -> Outlook:
            paying = _balances(analyst, reading)
            spent = charge_rows.newest_spent(reading, analyst, OUTLOOK_CHARGES)
            return replace(outlook(paying, spent), accounts=_shown(paying, reading))

        return self._store.read(found)

    def accounts(self, analyst: str | None = None) -> tuple[AccountBalance, ...]:
        """The accounts that pay for an analyst's queries (all accounts for None), by name. Raises UnknownAnalyst."""
        return self._store.read(lambda reading: _shown(_balances(analyst, reading), reading))

    def accepted_policy(self) -> str | None:
        """The hash of the policy that was last accepted, or None."""
        accepted = self._newest(PolicyAccepted)
        return None if accepted is None else accepted.policy_hash

    def accepted_ownership(self) -> tuple[str, ...] | None:
        """What made rows people's own then; None where that was not noted."""
        accepted = self._newest(PolicyAccepted)
        return None if accepted is None or accepted.ownership is None else tuple(accepted.ownership)

    def mirrored_load(self) -> tuple[int, str | None]:
        """The version of the data, and the name of the copy that was made of it; None where none was. Two indexed
        reads of one state."""

        def load(reading: Reading) -> tuple[int, str | None]:
            bumped = newest_act(reading, DataBumped)
            return data_version(reading), None if bumped is None else bumped.mirror

        return self._store.read(load)

    def noted_periods(self) -> PeriodsNoted | None:
        """What was last noted of closed periods, of whatever version of the data. One indexed read."""
        return self._newest(PeriodsNoted)

    def checked_keys(self, fingerprint: str) -> frozenset[str]:
        """The keys that the newest check found to be held once, if it was of the data's version as it is now and of
        this structure; none otherwise. Two indexed reads."""

        def keys(reading: Reading) -> frozenset[str]:
            checked = newest_act(reading, KeysChecked)
            now = checked is not None and checked.version == data_version(reading)
            return frozenset(checked.keys) if checked and now and checked.fingerprint == fingerprint else frozenset()

        return self._store.read(keys)

    def check_writable(self) -> None:
        """Whether a charge could be written now; writes none.

        Raises: LedgerFull, LedgerReadOnly or another LedgerUnavailable; TooManyQueries.
        """
        self._store.check_writable()

    def verify(self) -> Verification:
        """Walk all entries: numbers, hashes, times, and whether every total and state follows from them.

        Cost: about a tenth of a millisecond per entry; writers are not held up.
        """
        return self._store.walk(verify)

    def close(self) -> None:
        """Release files, connections and locks; twice is once."""
        self._store.close()

    def _newest(self, kind: type[C]) -> C | None:
        return self._store.read(lambda reading: newest_act(reading, kind))

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

    def _reserved(self, work: Callable[Concatenate[Journal, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """One write; what does not fit is told once it is over, since to find what does takes a while."""
        try:
            return self._write(work, *args, **kwargs)
        except Short as short:
            raise exhausted(short.charge, short.accounts, short.paying) from None

    def _act(self, work: Callable[Concatenate[Journal, P], object], *args: P.args, **kwargs: P.kwargs) -> None:
        """One write, unless an attempt whose answer was lost has done it."""

        def once(journal: Journal) -> None:
            if journal.done_before() is None:
                work(journal, *args, **kwargs)

        self._write(once)

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


def _balances(analyst: str | None, reading: Reading) -> tuple[Balance, ...]:
    if analyst is None:
        found = account_rows.all_balances(reading)
    else:
        found = account_rows.balances(reading, paying_accounts(account_rows.analyst(reading, analyst)))
    return tuple(one.as_of(reading.at_ms, reading.utc_ms) for one in found)


def _shown(balances: Sequence[Balance], reading: Reading) -> tuple[AccountBalance, ...]:
    """With what tunings add to what each account says of the guarantee."""
    found = tuning.tunings(reading)
    return tuple(replace(one.shown, tuning_epsilon=tuning.tuned_epsilon(found, one.name)) for one in balances)


def _budget(own: Balance) -> Budget:
    grant = own.terms.grant
    return Budget(grant.epsilon, grant.delta, own.epsilon_left(), own.delta_left)
