"""Accounts and analysts as rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, astuple
from typing import Any

from privacy.accounting.amounts import Charge as Amount
from privacy.accounting.amounts import load, save
from server.errors import UnknownAccount, UnknownAnalyst
from server.ledger.analyst import Analyst
from server.ledger.balance import Balance
from server.ledger.store import Reading, Writing
from server.ledger.terms import Periods, Terms

_COLUMNS = (
    "name, accounting, nano_epsilon, atto_delta, event_atto, window_ms, nano_cap, renew, most_nano, most_atto,"
    " started_ms, spent, progress"
)


def all_balances(reading: Reading) -> tuple[Balance, ...]:
    """All accounts, by name."""
    return tuple(map(_balance, reading.rows(f"SELECT {_COLUMNS} FROM accounts ORDER BY name")))


def balances(reading: Reading, names: tuple[str, ...]) -> tuple[Balance, ...]:
    """The named accounts that exist, by name."""
    places = ", ".join("?" * len(names))
    return tuple(
        map(_balance, reading.rows(f"SELECT {_COLUMNS} FROM accounts WHERE name IN ({places}) ORDER BY name", *names))
    )


def balance(reading: Reading, name: str) -> Balance:
    """One account. Raises UnknownAccount."""
    return asked_balance(reading, name)()


def asked_balance(reading: Reading, name: str) -> Callable[[], Balance]:
    """Ask for an account together with other questions. The returned function gives it, or raises UnknownAccount."""
    rows = reading.asked(f"SELECT {_COLUMNS} FROM accounts WHERE name = ?", name)

    def found() -> Balance:
        for row in rows():
            return _balance(row)
        raise UnknownAccount(
            "There is no account of that name.",
            hint="`noisegate admin accounts` lists them. Create a new one with a grant (Set anew), not a top-up.",
        )

    return found


def insert(writing: Writing, account: Balance) -> None:
    """Write a new account."""
    row = (account.name, *_terms(account), *_spent(account))
    writing.run(f"INSERT INTO accounts ({_COLUMNS}) VALUES ({', '.join('?' * len(row))})", *row)


def update_spent(writing: Writing, account: Balance) -> None:
    """Write the spending of an account, its period, and its ended periods."""
    writing.run(
        "UPDATE accounts SET started_ms = ?, spent = ?, progress = ? WHERE name = ?", *_spent(account), account.name
    )


def update(writing: Writing, account: Balance) -> None:
    """Write an account with new terms."""
    changed = ", ".join(f"{column.strip()} = ?" for column in _COLUMNS.split(",")[1:])
    writing.run(f"UPDATE accounts SET {changed} WHERE name = ?", *_terms(account), *_spent(account), account.name)


def _balance(row: tuple[Any, ...]) -> Balance:
    name, *terms, started_ms, text, progress = row
    spent, more = load(json.loads(text)), json.loads(progress)
    basic = spent if isinstance(spent, Amount) else Amount(*more.get("basic", (0, 0)))
    periods = Periods(**more["periods"]) if "periods" in more else None
    return Balance(name, Terms(*terms), started_ms, spent, basic, periods)


def _terms(account: Balance) -> tuple[object, ...]:
    return astuple(account.terms)  # its fields stand in the order of _COLUMNS


def _spent(account: Balance) -> tuple[int, str, str]:
    """The start of the window or period, its spending, and other totals. The totals are empty for basic composition
    without calendar renewal.
    """
    other = not isinstance(account.spent, Amount)
    progress: dict[str, object] = {}
    if other:
        progress["basic"] = [account.basic.nano_epsilon, account.basic.atto_delta]
    if account.periods is not None:
        progress["periods"] = asdict(account.periods)
    return account.started_ms, _json(dict(save(account.spent))), _json(progress)


def _json(content: Mapping[str, object]) -> str:
    return json.dumps(content, separators=(",", ":"))


_ANALYST_COLUMNS = "name, role, belongs_to, enabled"


def analyst(reading: Reading, name: str) -> Analyst:
    """One analyst, enabled or not. Raises UnknownAnalyst."""
    row = reading.row(f"SELECT {_ANALYST_COLUMNS} FROM analysts WHERE name = ?", name)
    if row is None:
        raise UnknownAnalyst("There is no analyst of that name.", hint="noisegate analyst add")
    return _analyst(row)


def analysts(reading: Reading) -> tuple[Analyst, ...]:
    """All analysts by name, also disabled ones."""
    rows = reading.rows(f"SELECT {_ANALYST_COLUMNS} FROM analysts ORDER BY name")
    return tuple(map(_analyst, rows))


def _analyst(row: tuple[Any, ...]) -> Analyst:
    name, role, group, enabled = row
    return Analyst(name, role, group, bool(enabled))


def by_key(reading: Reading, key_hash: str) -> str | None:
    """The name of the enabled analyst with this key, or None. One indexed look-up."""
    row = reading.row("SELECT name FROM analysts WHERE key_hash = ? AND enabled = 1", key_hash)
    return None if row is None else str(row[0])


def is_disabled(reading: Reading, key_hash: str) -> bool:
    """Whether a key belongs to a disabled analyst. One indexed look-up."""
    return reading.row("SELECT 1 FROM analysts WHERE key_hash = ? AND enabled = 0", key_hash) is not None


def scram_verifier(reading: Reading, name: str, *, enabled: bool = True) -> str | None:
    """The SCRAM verifier of an enabled, or a disabled, analyst; None for other roles."""
    row = reading.row(
        "SELECT scram_verifier FROM analysts WHERE name = ? AND enabled = ? AND role = 'analyst'", name, int(enabled)
    )
    return str(row[0]) or None if row is not None else None
