"""The ledger's interface. Each method is one read or one write of a store; the rules are in the files it calls."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from server.errors import (
    BudgetExhausted,
    ChargeUnsettled,
    LedgerUnavailable,
    LedgerUncertain,
    QueryTooExpensive,
    SettledBefore,
    TooManyQueries,
)
from server.ledger import tuning
from server.ledger.account import AccountBalance, Grant, GrantChange, analyst_account, grant_before, named_account
from server.ledger.analyst import ADMINISTRATOR, Act, Analyst, Credentials, Role
from server.ledger.balance import RECENT_CHARGES, Balance, RemainingQuestions, remaining_questions
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
    budget_check,
    claim_all,
    paying_accounts,
    recover,
    settle,
)
from server.lru_cache import LruCache
from server.query import Budget

_NOTED_FIRST = 2
"""A write may first have to record this many things: the clock, and ended periods."""

_READS, _READS_BYTES = 4096, 16 << 20

P = ParamSpec("P")
T = TypeVar("T")


def _read(work: Callable[Concatenate[Reading, P], T]) -> Callable[Concatenate[Ledger, P], T]:
    """Make a ledger method of a function that reads."""

    @wraps(work)
    def method(self: Ledger, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._store.read(lambda reading: work(reading, *args, **kwargs))

    return method


def _read_once(
    work: Callable[Concatenate[Reading, P], T], lasts: Callable[[T], bool] = bool
) -> Callable[Concatenate[Ledger, P], T]:
    """The same for a read of the tables alone, repeated only after a write of any process.

    The state is taken before the read. So what is remembered under the current state was read since the last write.

    Args:
      lasts: whether a result is remembered, as what nobody guesses is.
    """

    @wraps(work)
    def method(self: Ledger, /, *args: P.args, **kwargs: P.kwargs) -> T:
        state = self._store.state()
        key = state, work, args, tuple(kwargs.items())
        found: T | None = None if state is None else self._reads.get(key)
        if found is None:
            found = self._store.read(lambda reading: work(reading, *args, **kwargs))
            if state is not None and lasts(found):
                self._reads.put(key, found)
        return found

    return method


def _budget_read(reading: Reading, analyst: str) -> tuple[Budget, bool]:
    """An analyst's own budget, and whether only a write can change it: time renews windows and periods."""
    account_rows.analyst(reading, analyst)  # an unknown one is refused by that name
    own = account_rows.balance(reading, analyst_account(analyst))
    steady = own.terms.window_ms is None and own.terms.renew is None
    return _budget(own.as_of(reading.at_ms, reading.utc_ms)), steady


