"""Charges as rows and entries, with their privacy events as JSON; and the cached answers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from privacy.accounting.amounts import Charge as Amount
from privacy.accounting.amounts import Spent, load, save
from privacy.accounting.event import (
    ZCDP,
    ApproxDP,
    BoundedRange,
    Composed,
    DiscreteGaussian,
    PrivacyEvent,
    PureDP,
    RenyiCurve,
)
from privacy.errors import InvalidParameter
from server.ledger.account import Accounting
from server.ledger.balance import Balance
from server.ledger.charge import CachedAnswer, Charge, ChargeRecord
from server.ledger.currency import charged_delta, charged_epsilon, delta_of, epsilon_of
from server.ledger.entry import Reserved, Tuning
from server.ledger.store import Reading, Writing

_KINDS: Mapping[str, type[PrivacyEvent]] = {
    kind.__name__: kind for kind in (PureDP, ApproxDP, BoundedRange, ZCDP, DiscreteGaussian, RenyiCurve, Composed)
}


def save_event(event: PrivacyEvent) -> dict[str, object]:
    """An event as a JSON object. Floats are written by repr, which reads back to the same float.

    Raises: InvalidParameter for an event of an unknown kind.
    """
    kind = type(event).__name__
    if _KINDS.get(kind) is not type(event):
        raise InvalidParameter(f"no ledger keeps a {kind}")
    return {"kind": kind} | {field.name: _saved(getattr(event, field.name)) for field in fields(_KINDS[kind])}  # type: ignore[arg-type]


def load_event(saved: Mapping[str, object]) -> PrivacyEvent:
    """The event of a JSON object. Raises InvalidParameter if it is malformed."""
    kind = _KINDS.get(str(saved.get("kind")))
    if kind is None:
        raise InvalidParameter("no event is of this kind")
    values = {name: _loaded(value) for name, value in saved.items() if name != "kind"}
    try:
        return kind(**values)
    except (TypeError, ValueError) as error:
        raise InvalidParameter("this event was not saved by Noisegate") from error


def _saved(value: object) -> object:
    if isinstance(value, PrivacyEvent):
        return save_event(value)
    if isinstance(value, tuple):
        return [_saved(part) for part in value]
    if isinstance(value, float):
        return repr(float(value))
    if isinstance(value, int):
        return value
    raise InvalidParameter(f"an event holds no {type(value).__name__}")


def _loaded(value: object) -> object:
    if isinstance(value, Mapping):
        return load_event(value)
    if isinstance(value, list):
        return tuple(_loaded(part) for part in value)
    return float(value) if isinstance(value, str) else value


_RECORD = (
    "SELECT c.number, e.content, c.state, e.at_ms, s.at_ms FROM charges c JOIN entries e ON e.number = c.entry"
    " LEFT JOIN entries s ON s.number = c.settled_by"
)


_ALIKE = (
    *("analyst", "request_id", "policy_hash", "plan_hash", "mechanism"),
    *("answer_key", "repeats", "idempotency_key"),
)
"""The fields that a charge and its entry have in common."""


def reserved_content(
    number: int, charge: Charge, accounts: tuple[Balance, ...], amounts: Mapping[Accounting, Spent]
) -> Reserved:
    """The entry of a reservation: the charge, which accounts pay, from which window, and how much."""
    return Reserved(
        **{name: getattr(charge, name) for name in _ALIKE},
        charge=number,
        nano_epsilon=charged_epsilon(charge.epsilon),
        atto_delta=charged_delta(charge.delta),
        event=None if charge.event is None else save_event(charge.event),
        request_hash=charge.request_hash,
        accounts={account.name: [account.terms.accounting, account.started_ms] for account in accounts},
        amounts={accounting: save(amount) for accounting, amount in amounts.items()},
        sealed_question=None if charge.sealing is None else charge.sealing(number),
    )


def charge_in(content: Reserved) -> Charge:
    """The charge of a reservation's entry, with epsilon and delta as rounded."""
    return Charge(
        **{name: getattr(content, name) for name in _ALIKE},
        epsilon=epsilon_of(content.nano_epsilon),
        delta=delta_of(content.atto_delta),
        event=None if content.event is None else load_event(content.event),
        request_hash=content.request_hash or "",
    )


def payments_in(content: Reserved | Tuning) -> dict[str, tuple[Spent, int]]:
    """By account: what it paid, and the start of the window from which it paid."""
    amounts = {accounting: load(saved) for accounting, saved in content.amounts.items()}
    return {name: (amounts[accounting], started) for name, (accounting, started) in content.accounts.items()}


def basic_in(content: Reserved) -> Amount:
    """The epsilon and delta that a reservation costs by basic composition."""
    return Amount(content.nano_epsilon, content.atto_delta)


def insert(writing: Writing, number: int, entry: int, charge: Charge, instance: str) -> None:
    """Write a reserved charge, which only this instance may settle."""
    names = (charge.plan_hash, charge.answer_key, charge.idempotency_key)
    writing.run(
        "INSERT INTO charges (number, entry, analyst, plan_hash, answer_key, idempotency_key, repeats, instance,"
        " state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'reserved')",
        *(number, entry, charge.analyst, *names, charge.repeats, instance),
    )


