"""Tunings, read from their entries."""

from __future__ import annotations

import json
from collections.abc import Iterable

from server.ledger.account import DATASET
from server.ledger.accounts.amounts import charged_epsilon, epsilon_of
from server.ledger.entry_contents import Tuned, Tuning
from server.ledger.store import Reading
from server.ledger.tables.schema import CHARGE_KINDS
from server.ledger.tuning import TuningRecord

_ENTRIES = f"SELECT content, at_ms FROM entries WHERE kind = ? AND kind NOT IN {CHARGE_KINDS} ORDER BY number"


def tunings(reading: Reading) -> tuple[TuningRecord, ...]:
    """All of them, in order."""
    settled = [Tuned(**Tuned.arguments(json.loads(text))) for text, _ in reading.rows(_ENTRIES, Tuned.kind.value)]
    by_number = {one.tuning: one for one in settled}
    return tuple(
        _record(Tuning(**Tuning.arguments(json.loads(text))), int(at_ms), by_number)
        for text, at_ms in reading.rows(_ENTRIES, Tuning.kind.value)
    )


def tuning(reading: Reading, number: int) -> Tuning | None:
    """What reserved a tuning; None where there is none of that number, or it is settled."""
    settled = {json.loads(text)["tuning"] for text, _ in reading.rows(_ENTRIES, Tuned.kind.value)}
    contents = [Tuning(**Tuning.arguments(json.loads(text))) for text, _ in reading.rows(_ENTRIES, Tuning.kind.value)]
    return next((one for one in contents if one.tuning == number and number not in settled), None)


def tuned_epsilon(found: Iterable[TuningRecord], account: str) -> float:
    """What tunings add to the guarantee of an account: of the dataset's own those alone that it has not paid for."""
    counted = [one for one in found if one.state != "released" and not (one.paid and account == DATASET)]
    return epsilon_of(sum(charged_epsilon(one.epsilon) for one in counted))


def _record(said: Tuning, at_ms: int, settled: dict[int, Tuned]) -> TuningRecord:
    end = settled.get(said.tuning)
    return TuningRecord(
        said.tuning,
        epsilon_of(said.nano_epsilon),
        said.version,
        tuple((table, measure) for table, measure in said.measures),
        DATASET in said.accounts,
        "reserved" if end is None else "released" if end.histograms is None else "committed",
        () if end is None or end.histograms is None else tuple(end.histograms),
        at_ms,
    )
