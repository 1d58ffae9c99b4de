"""Do ledger, answers and the proxy's log say the same? Whatever does not is one mismatch, in words."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from server.ledger.charge import ChargeRecord
from server.ledger.ledger import Ledger
from tests.security.soak.clients import Analyst

_PAGE = 1000
_TOLERANCE = 1e-6
_SETTLES = {"committed": "committed", "failed": "failed", "released": "released", "crashed": "crashed"}


def mismatches(ledger: Ledger, analysts: Sequence[Analyst], log: Path) -> Iterator[str]:
    """All of them.

    Args:
      ledger: after its last proxy has ended, and what it left has been called crashed.
      log: of the proxies.
    """
    charges = charges_of(ledger)
    if fault := ledger.verify().fault:
        yield f"the ledger does not hold: {fault}"
    for analyst in analysts:
        yield from _of_one(ledger, analyst, [one for one in charges if one.charge.analyst == analyst.name])
    yield from _of_entries(ledger, charges)
    yield from _of_log(charges, log)


def charges_of(ledger: Ledger) -> list[ChargeRecord]:
    """Every charge, in order."""
    found: list[ChargeRecord] = []
    while page := ledger.charges(after=found[-1].number if found else 0, limit=_PAGE):
        found += page
    return found


def _of_one(ledger: Ledger, analyst: Analyst, charges: Sequence[ChargeRecord]) -> Iterator[str]:
    """What an analyst was told, and what was charged for it."""
    told, by_key = analyst.told, {one.charge.idempotency_key: one for one in charges if one.charge.idempotency_key}
    for key, epsilon in told.answers.items():
        charge = by_key.get(key)
        if charge is None and key in told.perhaps_free:
            continue
        if charge is None or charge.state != "committed":
            yield f"{key} was answered, and its charge is {charge and charge.state}"
        elif abs(charge.charge.epsilon - epsilon) > _TOLERANCE:
            yield f"{key} was told {epsilon} and charged {charge.charge.epsilon}"
    for key in told.failures:
        if key not in by_key or by_key[key].state not in ("failed", "crashed"):
            yield f"{key} was told of a charged failure, and its charge is {key in by_key and by_key[key].state}"
    for key in told.refusals:
        if key in by_key and by_key[key].state != "released":
            yield f"{key} was told that it is refused, and its charge is {by_key[key].state}"
    known = {*told.answers, *told.failures, *told.refusals, *told.unknown}
    for key in by_key.keys() - known:
        yield f"{key} was charged, and nobody has sent it"
    nameless = Counter(one.state for one in charges if not one.charge.idempotency_key)
    if not told.by_wire <= nameless["committed"] <= told.by_wire + told.wire_unknown:
        yield f"{analyst.name}: {told.by_wire} answers by the wire, and {nameless['committed']} charges of such"
    if not told.wire_failures <= nameless["failed"] + nameless["crashed"] <= told.wire_failures + told.wire_unknown:
        yield f"{analyst.name}: {told.wire_failures} failures by the wire, and other charges: {dict(nameless)}"
    spent = sum(one.charge.epsilon for one in charges if one.state != "released")
    left = ledger.budget(analyst.name).epsilon_left
    if spent > analyst.granted + _TOLERANCE or abs(analyst.granted - left - spent) > _TOLERANCE:
        yield f"{analyst.name} was granted {analyst.granted}, has {left} left, and charges of {spent}"


def _of_entries(ledger: Ledger, charges: Sequence[ChargeRecord]) -> Iterator[str]:
    """One entry that reserves each charge, and one that settles it."""
    kinds: Counter[str] = Counter()
    last = 0
    while page := ledger.entries(after=last, limit=_PAGE):
        kinds.update(str(entry.kind.value) for entry in page)
        last = page[-1].number
    states = Counter(one.state for one in charges)
    if states["reserved"]:
        yield f"{states['reserved']} charges were never settled"
    if kinds["reserved"] != len(charges):
        yield f"{kinds['reserved']} entries reserve {len(charges)} charges"
    for state, kind in _SETTLES.items():
        if kinds[kind] != states[state]:  # type: ignore[index]  # the states that there are
            yield f"{kinds[kind]} entries say {kind}, and {states[state]} charges do"  # type: ignore[index]


def _of_log(charges: Sequence[ChargeRecord], log: Path) -> Iterator[str]:
    """No failure in the log that the ledger calls something else; lines that a full disk has cut are left out."""
    known = {one.charge.request_id: one for one in charges}
    for line in log.read_text(errors="replace").splitlines():
        try:
            said = json.loads(line)
        except ValueError:
            continue
        charge = known.get(said.get("request_id"))
        if charge is None:
            continue
        if said.get("event") == "failed after its charge" and charge.state not in ("failed", "crashed"):
            yield f"the log calls {charge.charge.request_id} failed, and the ledger {charge.state}"
