"""Accounts as rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from privacy.accounting.saved_spending import load, save
from server.errors import UnknownAccount
from server.ledger.balance import Balance
from server.ledger.store import Reading, Writing
from server.ledger.terms import Terms

_COLUMNS = "name, accounting, nano_epsilon, atto_delta, event_atto, window_ms, nano_cap, started_ms, spent"


def all_balances(reading: Reading) -> tuple[Balance, ...]:
    """Every account, by name."""
    return tuple(map(_balance, reading.rows(f"SELECT {_COLUMNS} FROM accounts ORDER BY name")))


def balances(reading: Reading, names: tuple[str, ...]) -> tuple[Balance, ...]:
    """Those of the named accounts that there are, by name."""
    places = ", ".join("?" * len(names))
    return tuple(
        map(_balance, reading.rows(f"SELECT {_COLUMNS} FROM accounts WHERE name IN ({places}) ORDER BY name", *names))
    )


def balance(reading: Reading, name: str) -> Balance:
    """One account. Raises UnknownAccount."""
    return asked_balance(reading, name)()


def asked_balance(reading: Reading, name: str) -> Callable[[], Balance]:
    """What returns one account as it is now, or raises UnknownAccount; asked for beside other questions."""
    rows = reading.asked(f"SELECT {_COLUMNS} FROM accounts WHERE name = ?", name)

    def found() -> Balance:
        for row in rows():
            return _balance(row)
        raise UnknownAccount("There is no account of that name.", hint="noisegate admin accounts lists them")

    return found


def insert(writing: Writing, account: Balance) -> None:
    """Write a new account."""
    row = (account.name, *_terms(account), *_spent(account))
    writing.run(f"INSERT INTO accounts ({_COLUMNS}) VALUES ({', '.join('?' * len(row))})", *row)


def update_spent(writing: Writing, account: Balance) -> None:
    """Write what an account has spent."""
    writing.run("UPDATE accounts SET started_ms = ?, spent = ? WHERE name = ?", *_spent(account), account.name)


def update(writing: Writing, account: Balance) -> None:
    """Write an account under new terms."""
    writing.run(
        "UPDATE accounts SET accounting = ?, nano_epsilon = ?, atto_delta = ?, event_atto = ?, window_ms = ?,"
        " nano_cap = ?, started_ms = ?, spent = ? WHERE name = ?",
        *_terms(account),
        *_spent(account),
        account.name,
    )


def _balance(row: tuple[Any, ...]) -> Balance:
    name, accounting, nano, atto, event_atto, window_ms, nano_cap, started_ms, spent = row
    return Balance(
        name, Terms(accounting, nano, atto, event_atto, window_ms, nano_cap), started_ms, load(json.loads(spent))
    )


def _terms(account: Balance) -> tuple[object, ...]:
    terms = account.terms
    amounts = (terms.nano_epsilon, terms.atto_delta, terms.event_atto)
    return terms.accounting, *amounts, terms.window_ms, terms.nano_cap


def _spent(account: Balance) -> tuple[int, str]:
    return account.started_ms, json.dumps(save(account.spent), separators=(",", ":"))
