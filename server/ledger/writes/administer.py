"""Acts of custodians: each writes one entry (a new analyst two) and what follows from it, or nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import ParamSpec, TypeVar

from server.errors import AnalystExists, InvalidRequest, UnknownAccount
from server.ledger.account import DATASET, Grant, analyst_account, group_account
from server.ledger.analyst import Act, Analyst, Credentials
from server.ledger.balance import Balance
from server.ledger.entry import (
    AnalystAdded,
    DataBumped,
    Disabled,
    Enabled,
    Granted,
    GroupChanged,
    KeyChanged,
    KeysChecked,
    PeriodsNoted,
    PolicyAccepted,
    Restored,
    RoleChanged,
)
from server.ledger.store import ACTS_OF_KIND, Reading
from server.ledger.terms import Terms
from server.ledger.writes import account_rows
from server.ledger.writes.account_rows import analyst
from server.ledger.writes.journal import Journal

P = ParamSpec("P")
T = TypeVar("T")

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}")
"""New names of analysts and of groups: ASCII, so that none looks like another; a segment of a path that no client
takes for `.` or `..`; and never an option of a command. Older ones may begin with `.`, `@` or `-`."""

MAX_REASON_LENGTH = 1000


def add_analyst(journal: Journal, new: Analyst, credentials: Credentials, grant: Grant, act: Act) -> None:
    """Write a new analyst and the account.

    Args:
      journal: the writing transaction of one act.
      new: the analyst.
      credentials: of the key.
      grant: the budget, and how it composes.
      act: who does it, and why.
    Raises: as `Ledger.add_analyst`.
    """
    terms = Terms.of(grant)
    check_name(new.name)
    if journal.done_before() is not None:
        return
    _check_new(journal.writing, new.name, credentials)
    _check_group(journal.writing, new.group)
    fingerprint = credentials.fingerprint
    journal.append(
        AnalystAdded(analyst=new.name, role=new.role, group=new.group, credentials=fingerprint, **signed(act))
    )
    journal.writing.run(
        "INSERT INTO analysts (name, key_hash, scram_verifier, role, belongs_to, enabled) VALUES (?, ?, ?, ?, ?, 1)",
        *(new.name, credentials.key_hash, credentials.scram_verifier, new.role, new.group),
    )
    open_account(journal, analyst_account(new.name), terms, act)


def set_credentials(journal: Journal, name: str, credentials: Credentials, act: Act) -> None:
    """Write another key, which is in force from this write on; the old one opens nothing.

    Args:
      journal: the writing transaction of one act.
      name: of the analyst.
      credentials: of the new key.
      act: who does it, and why.
    """
    if journal.done_before() is not None:
        return
    analyst(journal.writing, name)
    _check_new(journal.writing, None, credentials)
    journal.append(KeyChanged(analyst=name, credentials=credentials.fingerprint, **signed(act)))
    journal.writing.run(
        "UPDATE analysts SET key_hash = ?, scram_verifier = ? WHERE name = ?",
        *(credentials.key_hash, credentials.scram_verifier, name),
    )


def set_role(journal: Journal, name: str, role: str, act: Act) -> None:
    """Write another role: what the analyst's key opens from now on.

    Args:
      journal: the writing transaction of one act.
      name: of the analyst.
      role: the new one.
      act: who does it, and why.
    """
    said = RoleChanged(analyst=name, role=role, **signed(act))
    _change(journal, said, role, "UPDATE analysts SET role = ? WHERE name = ?")


def set_enabled(journal: Journal, name: str, enabled: bool, act: Act) -> None:
    """Write whether the analyst may ask.

    Args:
      journal: the writing transaction of one act.
      name: of the analyst.
      enabled: may the analyst ask?
      act: who does it, and why.
    """
    said = (Enabled if enabled else Disabled)(analyst=name, enabled=int(enabled), **signed(act))
    _change(journal, said, int(enabled), "UPDATE analysts SET enabled = ? WHERE name = ?")


def set_group(journal: Journal, name: str, group: str | None, act: Act) -> None:
    """Write another group.

    Args:
      journal: the writing transaction of one act.
      name: of the analyst.
      group: the new one; None: none.
      act: who does it, and why.
    Raises: UnknownAccount for one without an account.
    """
    _check_group(journal.writing, group)
    said = GroupChanged(analyst=name, group=group, **signed(act))
    _change(journal, said, group, "UPDATE analysts SET belongs_to = ? WHERE name = ?")


def set_grant(journal: Journal, account: str, terms: Terms, act: Act) -> None:
    """Write what an account may spend; a group's and the dataset's account begin with it.

    Args:
      journal: the writing transaction of one act.
      account: `analyst:NAME`, `group:NAME` or `dataset`.
      terms: what it may spend, and how that composes.
      act: who does it, and why.
    Raises: UnknownAccount.
    """
    if journal.done_before() is not None:
        return
    there = account_rows.balances(journal.writing, (account,))
    if there:
        _regrant(journal, there[0], terms, act)
        return
    kind, _, name = account.partition(":")
    if account != DATASET and (kind != "group" or not NAME.fullmatch(name)):
        raise UnknownAccount(
            "There is no account of that name.",
            hint="There are analyst:NAME, group:NAME and dataset. A group's name is as an analyst's.",
        )
    open_account(journal, account, terms, act)


def top_up(journal: Journal, account: str, epsilon: float, delta: float, act: Act) -> None:
    """Write a larger grant.

    Args:
      journal: the writing transaction of one act.
      account, epsilon, delta, act: as of `Ledger.top_up`.
    """
    if journal.done_before() is None:
        there = account_rows.balance(journal.writing, account)
        _regrant(journal, there, there.terms.topped_up(epsilon, delta), act)


def accept_policy(
    journal: Journal,
    policy_hash: str,
    ownership: Sequence[str],
    weakens: Sequence[str],
    act: Act,
    acknowledged: Sequence[str] = (),
) -> None:
    """Write which policy is in force, what makes rows people's own under it, and what of them is known to be lost.

    Args:
      journal: the writing transaction of one act.
      policy_hash, ownership, weakens, act, acknowledged: as of `Ledger.accept_policy`.
    """
    if journal.done_before() is None:
        journal.append(
            PolicyAccepted(
                policy_hash=policy_hash,
                ownership=list(ownership),
                weakens=list(weakens),
                acknowledged=list(acknowledged) or None,
                **signed(act),
            )
        )


def bump_data(journal: Journal, act: Act, mirror: str | None = None) -> int:
    """Write that the data is a new load; returns its version."""
    if (done := journal.done_before()) is not None:
        assert isinstance(done, DataBumped), "the operation's first entry"
        return done.version
    version = data_version(journal.writing) + 1
    journal.append(DataBumped(version=version, mirror=mirror, **signed(act)))
    return version


def note_checked(journal: Journal, version: int, fingerprint: str, keys: Sequence[str], act: Act) -> None:
    """Write which keys a version of the data has been checked for.

    Args:
      journal: the writing transaction of one act.
      version, fingerprint, keys, act: as of `Ledger.note_checked`.
    """
    if journal.done_before() is None:
        journal.append(KeysChecked(version=version, fingerprint=fingerprint, keys=list(keys), **signed(act)))


def note_periods(journal: Journal, noted: PeriodsNoted) -> bool:
    """Write which periods are closed; nothing where the data is of another version, or this one's were noted.

    Returns: is it written?
    """
    if journal.done_before() is not None:
        return True
    newest = noted_periods(journal.writing)
    if data_version(journal.writing) != noted.version or (newest is not None and newest.version == noted.version):
        return False
    journal.append(noted)
    return True


def note_restored(journal: Journal, missing: int | None, act: Act) -> None:
    """Write that the ledger was restored from a copy."""
    if journal.done_before() is None:
        journal.append(Restored(missing=missing, **signed(act)))


def noted_periods(reading: Reading) -> PeriodsNoted | None:
    """What was last noted of closed periods."""
    row = reading.row(
        f"SELECT content FROM entries WHERE {ACTS_OF_KIND} ORDER BY number DESC LIMIT 1", PeriodsNoted.kind.value
    )
    return None if row is None else PeriodsNoted(**PeriodsNoted.arguments(json.loads(row[0])))


def data_version(reading: Reading) -> int:
    """The version of the data: 1, and one more with each bump. Read with every query, so never from all entries."""
    row = reading.row(f"SELECT count(*) FROM entries WHERE {ACTS_OF_KIND}", DataBumped.kind.value)
    assert row is not None, "an aggregate has a row"
    return 1 + int(row[0])


def check_name(name: str) -> None:
    """Raises InvalidRequest for what is no name."""
    if not NAME.fullmatch(name):
        raise InvalidRequest(
            "An analyst's name is 1 to 64 letters (a to z), digits and any of `_.@-`; the first is a letter, a digit"
            " or `_`."
        )


def signed(act: Act) -> dict[str, str]:
    """Who and why, for an entry. Raises InvalidRequest for a reason that is too long."""
    if len(act.reason) > MAX_REASON_LENGTH:
        raise InvalidRequest(f"A reason has at most {MAX_REASON_LENGTH} characters.")
    return {"by": act.by, "reason": act.reason}


def _change(
    journal: Journal, said: RoleChanged | Enabled | Disabled | GroupChanged, value: object, statement: str
) -> None:
    """Write one field of an analyst."""
    if journal.done_before() is None:
        analyst(journal.writing, said.analyst)
        journal.append(said)
        journal.writing.run(statement, value, said.analyst)


def _check_new(reading: Reading, name: str | None, credentials: Credentials) -> None:
    known = reading.row("SELECT 1 FROM analysts WHERE name = ? OR key_hash = ?", name, credentials.key_hash)
    if known is not None:
        raise AnalystExists(
            f"There is an analyst {name}, or one with that key, already." if name else "The key is in use.",
            hint="Choose another name; or give the one that is there another key, or more budget." if name else None,
        )


def _check_group(reading: Reading, group: str | None) -> None:
    if group is not None and not account_rows.balances(reading, (group_account(group),)):
        raise UnknownAccount(
            "There is no group of that name.",
            hint=f"Grant group:{group} a budget first (Set anew), with a delta.",
        )


def open_account(journal: Journal, name: str, terms: Terms, act: Act) -> None:
    """Write a new account.

    Args:
      journal: the writing transaction of one act.
      name: of the account.
      terms: what it may spend, and how that composes.
      act: who does it, and why.
    """
    opened = Balance.opened(name, terms, journal.at_ms, journal.utc_ms)
    journal.append(Granted(account=name, terms=terms, **signed(act)))
    account_rows.insert(journal.writing, opened)


def _regrant(journal: Journal, there: Balance, terms: Terms, act: Act) -> None:
    regranted = there.regranted(terms, journal.at_ms, journal.utc_ms)
    journal.append(Granted(account=there.name, terms=terms, **signed(act)))
    account_rows.update(journal.writing, regranted)
