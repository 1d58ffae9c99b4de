"""Export the ledger as CSV or JSON lines, page by page."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import Literal

from server.ledger.charge import ChargeRecord
from server.ledger.entry import Entry
from server.ledger.ledger import Ledger
from server.ledger.tuning import TuningRecord

_PAGE = 1000

_COLUMNS: Mapping[str, Callable[[ChargeRecord], object]] = {
    "number": attrgetter("number"),
    "analyst": attrgetter("charge.analyst"),
    "epsilon": attrgetter("charge.epsilon"),
    "delta": attrgetter("charge.delta"),
    "state": attrgetter("state"),
    "accounts": lambda record: " ".join(record.accounts),
    "repeats": attrgetter("charge.repeats"),
    "mechanism": attrgetter("charge.mechanism"),
    "request_id": attrgetter("charge.request_id"),
    "policy_hash": attrgetter("charge.policy_hash"),
    "plan_hash": attrgetter("charge.plan_hash"),
    "reserved_at_ms": attrgetter("shown_reserved_at_ms"),
    "settled_at_ms": attrgetter("shown_settled_at_ms"),
}


def charges_csv(ledger: Ledger) -> Iterator[str]:
    """CSV: a header, one line per charge, then one line per tuning, which has no analyst and no number."""
    yield _lines([tuple(_COLUMNS)])
    after = 0
    while page := ledger.charges(after=after, limit=_PAGE):
        yield _lines([tuple(told(record) for told in _COLUMNS.values()) for record in page])
        after = page[-1].number
    if found := ledger.tunings():
        yield _lines(list(map(_tuning_row, found)))


def entries_jsonl(ledger: Ledger) -> Iterator[str]:
    """One JSON object per line and entry, with its hash in hex."""
    after = 0
    while page := ledger.entries(after=after, limit=_PAGE):
        yield "".join(json.dumps(_object(entry), ensure_ascii=False) + "\n" for entry in page)
        after = page[-1].number


EXPORTS: Mapping[Literal["csv", "json"], Callable[[Ledger], Iterator[str]]] = {
    "csv": charges_csv,
    "json": entries_jsonl,
}
"""The exports by format."""


def _lines(rows: list[tuple[object, ...]]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue()


def _tuning_row(record: TuningRecord) -> tuple[object, ...]:
    """A tuning in the same columns."""
    paid = "dataset" if record.paid else ""
    row = (None, None, record.epsilon, 0.0, record.state, paid, None, "tune", None, None, None, record.reserved_at_ms)
    return (*row, None)


def _object(entry: Entry) -> dict[str, object]:
    return {
        "number": entry.number,
        "at_ms": entry.shown_at_ms,
        "kind": entry.kind,
        "content": entry.content,
        "hash": entry.hash.hex(),
    }
