"""The ledger: who may spend how much, and what has been spent; durable before any row is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from server.errors import BudgetExhausted, QueryTooExpensive
from server.ledger.account import AccountBalance, Grant
from server.ledger.analyst import CUSTODIAN, Act, Analyst, Credentials, Role
from server.ledger.balance import Outlook
from server.ledger.charge import Charge, ChargeRecord, KeptAnswer, Reservation
from server.ledger.entry import Entry, PeriodsNoted, Verification
from server.ledger.tuning import TuningRecord, Tunings
from server.ledger.writes.journal import Vitals
from server.query import Budget


class Budgets(Protocol):
    """What analysts have left."""

    def budget(self, analyst: str) -> Budget:
        """What the analyst's own account was granted and has left, rounded down. Raises UnknownAnalyst."""
        ...

    def outlook(self, analyst: str) -> Outlook:
        """The accounts that pay for an analyst's queries, and how many more like the last ten they pay for.

        One read. Raises UnknownAnalyst.
        """
        ...


class Charges(Budgets, Protocol):
    """What the way of a query needs; every method may be called from any thread.

    A charge is *reserved*, then settled once: *committed* (answered), *failed* (not answered, though private rows
    could have been read), *released* (given back: no private row was read) or *crashed* (the process ended in
    between). All but *released* count as spent, *reserved* included.

    Every method raises LedgerUnavailable when the store fails and TooManyQueries when it stays busy; the ones that
    settle raise ChargeUnsettled for both, since the charge stands then. Where it is not known whether a charge was
    reserved or given back, `reserve`, `claim` and `release` raise LedgerUncertain.
    """

    def reserve(self, charge: Charge) -> Reservation:
        """Take the charge from the analyst's account, the group's and the dataset's, or from none; durable on return.

        Raises: BudgetExhausted (which account is short, what is left, and the largest epsilon that fits all of
          them), QueryTooExpensive (a cap on single queries), UnknownAnalyst (also when disabled), InvalidSetting,
          DuplicateRequest (the idempotency key was used), LedgerInvalid (`repeats` names no kept answer of that key
          and price).
        """
        ...

    def claim(self, charge: Charge) -> Reservation | None:
        """As `reserve`, but None where the answer is kept, or another proxy that lives is measuring it.

        Raises: also TooManyFailures, TooManyOwnQueries and TooManyQueries where one failure more would be too many
          (of the analyst, or of all), and RateLimited after too many charges that were given back.

        For a charge that `repeats`: where the analyst has paid for it, or is about to. Nothing is written then; look
        for the kept answer a little later.
        """
        ...

    def claim_all(self, charges: Sequence[Charge]) -> tuple[Reservation, ...] | None:
        """As `claim` for each of several charges, in one write: where one cannot be taken, none is."""
        ...

    def foreseen(self, charges: Sequence[Charge]) -> BudgetExhausted | QueryTooExpensive | None:
        """How the charges would be refused if they were reserved together now; None where they all fit.

        One read, never behind a writer; nothing is promised: another question may be charged in between.
        Raises: UnknownAnalyst.
        """
        ...

    def commit(self, reservation: Reservation, answer: bytes | None = None) -> Budget:
        """The query was answered; the answer is kept, in the same write, under the charge's answer key.

        Returns: the analyst's budget afterwards.
        Raises: LedgerInvalid when the charge was settled before (also: as crashed, by a proxy that took this one for
          dead). The charge stands then, and the answer must not leave.
        """
        ...

    def fail(self, reservation: Reservation, *, cancelled: bool = False) -> None:
        """The query was not answered, but private rows could have been read: the charge stands.

        Args:
          cancelled: by the client, so that it does not count as a failure.
        """
        ...

    def release(self, reservation: Reservation) -> None:
        """Give the charge back. Only if no private row was read under it."""
        ...

    def kept_answer(self, answer_key: str, analyst: str) -> KeptAnswer | None:
        """The kept answer for which the analyst was charged, else the first one that was kept under the key.

        One indexed read, never behind a writer.
        """
        ...

    def paid_among(self, answer_keys: Sequence[str], analyst: str) -> frozenset[str]:
        """The keys under which the analyst was charged for answers.

        Args:
          answer_keys: those that are looked for.
          analyst: whose.
        Cost: one read of all charges of the analyst.
        """
        ...

    def charge_of(self, analyst: str, idempotency_key: str) -> ChargeRecord | None:
        """The analyst's charge that was made under an idempotency key. One indexed read."""
        ...

    def recover(self) -> tuple[Reservation, ...]:
        """Mark as crashed what dead processes left reserved, and return it; all of it stays charged.

        To be called at start. What belongs to a proxy that still lives is left alone.
        """
        ...


