"""Kept answers as rows."""

from __future__ import annotations

import hashlib
import json

from server.ledger.charge import KeptAnswer
from server.ledger.charge_rows import charge_in
from server.ledger.store import Reading, Writing

_KEPT = (
    "SELECT a.number, a.answer, e.content, EXISTS (SELECT 1 FROM charges p WHERE p.answer_key = a.answer_key"
    " AND p.answer_key <> '' AND p.state = 'committed' AND p.analyst = ?"
    " AND (p.number = a.number OR p.repeats = a.number)) AS paid"
    " FROM answers a JOIN charges c ON c.number = a.number JOIN entries e ON e.number = c.entry"
    " WHERE a.answer_key = ? ORDER BY paid DESC, a.number LIMIT 1"
)
"""Two analysts who race for one question are given, and pay for, two answers: to each is kept the own one."""


def kept(reading: Reading, answer_key: str, analyst: str) -> KeptAnswer | None:
    """The answer the analyst was charged for, else the first one that was kept under the key."""
    row = reading.row(_KEPT, analyst, answer_key)
    if row is None:
        return None
    number, answer, content, paid = row
    return KeptAnswer(number, bytes(answer), charge_in(json.loads(content)), bool(paid))


def keep(writing: Writing, number: int, answer_key: str, answer: bytes) -> None:
    """Keep the answer of a charge."""
    writing.run("INSERT INTO answers (number, answer_key, answer) VALUES (?, ?, ?)", number, answer_key, answer)


def digest(answer: bytes) -> str:
    """What the entry says of an answer: its SHA-256 in hex."""
    return hashlib.sha256(answer).hexdigest()