def asked_last_number(reading: Reading) -> Callable[[], int]:
    """Ask for the number of charges together with other questions."""
    rows = reading.asked("SELECT coalesce(max(number), 0) FROM charges")
    return lambda: int(rows()[0][0])


def records(
    reading: Reading, analyst: str | None = None, *, after: int = 0, limit: int = 1000
) -> tuple[ChargeRecord, ...]:
    """Up to `limit` charges with numbers above `after`, in order; of one analyst, or of all."""
    whose = " AND c.analyst = ?" if analyst is not None else ""
    values = (after, *((analyst,) if analyst is not None else ()), limit)
    rows = reading.rows(f"{_RECORD} WHERE c.number > ?{whose} ORDER BY c.number LIMIT ?", *values)
    return tuple(map(_record, rows))


def newest(reading: Reading, analyst: str, *, before: int | None = None, limit: int = 50) -> tuple[ChargeRecord, ...]:
    """Up to `limit` charges of an analyst with numbers below `before`, newest first."""
    older = " AND c.number < ?" if before is not None else ""
    values = (analyst, *((before,) if before is not None else ()), limit)
    rows = reading.rows(f"{_RECORD} WHERE c.analyst = ?{older} ORDER BY c.number DESC LIMIT ?", *values)
    return tuple(map(_record, rows))


def newest_spent(reading: Reading, analyst: str, limit: int) -> tuple[Charge, ...]:
    """Up to `limit` charges of an analyst that were not given back, newest first."""
    rows = reading.rows(
        "SELECT e.content FROM charges c JOIN entries e ON e.number = c.entry"
        " WHERE c.analyst = ? AND c.state <> 'released' ORDER BY c.number DESC LIMIT ?",
        *(analyst, limit),
    )
    return tuple(charge_in(Reserved.read(content)) for (content,) in rows)


def paid_among(reading: Reading, answer_keys: Sequence[str], analyst: str) -> frozenset[str]:
    """The answer keys, of those given, whose answers the analyst has paid for.

    Cost: one read of all charges of the analyst.
    """
    rows = reading.rows(
        "SELECT DISTINCT answer_key FROM charges WHERE analyst = ? AND state = 'committed' AND answer_key <> ''",
        analyst,
    )
    return frozenset(answer_keys) & {str(key) for (key,) in rows}


def by_idempotency_key(reading: Reading, analyst: str, key: str) -> ChargeRecord | None:
    """The analyst's charge with an idempotency key. One indexed read."""
    # The second condition repeats the partial index's own.
    row = reading.row(
        f"{_RECORD} WHERE c.analyst = ? AND c.idempotency_key = ? AND c.idempotency_key <> ''", analyst, key
    )
    return None if row is None else _record(row)


def answered(reading: Reading, analyst: str, plan_hash: str, *, limit: int = 1) -> tuple[ChargeRecord, ...]:
    """Up to `limit` of the analyst's committed charges with an answer key for a plan, newest first; indexed."""
    rows = reading.rows(
        f"{_RECORD} WHERE c.plan_hash = ? AND c.analyst = ? AND c.state = 'committed' AND c.answer_key <> ''"
        " ORDER BY c.number DESC LIMIT ?",
        *(plan_hash, analyst, limit),
    )
    return tuple(map(_record, rows))


def _record(row: tuple[Any, ...]) -> ChargeRecord:
    number, text, state, reserved_at_ms, settled_at_ms = row
    content = Reserved.read(text)
    times = reserved_at_ms, settled_at_ms
    return ChargeRecord(number, charge_in(content), state, tuple(content.accounts), *times, content.sealed_question)


_KEPT = (
    "SELECT k.number, CASE WHEN k.paid THEN (SELECT answer FROM answers WHERE number = k.number) END,"
    " k.content, k.paid FROM (SELECT a.number, e.content, EXISTS (SELECT 1 FROM charges p"
    " WHERE p.answer_key = a.answer_key AND p.answer_key <> '' AND p.state = 'committed' AND p.analyst = ?"
    " AND (p.number = a.number OR p.repeats = a.number)) AS paid"
    " FROM answers a JOIN charges c ON c.number = a.number JOIN entries e ON e.number = c.entry"
    " WHERE a.answer_key = ? ORDER BY paid DESC, a.number LIMIT 1) k"
)
"""The cached answer of a question, first one that this analyst has paid for, itself or by a repeated charge. No bytes
of others' answers are read, so that no duration depends on them.

Ledgers of 0.1.0 may have two answers under a key, of proxies that were cut off.
"""


def cached(reading: Reading, answer_key: str, analyst: str) -> CachedAnswer | None:
    """The cached answer that the analyst paid for, else the first one under the key, without bytes; indexed."""
    row = reading.row(_KEPT, analyst, answer_key)
    if row is None:
        return None
    number, answer, content, paid = row
    return CachedAnswer(number, bytes(answer or b""), charge_in(Reserved.read(content)), bool(paid))


def cache(writing: Writing, number: int, answer_key: str, answer: bytes) -> None:
    """Cache the answer of a charge under its key."""
    writing.run("INSERT INTO answers (number, answer_key, answer) VALUES (?, ?, ?)", number, answer_key, answer)


def digest(answer: bytes) -> str:
    """The SHA-256 of an answer in hex, as its entry records it."""
    return hashlib.sha256(answer).hexdigest()