class Administration(Protocol):
    """What custodians do. Each change is one entry with who did it and why; changes raise UnknownAnalyst."""

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
        ...

    def set_credentials(self, name: str, credentials: Credentials, act: Act) -> None:
        """Rotate the key: the old one opens nothing from now on. Raises AnalystExists for a key that is in use."""
        ...

    def set_role(self, name: str, role: Role, act: Act) -> None:
        """Change what the analyst's key opens."""
        ...

    def set_enabled(self, name: str, enabled: bool, act: Act) -> None:
        """Disable (the key opens nothing, nothing can be charged) or enable again. Spending stays."""
        ...

    def set_group(self, name: str, group: str | None, act: Act) -> None:
        """Move to a group, or to none. What was spent so far stays where it was charged."""
        ...

    def grant(self, account: str, grant: Grant, act: Act) -> None:
        """Set what an account may spend: `analyst:NAME`, `group:NAME` or `dataset` (the last two are made by it).

        What was spent stays. A grant below what is spent leaves nothing.
        Raises: InvalidSetting (also: another accounting than the account began with).
        """
        ...

    def top_up(self, account: str, epsilon: float, delta: float, act: Act) -> None:
        """Add to what an account may spend; rounded down.

        Args:
          account: `analyst:NAME`, `group:NAME` or `dataset`.
          epsilon, delta: what is added, >= 0.
          act: who does it, and why.
        Raises: InvalidSetting, UnknownAccount.
        """
        ...

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
          policy_hash: names the policy.
          ownership: the paths that make rows people's own.
          weakens: what protects less than under the policy before, a sentence each.
          act: who does it, and why.
          acknowledged: which rows the custodian knows to be counted less than others, a sentence each.
        """
        ...

    def note_checked(self, version: int, fingerprint: str, keys: Sequence[str], act: Act) -> None:
        """Say that no row of a version of the data shares one of these keys with another.

        Args:
          version: of the data.
          fingerprint: of the database's structure.
          keys: by their names in findings.
          act: who does it, and why.
        """
        ...

    def note_periods(self, noted: PeriodsNoted) -> bool:
        """Say which periods of append-only tables are closed in a version of the data, and since when they are so.

        Returns: is it noted? Not where the data is of another version by now, or it was noted of this one before.
        """
        ...

    def bump_data(self, act: Act, mirror: str | None = None) -> int:
        """Say that the data is a new load: returns its version, one more than before. Resets no spending.

        Args:
          act: who does it, and why.
          mirror: the name of the copy that has been made of this load; None where there is none.
        """
        ...


class Records(Protocol):
    """What can be read, never behind a writer."""

    @property
    def local(self) -> bool:
        """Is it a file of this machine, which is read in microseconds?"""
        ...

    def analyst_by_key(self, key_hash: str) -> str | None:
        """The name of the enabled analyst who holds the key, or None. One indexed look-up."""
        ...

    def is_disabled(self, key_hash: str) -> bool:
        """Whether the key is that of a disabled analyst, who may be told so. One indexed look-up."""
        ...

    def scram_verifier(self, analyst: str, *, enabled: bool = True) -> str | None:
        """The verifier for the wire protocol of an analyst who is enabled, or who is not; or None.

        One indexed look-up.
        """
        ...

    def analyst(self, name: str) -> Analyst:
        """An analyst by name: role, group, enabled or not. Raises UnknownAnalyst."""
        ...

    def analysts(self) -> tuple[Analyst, ...]:
        """All, by name, the disabled included."""
        ...

    def accounts(self, analyst: str | None = None) -> tuple[AccountBalance, ...]:
        """The accounts that pay for an analyst's queries (all accounts for None), by name. Raises UnknownAnalyst."""
        ...

    def charges(self, analyst: str | None = None, *, after: int = 0, limit: int = 1000) -> tuple[ChargeRecord, ...]:
        """Up to `limit` charges with numbers above `after`, in order; of one analyst, or of all."""
        ...

    def newest_charges(self, analyst: str, *, before: int | None = None, limit: int = 50) -> tuple[ChargeRecord, ...]:
        """Up to `limit` charges of an analyst with numbers below `before`, the newest first."""
        ...

    def answers_to(self, analyst: str, plan_hash: str, *, limit: int = 1) -> tuple[ChargeRecord, ...]:
        """Up to `limit` of the analyst's committed charges with an answer key for a plan, the newest first.

        Args:
          analyst: whose.
          plan_hash: of the plan.
          limit: the most charges.
        Cost: one indexed read of the analyst's answers to the plan.
        """
        ...

    def entries(self, *, after: int = 0, limit: int = 1000, acts_only: bool = False) -> tuple[Entry, ...]:
        """Up to `limit` entries with numbers above `after`, in order; `acts_only` leaves the charges out."""
        ...

    def accepted_policy(self) -> str | None:
        """The hash of the policy that was last accepted, or None."""
        ...

    def accepted_ownership(self) -> tuple[str, ...] | None:
        """What made rows people's own then; None where that was not noted."""
        ...

    def data_version(self) -> int:
        """The version of the data, from 1."""
        ...

    def mirrored_load(self) -> tuple[int, str | None]:
        """The version of the data, and the name of the copy that was made of it; None where none was. Two indexed
        reads of one state."""
        ...

    def noted_periods(self) -> PeriodsNoted | None:
        """What was last noted of closed periods, of whatever version of the data. One indexed read."""
        ...

    def checked_keys(self, fingerprint: str) -> frozenset[str]:
        """The keys that the newest check found to be held once, if it was of the data's version as it is now and of
        this structure; none otherwise. Two indexed reads."""
        ...

    def tunings(self) -> tuple[TuningRecord, ...]:
        """All of them, in order; see `Tunings`."""
        ...

    def vitals(self) -> Vitals:
        """Counts for whoever watches the proxy."""
        ...

    def check_writable(self) -> None:
        """Whether a charge could be written now; writes none.

        Raises: LedgerFull, LedgerReadOnly or another LedgerUnavailable; TooManyQueries.
        """
        ...

    def verify(self) -> Verification:
        """Walk all entries: numbers, hashes, times, and whether every total and state follows from them.

        Cost: about a tenth of a millisecond per entry; writers are not held up.
        """
        ...


class Ledger(Charges, Administration, Tunings, Records, Protocol):
    """Append-only accounts of privacy budgets; see the four parts."""

    @property
    def id(self) -> str:
        """Which ledger this is; never changes."""
        ...

    def close(self) -> None:
        """Release files, connections and locks; twice is once."""
        ...
