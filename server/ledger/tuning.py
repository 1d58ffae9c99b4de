"""The results of `noisegate tune` in the ledger: reserved as a charge on the dataset, readable by everybody.

A tuning is spent once, so it is a part of every account's guarantee.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from privacy.accounting.amounts import Charge as Amount
from privacy.accounting.amounts import save
from server.errors import LedgerInvalid
from server.ledger.account import DATASET
from server.ledger.analyst import Act
from server.ledger.charge import Charge
from server.ledger.currency import charged_epsilon, epsilon_of
from server.ledger.entry import Tuned, Tuning
from server.ledger.store import CHARGE_KINDS, Reading
from server.ledger.writes import account_rows
from server.ledger.writes.administer import data_version, signed
from server.ledger.writes.clock import check_renewed
from server.ledger.writes.journal import Journal
from server.ledger.writes.reserve import Short, charged, give_back, priced

TuningState = Literal["reserved", "committed", "released"]
"""All states but `released` count as spent; a crash leaves a tuning reserved."""

Histogram = Mapping[str, object]
"""A released histogram, of strings and whole numbers: `unit`, the decimal of a number; `first`, an exponent of 2;
`people` by bucket (`privacy.mechanisms.contributions`).
"""


@dataclass(frozen=True)
class TuningRecord:
    """A tuning as the ledger shows it.

    Attributes:
      number: from 1 without gaps.
      epsilon: spent for all measures together.
      version: the data version that was measured.
      measures: what was measured: a table, and `rows` or a column.
      paid: did the dataset's account pay? It did if there was one.
      histograms: by measure; empty unless committed.
      reserved_at_ms: milliseconds since the epoch.
    """

    number: int
    epsilon: float
    version: int
    measures: tuple[tuple[str, str], ...]
    paid: bool
    state: TuningState
    histograms: tuple[Histogram, ...]
    reserved_at_ms: int


_ENTRIES = f"SELECT content, at_ms FROM entries WHERE kind = ? AND kind NOT IN {CHARGE_KINDS} ORDER BY number"


def tunings(reading: Reading) -> tuple[TuningRecord, ...]:
    """All tunings, in order. One indexed read."""
    settled = [Tuned.read(text) for text, _ in reading.rows(_ENTRIES, Tuned.kind.value)]
    by_number = {one.tuning: one for one in settled}
    return tuple(
        _record(Tuning.read(text), int(at_ms), by_number) for text, at_ms in reading.rows(_ENTRIES, Tuning.kind.value)
    )


def tuning(reading: Reading, number: int) -> Tuning | None:
    """The reservation of a tuning; None for an unknown or settled one."""
    settled = {json.loads(text)["tuning"] for text, _ in reading.rows(_ENTRIES, Tuned.kind.value)}
    contents = [Tuning.read(text) for text, _ in reading.rows(_ENTRIES, Tuning.kind.value)]
    return next((one for one in contents if one.tuning == number and number not in settled), None)


def tuned_epsilon(found: Iterable[TuningRecord], account: str) -> float:
    """The epsilon that tunings add to an account's guarantee. For the dataset: of tunings that it has not paid
    for.
    """
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


def reserve_tuning(journal: Journal, charge: Charge, measures: Sequence[tuple[str, str]], act: Act) -> int:
    """Write the reservation of a tuning, which belongs to no analyst; returns its number. Raises: Short."""
    if (done := journal.done_before()) is not None:
        assert isinstance(done, Tuning), "what reserving has written"
        return done.tuning
    paying = tuple(one.at(journal.at_ms) for one in account_rows.balances(journal.writing, (DATASET,)))
    check_renewed(journal, paying)
    amounts, short = priced(charge, paying)
    if short:
        raise Short(charge, short, paying)
    number = len(tunings(journal.writing)) + 1
    journal.append(
        Tuning(
            tuning=number,
            nano_epsilon=charged_epsilon(charge.epsilon),
            version=data_version(journal.writing),
            policy_hash=charge.policy_hash,
            measures=[list(one) for one in measures],
            accounts={one.name: [one.terms.accounting, one.started_ms] for one in paying},
            amounts={accounting: save(amount) for accounting, amount in amounts.items()},
            **signed(act),
        )
    )
    for one in charged(charge, paying, amounts):
        account_rows.update_spent(journal.writing, one)
    return number


def settle_tuning(journal: Journal, number: int, histograms: Sequence[Histogram] | None, act: Act) -> None:
    """Write the result of a tuning. Raises: LedgerInvalid if it is not reserved."""
    reserved = tuning(journal.writing, number)
    if reserved is None:
        raise LedgerInvalid(f"There is no tuning {number} that is reserved.")
    recorded = None if histograms is None else [dict(one) for one in histograms]
    journal.append(Tuned(tuning=number, histograms=recorded, **signed(act)))
    if recorded is None:
        give_back(journal, reserved, Amount(reserved.nano_epsilon))
