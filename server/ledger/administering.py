"""Acts of custodians: each writes one entry (a new analyst two) and what follows from it, or nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from server.errors import AnalystExists, InvalidRequest, UnknownAccount
from server.ledger import account_rows
from server.ledger.account import DATASET, Grant, analyst_account, group_account
from server.ledger.analyst import Act, Analyst, Credentials
from server.ledger.analyst_rows import analyst
from server.ledger.balance import Balance
from server.ledger.journal import Journal
from server.ledger.schema import ACTS_OF_KIND
from server.ledger.store import Reading
from server.ledger.terms import Terms

NAME = re.compile(r"[A-Za-z0-9_.@-]{1,64}")
"""Names of analysts and of groups."""

MAX_REASON_LENGTH = 1000


def add_analyst(journal: Journal, new: Analyst, credentials: Credentials, grant: Grant, act: Act) -> None:
    """Write a new analyst and the account. Raises: as `Administration.add_analyst`."""
    terms = Terms.of(grant)
    check_name(new.name)
    if journal.done_before() is not None:
        return
    _check_new(journal.writing, new.name, credentials)
    _check_group(journal.writing, new.group)
    said = {"analyst": new.name, "role": new.role, "group": new.group, "credentials": credentials.fingerprint}
    journal.append("analyst", said | signed(act))
    journal.writing.run(
        "INSERT INTO analysts (name, key_hash, scram_verifier, role, belongs_to, enabled) VALUES (?, ?, ?, ?, ?, 1)",
        *(new.name, credentials.key_hash, credentials.scram_verifier, new.role, new.group),
    )
    open_account(journal, analyst_account(new.name), terms, act)


def set_credentials(journal: Journal, name: str, credentials: Credentials, act: Act) -> None:
    """Write another key."""
    if journal.done_before() is not None:
        return
    analyst(journal.writing, name)
    _check_new(journal.writing, None, credentials)
    journal.append("key", {"analyst": name, "credentials": credentials.fingerprint} | signed(act))
    journal.writing.run(
        "UPDATE analysts SET key_hash = ?, scram_verifier = ? WHERE name = ?",
        *(credentials.key_hash, credentials.scram_verifier, name),
    )


def set_role(journal: Journal, name: str, role: str, act: Act) -> None:
    """Write another role."""
    _change(journal, name, "role", role, act, "UPDATE analysts SET role = ? WHERE name = ?")


def set_enabled(journal: Journal, name: str, enabled: bool, act: Act) -> None:
    """Write whether the analyst may ask."""
    _change(journal, name, "enabled", int(enabled), act, "UPDATE analysts SET enabled = ? WHERE name = ?")


def set_group(journal: Journal, name: str, group: str | None, act: Act) -> None:
    """Write another group. Raises UnknownAccount for one without an account."""
    _check_group(journal.writing, group)
    _change(journal, name, "group", group, act, "UPDATE analysts SET belongs_to = ? WHERE name = ?")


def grant(journal: Journal, account: str, terms: Terms, act: Act) -> None:
    """Write what an account may spend; a group's and the dataset's account begin with it."""
    if journal.done_before() is not None:
        return
    there = account_rows.balances(journal.writing, (account,))
    if there:
        _regrant(journal, there[0], terms, act)
        return
    kind, _, name = account.partition(":")
    if account != DATASET and (kind != "group" or not NAME.fullmatch(name)):
        raise UnknownAccount(
            "There is no account of that name.", hint="There are analyst:NAME, group:NAME and dataset."
        )
    open_account(journal, account, terms, act)


def top_up(journal: Journal, account: str, epsilon: float, delta: float, act: Act) -> None:
    """Write a larger grant."""
    if journal.done_before() is None:
        there = account_rows.balance(journal.writing, account)
        _regrant(journal, there, there.terms.topped_up(epsilon, delta), act)


def accept_policy(
    journal: Journal, policy_hash: str, ownership: Sequence[str], weakens: Sequence[str], act: Act
) -> None:
    """Write which policy is in force, and what makes rows people's own under it."""
    if journal.done_before() is None:
        content = {"policy_hash": policy_hash, "ownership": list(ownership), "weakens": list(weakens)}
        journal.append("policy", content | signed(act))


def bump_data(journal: Journal, act: Act) -> int:
    """Write that the data is a new load; returns its version."""
    if (done := journal.done_before()) is not None:
        return int(done["version"])
    version = data_version(journal.writing) + 1
    journal.append("data", {"version": version} | signed(act))
    return version


def data_version(reading: Reading) -> int:
    """The version of the data: 1, and one more with each bump. Read with every query, so never from all entries."""
    row = reading.row(f"SELECT count(*) FROM entries WHERE {ACTS_OF_KIND}", "data")
    assert row is not None, "an aggregate has a row"
    return 1 + int(row[0])


def check_name(name: str) -> None:
    """Raises InvalidRequest for what is no name."""
    if not NAME.fullmatch(name):
        raise InvalidRequest("An analyst's name is 1 to 64 letters, digits and any of `_.@-`.")


def signed(act: Act) -> dict[str, object]:
    """Who and why, for an entry. Raises InvalidRequest for a reason that is too long."""
    if len(act.reason) > MAX_REASON_LENGTH:
        raise InvalidRequest(f"A reason has at most {MAX_REASON_LENGTH} characters.")
    return {"by": act.by, "reason": act.reason}


def _change(journal: Journal, name: str, kind: str, value: object, act: Act, statement: str) -> None:
    if journal.done_before() is None:
        analyst(journal.writing, name)
        journal.append(kind, {"analyst": name, kind: value} | signed(act))
        journal.writing.run(statement, value, name)


def _check_new(reading: Reading, name: str | None, credentials: Credentials) -> None:
    known = reading.row("SELECT 1 FROM analysts WHERE name = ? OR key_hash = ?", name, credentials.key_hash)
    if known is not None:
        raise AnalystExists(
            f"There is an analyst {name}, or one with that key, already." if name else "The key is in use.",
            hint="Choose another name; or give the one that is there another key, or more budget." if name else None,
        )


def _check_group(reading: Reading, group: str | None) -> None:
    if group is not None and not account_rows.balances(reading, (group_account(group),)):
        raise UnknownAccount("There is no group of that name.", hint="Grant it a budget first.")


def open_account(journal: Journal, name: str, terms: Terms, act: Act) -> None:
    """Write a new account."""
    opened = Balance.opened(name, terms, journal.at_ms)
    journal.append("grant", {"account": name} | terms.content | signed(act))
    account_rows.insert(journal.writing, opened)


def _regrant(journal: Journal, there: Balance, terms: Terms, act: Act) -> None:
    regranted = there.regranted(terms, journal.at_ms)
    journal.append("grant", {"account": there.name} | terms.content | signed(act))
    account_rows.update(journal.writing, regranted)
