"""Acts of administrators: each writes one entry (a new analyst two) and the rows that follow, or nothing."""

from __future__ import annotations

import re
from typing import TypeVar

from planner.errors import InvalidSetting
from server.errors import AnalystExists, InvalidRequest, UnknownAccount
from server.ledger.account import DATASET, Grant, analyst_account, group_account
from server.ledger.analyst import Act, Analyst, Credentials
from server.ledger.balance import Balance
from server.ledger.entry import (
    AnalystAdded,
    DataBumped,
    Disabled,
    Enabled,
    EntryKind,
    Granted,
    GroupChanged,
    KeyChanged,
    KeysChecked,
    PeriodsNoted,
    PolicyAccepted,
    RoleChanged,
)
from server.ledger.store import ACTS_OF_KIND, Reading
from server.ledger.terms import Terms
from server.ledger.writes import account_rows
from server.ledger.writes.account_rows import analyst
from server.ledger.writes.journal import Journal

C = TypeVar("C", DataBumped, KeysChecked, PeriodsNoted, PolicyAccepted)

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}")
"""Names of new analysts and groups. ASCII, so that no two look alike; safe as a segment of a path and as an argument
of a command. Older names may start with `.`, `@` or `-`.
"""

MAX_REASON_LENGTH = 1000


_FIELDS = {
    EntryKind.ROLE: ("role", "role"),
    EntryKind.ENABLED: ("enabled", "enabled"),
    EntryKind.DISABLED: ("enabled", "enabled"),
    EntryKind.GROUP: ("group", "belongs_to"),
}
"""By kind: the entry's field, and the analyst's column that it changes."""


def add_analyst(journal: Journal, new: Analyst, credentials: Credentials, grant: Grant, act: Act) -> None:
    """Write a new analyst and the account. Raises: as `Ledger.add_analyst`."""
    terms = Terms.of(grant)
    check_name(new.name)
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
    _open_account(journal, analyst_account(new.name), terms, act)


def set_credentials(journal: Journal, name: str, credentials: Credentials, act: Act) -> None:
    """Write a new key, which replaces the old one at once."""
    analyst(journal.writing, name)
    _check_new(journal.writing, None, credentials)
    journal.append(KeyChanged(analyst=name, credentials=credentials.fingerprint, **signed(act)))
    journal.writing.run(
        "UPDATE analysts SET key_hash = ?, scram_verifier = ? WHERE name = ?",
        *(credentials.key_hash, credentials.scram_verifier, name),
    )


def change_analyst(journal: Journal, said: RoleChanged | Enabled | Disabled | GroupChanged) -> None:
    """Write one field of an analyst. Raises UnknownAccount for a group without an account."""
    if isinstance(said, GroupChanged):
        _check_group(journal.writing, said.group)
    analyst(journal.writing, said.analyst)
    journal.append(said)
    field, column = _FIELDS[said.kind]
    journal.writing.run(f"UPDATE analysts SET {column} = ? WHERE name = ?", said.json[field], said.analyst)


def set_grant(journal: Journal, account: str, terms: Terms, act: Act) -> None:
    """Write a grant; it creates the account of a group or the dataset. Raises UnknownAccount."""
    there = account_rows.balances(journal.writing, (account,))
    if there:
        _regrant(journal, there[0], terms, act)
        return
    kind, _, name = account.partition(":")
    if account != DATASET and (kind != "group" or not NAME.fullmatch(name)):
        raise UnknownAccount(
            "There is no account of that name.",
            hint="Name analyst:NAME, group:NAME or dataset. Group names follow the rules of analysts' names.",
        )
    _open_account(journal, account, terms, act)


def top_up(journal: Journal, account: str, epsilon: float, delta: float, act: Act) -> None:
    """Write a larger grant. Raises: as `Ledger.top_up`."""
    there = account_rows.balance(journal.writing, account)
    _regrant(journal, there, there.terms.topped_up(epsilon, delta), act)


def bump_data(journal: Journal, act: Act, mirror: str | None = None) -> int:
    """Write a new data version and return it."""
    if (done := journal.done_before()) is not None:
        assert isinstance(done, DataBumped), "the operation's first entry"
        return done.version
    version = data_version(journal.writing) + 1
    journal.append(DataBumped(version=version, mirror=mirror, **signed(act)))
    return version


def note_periods(journal: Journal, noted: PeriodsNoted) -> bool:
    """Write which periods are closed, unless the data version has changed or has such an entry already.

    Returns: was it written?
    """
    if journal.done_before() is not None:
        return True
    newest = newest_act(journal.writing, PeriodsNoted)
    if data_version(journal.writing) != noted.version or (newest is not None and newest.version == noted.version):
        return False
    journal.append(noted)
    return True


def newest_act(reading: Reading, kind: type[C]) -> C | None:
    """The newest entry of a kind of act. One indexed read."""
    row = reading.row(
        f"SELECT content FROM entries WHERE {ACTS_OF_KIND} ORDER BY number DESC LIMIT 1", kind.kind.value
    )
    return None if row is None else kind.read(row[0])


def data_version(reading: Reading) -> int:
    """The data version: 1, plus 1 for each bump. Every query reads it, so it is never counted from all entries."""
    row = reading.row(f"SELECT count(*) FROM entries WHERE {ACTS_OF_KIND}", DataBumped.kind.value)
    assert row is not None, "an aggregate has a row"
    return 1 + int(row[0])


def check_name(name: str) -> None:
    """Raises InvalidRequest for an invalid name."""
    if not NAME.fullmatch(name):
        raise InvalidRequest(
            "An analyst's name is 1 to 64 letters (a to z), digits and any of `_.@-`; the first is a letter, a digit"
            " or `_`."
        )


def signed(act: Act) -> dict[str, str]:
    """The author and reason of an entry. Raises InvalidRequest for a reason that is too long."""
    if len(act.reason) > MAX_REASON_LENGTH:
        raise InvalidRequest(f"A reason has at most {MAX_REASON_LENGTH} characters.")
    return {"by": act.by, "reason": act.reason}


def _check_new(reading: Reading, name: str | None, credentials: Credentials) -> None:
    known = reading.row("SELECT 1 FROM analysts WHERE name = ? OR key_hash = ?", name, credentials.key_hash)
    if known is not None:
        raise AnalystExists(
            f"An analyst {name}, or one with that key, exists already." if name else "The key is in use.",
            hint="Choose another name, or change the existing analyst's key or budget." if name else None,
        )


def _check_group(reading: Reading, group: str | None) -> None:
    if group is not None and not account_rows.balances(reading, (group_account(group),)):
        raise UnknownAccount(
            "There is no group of that name.",
            hint=f"Grant group:{group} a budget first (Set anew), with a delta.",
        )


def _open_account(journal: Journal, name: str, terms: Terms, act: Act) -> None:
    opened = Balance.opened(name, terms, journal.at_ms, journal.utc_ms)
    journal.append(Granted(account=name, terms=terms, **signed(act)))
    account_rows.insert(journal.writing, opened)


def _regrant(journal: Journal, there: Balance, terms: Terms, act: Act) -> None:
    if terms.window_ms is None and there.terms.window_ms is not None:
        raise InvalidSetting(
            f"The account {there.name} has windows, and what they spent is not added up, so it can have no total.",
            hint="Give it a window that is long enough: --window-days 36500 lasts for a hundred years.",
        )
    regranted = there.regranted(terms, journal.at_ms, journal.utc_ms)
    journal.append(Granted(account=there.name, terms=terms, **signed(act)))
    account_rows.update(journal.writing, regranted)