class Ledger:
    """Append-only privacy budgets over any store. Any thread may use it; it does not survive a fork.

    A charge is *reserved*, then settled once: *committed* (answered), *failed* (not answered, though private rows
    could have been read), *released* (given back: no private row was read) or *crashed* (the process ended first).
    All states but *released* count as spent.

    Every method raises LedgerUnavailable if the store fails and TooManyQueries if it stays busy. Methods that settle
    raise ChargeUnsettled instead, since the charge stands then. `claim_all` and `release` raise LedgerUncertain if
    the outcome is unknown. Reads never wait for a writer.

    An administrator's act is one entry with its author and reason. It raises UnknownAnalyst for an unknown name.

    Attributes:
      id: of this ledger; it never changes.
      local: is it a file of this machine, with reads in microseconds?
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.id = store.id
        self.local = store.local
        self._operations = itertools.count(1)  # next() of it is atomic
        self._reads: LruCache[Hashable, Any] = LruCache(_READS, _READS_BYTES)

    def claim_all(self, charges: Sequence[Charge]) -> tuple[Reservation, ...] | None:
        """Reserve each charge in the accounts of the analyst, the group and the dataset: all charges or none. Durable
        on return.

        Returns: None, with nothing written, if one of the answers is cached or another live proxy is measuring it:
          look in the cache a little later. A charge with `repeats` buys a cached answer; then None means that the
          analyst has bought it or is about to.
        Raises: BudgetExhausted, QueryTooExpensive, UnknownAnalyst, InvalidSetting, DuplicateRequest; LedgerInvalid if
          `repeats` names no cached answer of that key and price. TooManyFailures, TooManyOwnQueries or TooManyQueries
          if a failure of this question would exceed a limit; RateLimited after too many charges that were given back.
        """
        try:
            return self._reserved(claim_all, self._store, charges)
        except AnsweredElsewhere:
            return None

    def budget_check(self, charges: Sequence[Charge]) -> BudgetExhausted | QueryTooExpensive | None:
        """The refusal if these charges were reserved now; None if they all fit.

        One read. Another question may be charged before these are.
        Raises: UnknownAnalyst.
        """
        found = self._store.read(lambda reading: budget_check(charges, reading))
        return exhausted(found.charge, found.accounts, found.paying) if isinstance(found, Short) else found

    def commit(self, reservation: Reservation, answer: bytes | None = None) -> Budget:
        """Settle a charge as answered and cache the answer under its key, in one write.

        Returns: the analyst's budget afterwards.
        Raises: LedgerInvalid if the charge was settled before, also as crashed by a proxy that took this one for
          dead; or if that proxy has answered the question. The charge stands then, and the answer must not leave.
        """
        try:
            return _budget(self._settled(reservation, Committed, answer))
        except AnsweredElsewhere:
            self.fail(reservation, cancelled=True)
            message = f"Another proxy has answered the question of charge {reservation.id}."
            raise SettledBefore(message) from None

    def fail(self, reservation: Reservation, *, cancelled: bool = False) -> None:
        """Settle a charge as failed: private rows could have been read, so it stands.

        A question that its client cancelled does not count as a failure.
        """
        self._settled(reservation, Failed, counts=not cancelled)

    def release(self, reservation: Reservation) -> None:
        """Give a charge back. Only allowed if no private row was read under it."""
        self._settled(reservation, Released)

    def reserve_tuning(self, epsilon: float, policy_hash: str, measures: Sequence[tuple[str, str]], act: Act) -> int:
        """Reserve an epsilon for a tuning before a row is read; returns its number.

        The dataset's account pays if there is one. Every other account's guarantee states it in addition.

        Args:
          epsilon: for all measures together; rounded up to whole nano-epsilon.
          measures: what is measured per person: a table, and `rows` or a column.
        Raises: BudgetExhausted if the dataset's account has less left; InvalidSetting.
        """
        charge = Charge("", epsilon, 0.0, "", policy_hash, "", "tune")
        return self._reserved(reserve_tuning, charge, measures, act)

    def settle_tuning(self, number: int, histograms: Sequence[Histogram] | None, act: Act) -> None:
        """Store the noisy histograms of a reserved tuning (`noisegate tune`).

        Args:
          number: of the tuning.
          histograms: None if no private row was read; its epsilon is then given back.
        Raises: LedgerInvalid if the tuning is not reserved.
        """
        self._act(settle_tuning, number, histograms, act)

    def recover(self) -> tuple[Reservation, ...]:
        """Mark the open charges of dead processes as crashed and return them; they stay charged.

        Called at start. Charges of live proxies are left alone.
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
        act: Act = ADMINISTRATOR,
        grant: Grant | None = None,
    ) -> None:
        """Add an analyst with a grant.

        Args:
          name: 1 to 64 letters, digits, `_`, `.`, `@` or `-`; it starts with a letter, a digit or `_`.
          key: a hash from `server.ledger.analyst.key_hash`, or all credentials.
          epsilon, delta: a budget by basic composition, rounded down; epsilon above 0, delta in [0, 1).
          role, group: what the key permits, and whose account also pays.
          grant: replaces epsilon and delta; fixes the accounting.
        Raises: AnalystExists, InvalidRequest (the name), InvalidSetting (the budget).
        """
        credentials = Credentials(key) if isinstance(key, str) else key
        new = Analyst(name, role, group, enabled=True)
        self._act(administer.add_analyst, new, credentials, grant or Grant(epsilon, delta), act)

    def set_credentials(self, name: str, credentials: Credentials, act: Act) -> None:
        """Replace an analyst's access key; the old one is rejected from now on.

        Raises: AnalystExists if the new key already belongs to an analyst.
        """
        self._act(administer.set_credentials, name, credentials, act)

    def set_role(self, name: str, role: Role, act: Act) -> None:
        """Change what an analyst's key permits."""
        self._act(administer.change_analyst, RoleChanged(analyst=name, role=role, **signed(act)))

    def set_enabled(self, name: str, enabled: bool, act: Act) -> None:
        """Disable an analyst, whose key is rejected then, or enable one again. Spending stays."""
        kind = Enabled if enabled else Disabled
        self._act(administer.change_analyst, kind(analyst=name, enabled=int(enabled), **signed(act)))

    def set_group(self, name: str, group: str | None, act: Act) -> None:
        """Move an analyst to a group, or to none. Past charges stay in the old group."""
        self._act(administer.change_analyst, GroupChanged(analyst=name, group=group, **signed(act)))

    def grant(self, account: str, grant: Grant, act: Act) -> None:
        """Set the grant of `analyst:NAME`, `group:NAME` or `dataset`. The accounts of groups and the dataset are
        created by it.

        Spending stays. A grant below the spending leaves nothing.
        Raises: InvalidSetting, also for another accounting than the account has.
        """
        self._act(administer.set_grant, account, Terms.of(grant), act)

    def change_grant(self, name: str, change: GrantChange, usual_delta: float, act: Act) -> AccountBalance:
        """Change the grant of an account, by any name that `named_account` resolves; returns the new balance.

        Args:
          usual_delta: for a new account, as in `grant_before`.
        Raises: as `grant`; UnknownAccount.
        """
        accounts = self.accounts()
        account = named_account(accounts, name)
        self.grant(account, change.of(grant_before(accounts, account, usual_delta)), act)
        return self._account(account)

    def top_up(self, name: str, epsilon: float, delta: float, act: Act) -> AccountBalance:
        """Add to the grant of an account, both amounts >= 0 and rounded down; returns the new balance.

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
        """Record the policy that is in force from now on.

        Args:
          ownership: the foreign keys through which rows are owned.
          weakens: what protects less than under the policy before, a sentence each.
          acknowledged: the reductions of contributions that the administrator has acknowledged, a sentence each.
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
        """Record that declared keys are unique in a data version and database structure."""
        said = KeysChecked(version=version, fingerprint=fingerprint, keys=list(keys), **signed(act))
        self._act(Journal.append, said)

    def note_periods(self, noted: PeriodsNoted) -> bool:
        """Record which periods of append-only tables are closed in a data version.

        Returns: was it recorded? Not if the data version has changed, or has such an entry already.
        """
        return self._write(administer.note_periods, noted)

    def note_restored(self, missing: int | None, act: Act) -> None:
        """Record that the ledger was restored from a copy that lacks `missing` known entries."""
        self._act(Journal.append, Restored(missing=missing, **signed(act)))

    def bump_data(self, act: Act, mirror: str | None = None) -> int:
        """Record a new data version, and the copy that was made of it; returns the version. Spending stays."""
        return self._write(administer.bump_data, act, mirror)

    cached_answer = _read(charge_rows.cached)
    paid_among = _read(charge_rows.paid_among)
    charge_of = _read(charge_rows.by_idempotency_key)
    answers_to = _read(charge_rows.answered)
    charges = _read(charge_rows.records)
    newest_charges = _read(charge_rows.newest)
    entries = _read(read_entries)
    tunings = _read(tuning.tunings)
    analyst = _read_once(account_rows.analyst)
    analysts = _read(account_rows.analysts)
    analyst_by_key = _read_once(account_rows.by_key)
    is_disabled = _read(account_rows.is_disabled)
    scram_verifier = _read(account_rows.scram_verifier)
    data_version = _read_once(data_version)
    vitals = _read(vitals)

    def state(self) -> Hashable | None:
        """A value that is another one after any write of any process; None if to know it takes a read."""
        return self._store.state()

    def budget(self, analyst: str) -> Budget:
        """The analyst's own budget and what is left, rounded down. Raises UnknownAnalyst."""
        return self._own_budget(analyst)[0]

    _own_budget = _read_once(_budget_read, lambda found: found[1])

    def remaining_questions(self, analyst: str) -> RemainingQuestions:
        """The accounts that pay for an analyst, and the remaining questions at the price of the last ten."""

        def found(reading: Reading) -> RemainingQuestions:
            paying = _balances(analyst, reading)
            spent = charge_rows.newest_spent(reading, analyst, RECENT_CHARGES)
            return replace(remaining_questions(paying, spent), accounts=_shown(paying, reading))

        return self._store.read(found)

    def accounts(self, analyst: str | None = None) -> tuple[AccountBalance, ...]:
        """The accounts that pay for an analyst, or all accounts, by name. Raises UnknownAnalyst."""
        return self._store.read(lambda reading: _shown(_balances(analyst, reading), reading))

    def accepted_policy(self) -> str | None:
        """The hash of the last accepted policy, or None."""
        accepted = self._newest(PolicyAccepted)
        return None if accepted is None else accepted.policy_hash

    def accepted_ownership(self) -> tuple[str, ...] | None:
        """The ownership paths of the last accepted policy; None if they were not recorded."""
        accepted = self._newest(PolicyAccepted)
        return None if accepted is None or accepted.ownership is None else tuple(accepted.ownership)

    def mirrored_load(self) -> tuple[int, str | None]:
        """The data version, and the name of its copy or None. Two indexed reads of one state."""

        def load(reading: Reading) -> tuple[int, str | None]:
            bumped = newest_act(reading, DataBumped)
            return data_version(reading), None if bumped is None else bumped.mirror

        return self._store.read(load)

    def noted_periods(self) -> PeriodsNoted | None:
        """The newest record of closed periods, of any data version. One indexed read."""
        return self._newest(PeriodsNoted)

    def checked_keys(self, fingerprint: str) -> frozenset[str]:
        """The keys that the latest data check found unique.

        Empty if that check was for another data version or schema. Two indexed reads.

        Args:
          fingerprint: of the schema.
        """

        def keys(reading: Reading) -> frozenset[str]:
            checked = newest_act(reading, KeysChecked)
            now = checked is not None and checked.version == data_version(reading)
            return frozenset(checked.keys) if checked and now and checked.fingerprint == fingerprint else frozenset()

        return self._store.read(keys)

    def check_writable(self) -> None:
        """Check that a charge could be written now, without writing one.

        Raises: LedgerFull, LedgerReadOnly or another LedgerUnavailable; TooManyQueries.
        """
        self._store.check_writable()

    def verify(self) -> Verification:
        """Verify all entries: numbers, hashes, times, and that every table follows from them.

        Cost: about a tenth of a millisecond per entry; writers do not wait.
        """
        return self._store.walk(verify)

    def close(self) -> None:
        """Release files, connections and locks. May be called twice."""
        self._store.close()

    def _newest(self, kind: type[C]) -> C | None:
        return self._store.read(lambda reading: newest_act(reading, kind))

    def _settled(
        self, reservation: Reservation, settled: Settled, answer: bytes | None = None, **how: bool
    ) -> Balance:
        """Settle a charge. If that cannot be written, the charge stands and the error says so."""
        try:
            return self._write(settle, reservation, settled, answer, **how)
        except (LedgerUnavailable, TooManyQueries) as error:
            if settled is Released and isinstance(error, LedgerUncertain):
                raise  # it may have been given back; in every other state it stands, written or not
            raise ChargeUnsettled("The charge could not be settled; it stands.") from error

    def _reserved(self, work: Callable[Concatenate[Journal, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """One write. A refusal is worded after it, since finding what still fits takes milliseconds."""
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
        """One write under one operation number, however often it is tried."""
        operation = next(self._operations)

        def attempt(writing: Writing) -> T:
            journal = Journal(writing, self._store.instance, operation)
            if not journal.all_done_before():  # a clock set back meanwhile would have it begun again, and done twice
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
        """A separate write before the one that needs it."""
        noted = next(self._operations)
        self._store.write(lambda writing: work(Journal(writing, self._store.instance, noted)))


def _balances(analyst: str | None, reading: Reading) -> tuple[Balance, ...]:
    if analyst is None:
        found = account_rows.all_balances(reading)
    else:
        found = account_rows.balances(reading, paying_accounts(account_rows.analyst(reading, analyst)))
    return tuple(one.as_of(reading.at_ms, reading.utc_ms) for one in found)


def _shown(balances: Sequence[Balance], reading: Reading) -> tuple[AccountBalance, ...]:
    """The balances, with the epsilon of tunings."""
    found = tuning.tunings(reading)
    return tuple(replace(one.shown, tuning_epsilon=tuning.tuned_epsilon(found, one.name)) for one in balances)


def _budget(own: Balance) -> Budget:
    grant = own.terms.grant
    return Budget(grant.epsilon, grant.delta, own.epsilon_left(), own.delta_left)
