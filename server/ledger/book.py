"""The ledger over any store: each method is one read or one write; the rules are in the files it calls."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Concatenate, ParamSpec, TypeVar

from server.ledger import account_rows, administering, analyst_rows, answer_rows, charge_rows
from server.ledger.account import AccountBalance, Grant, analyst_account
from server.ledger.analyst import CUSTODIAN, Act, Analyst, Credentials, Role
from server.ledger.balance import Balance
from server.ledger.charge import Charge, ChargeRecord, KeptAnswer, Reservation
from server.ledger.claiming import claim
from server.ledger.entry import Entry, Verification
from server.ledger.entry_rows import ledger_time, read_entries
from server.ledger.exhausted import exhausted
from server.ledger.journal import Journal
from server.ledger.reserving import Short, paying_accounts, reserve
from server.ledger.schema import ACTS_OF_KIND
from server.ledger.settling import recover, settle
from server.ledger.store import Reading, Store, Writing
from server.ledger.terms import Terms
from server.ledger.verify import verify
from server.query import Budget

P = ParamSpec("P")
T = TypeVar("T")


class Book:
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
        """Take the charge from all its accounts, or refuse."""
        reserved = self._write(reserve, charge)
        if isinstance(reserved, Short):
            raise exhausted(charge, reserved.accounts, reserved.paying)
        return reserved

    def claim(self, charge: Charge) -> Reservation | None:
        """Take the charge, unless the question is answered or being answered."""
        claimed = self._write(claim, self._store, charge)
        if isinstance(claimed, Short):
            raise exhausted(charge, claimed.accounts, claimed.paying)
        return claimed

    def commit(self, reservation: Reservation, answer: bytes | None = None) -> Budget:
        """The query was answered."""
        return _budget(self._write(settle, reservation, "committed", answer))

    def fail(self, reservation: Reservation) -> None:
        """The query was not answered; the charge stands."""
        self._write(settle, reservation, "failed")

    def release(self, reservation: Reservation) -> None:
        """Give the charge back: no private row was read."""
        self._write(settle, reservation, "released")

    def recover(self) -> tuple[Reservation, ...]:
        """Mark as crashed what dead processes left reserved."""
        return self._write(recover, self._store)

    def kept_answer(self, answer_key: str, analyst: str) -> KeptAnswer | None:
        """The kept answer for which the analyst was charged, else the first one."""
        return self._store.read(lambda reading: answer_rows.kept(reading, answer_key, analyst))

    def charge_of(self, analyst: str, idempotency_key: str) -> ChargeRecord | None:
        """The analyst's charge that was made under an idempotency key."""
        return self._store.read(lambda reading: charge_rows.by_idempotency_key(reading, analyst, idempotency_key))

    def newest_answer(self, analyst: str, plan_hash: str) -> ChargeRecord | None:
        """The analyst's newest committed charge with an answer key for a plan."""
        return self._store.read(lambda reading: charge_rows.newest_answered(reading, analyst, plan_hash))

    def budget(self, analyst: str) -> Budget:
        """What the analyst's own account was granted and has left."""
        return _budget(self._store.read(partial(_own_balance, analyst)))

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
    ) -> None:
        """Make an analyst with a budget by basic composition."""
        credentials = Credentials(key) if isinstance(key, str) else key
        new = Analyst(name, role, group, enabled=True)
        self._write(administering.add_analyst, new, credentials, Grant(epsilon, delta), act)

    def set_credentials(self, name: str, credentials: Credentials, act: Act) -> None:
        """Rotate the key."""
        self._write(administering.set_credentials, name, credentials, act)

    def set_role(self, name: str, role: Role, act: Act) -> None:
        """Change what the analyst's key opens."""
        self._write(administering.set_role, name, role, act)

    def set_enabled(self, name: str, enabled: bool, act: Act) -> None:
        """Disable or enable."""
        self._write(administering.set_enabled, name, enabled, act)

    def set_group(self, name: str, group: str | None, act: Act) -> None:
        """Move to a group, or to none."""
        self._write(administering.set_group, name, group, act)

    def grant(self, account: str, grant: Grant, act: Act) -> None:
        """Set what an account may spend."""
        self._write(administering.grant, account, Terms.of(grant), act)

    def top_up(self, account: str, epsilon: float, delta: float, act: Act) -> None:
        """Add to what an account may spend."""
        self._write(administering.top_up, account, epsilon, delta, act)

    def accept_policy(self, policy_hash: str, ownership: Sequence[str], weakens: Sequence[str], act: Act) -> None:
        """Record that a policy is in force from now on."""
        self._write(administering.accept_policy, policy_hash, ownership, weakens, act)

    def bump_data(self, act: Act) -> int:
        """Say that the data is a new load."""
        return self._write(administering.bump_data, act)

    def analyst_by_key(self, key_hash: str) -> str | None:
        """The enabled analyst who holds the key, or None."""
        return self._store.read(lambda reading: analyst_rows.by_key(reading, key_hash))

    def scram_verifier(self, analyst: str) -> str | None:
        """The enabled analyst's verifier for the wire protocol, or None."""
        return self._store.read(lambda reading: analyst_rows.scram_verifier(reading, analyst))

    def analyst(self, name: str) -> Analyst:
        """One analyst."""
        return self._store.read(lambda reading: analyst_rows.analyst(reading, name))

    def analysts(self) -> tuple[Analyst, ...]:
        """All, by name."""
        return self._store.read(analyst_rows.analysts)

    def accounts(self, analyst: str | None = None) -> tuple[AccountBalance, ...]:
        """The accounts that pay for an analyst's queries, or all."""
        return tuple(one.shown for one in self._store.read(partial(_balances, analyst)))

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
        return None if accepted is None else str(accepted["policy_hash"])

    def accepted_ownership(self) -> tuple[str, ...] | None:
        """What made rows people's own then; None where that was not noted."""
        noted = (self._store.read(_accepted_policy) or {}).get("ownership")
        return None if noted is None else tuple(noted)

    def data_version(self) -> int:
        """The version of the data, from 1."""
        return self._store.read(administering.data_version)

    def verify(self) -> Verification:
        """Walk all entries."""
        return self._store.walk(verify)

    def close(self) -> None:
        """Let go of the store; twice is once."""
        self._store.close()

    def _write(self, work: Callable[Concatenate[Journal, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """One write under one operation, however often it is tried."""
        operation = next(self._operations)

        def attempt(writing: Writing) -> T:
            return work(Journal(writing, self._store.instance, operation), *args, **kwargs)

        return self._store.write(attempt)


def _own_balance(analyst: str, reading: Reading) -> Balance:
    analyst_rows.analyst(reading, analyst)  # an unknown one is refused by that name
    return account_rows.balance(reading, analyst_account(analyst)).at(ledger_time(reading))


def _balances(analyst: str | None, reading: Reading) -> tuple[Balance, ...]:
    if analyst is None:
        found = account_rows.all_balances(reading)
    else:
        found = account_rows.balances(reading, paying_accounts(analyst_rows.analyst(reading, analyst)))
    now = ledger_time(reading)
    return tuple(one.at(now) for one in found)


def _accepted_policy(reading: Reading) -> dict[str, Any] | None:
    row = reading.row(f"SELECT content FROM entries WHERE {ACTS_OF_KIND} ORDER BY number DESC LIMIT 1", "policy")
    if row is None:
        return None
    content: dict[str, Any] = json.loads(row[0])
    return content


def _budget(own: Balance) -> Budget:
    grant = own.terms.grant
    return Budget(grant.epsilon, grant.delta, own.epsilon_left(), own.delta_left)
