"""Analysts as rows."""

from __future__ import annotations

from typing import Any

from server.errors import UnknownAnalyst
from server.ledger.analyst import Analyst
from server.ledger.store import Reading

_COLUMNS = "name, role, belongs_to, enabled"


def analyst(reading: Reading, name: str) -> Analyst:
    """One analyst, enabled or not. Raises UnknownAnalyst."""
    row = reading.row(f"SELECT {_COLUMNS} FROM analysts WHERE name = ?", name)
    if row is None:
        raise UnknownAnalyst("There is no analyst of that name.", hint="noisegate analyst add")
    return _analyst(row)


def analysts(reading: Reading) -> tuple[Analyst, ...]:
    """All of them, by name."""
    rows = reading.rows(f"SELECT {_COLUMNS} FROM analysts ORDER BY name")
    return tuple(map(_analyst, rows))


def _analyst(row: tuple[Any, ...]) -> Analyst:
    name, role, group, enabled = row
    return Analyst(name, role, group, bool(enabled))


def by_key(reading: Reading, key_hash: str) -> str | None:
    """The enabled analyst who holds a key, or None."""
    row = reading.row("SELECT name FROM analysts WHERE key_hash = ? AND enabled = 1", key_hash)
    return None if row is None else str(row[0])


def scram_verifier(reading: Reading, name: str) -> str | None:
    """The verifier of an enabled analyst who may ask, or None; no other role includes that."""
    row = reading.row("SELECT scram_verifier FROM analysts WHERE name = ? AND enabled = 1 AND role = 'analyst'", name)
    return str(row[0]) or None if row is not None else None
