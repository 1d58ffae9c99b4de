"""A tuning, from the policy to its released histograms: reserved before a row is read, kept when it is released.

    measures --reserve--> number --read--> LoadHistogram --noise--> ContributionHistogram --settle--> TuningRecord

Nothing but numbers of people by bucket leaves the database, and nothing but noisy ones leaves this file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from planner.errors import InvalidSetting, SchemaChanged
from planner.policy.policy import Policy
from planner.schema import Schema
from privacy.entropy import Entropy
from privacy.mechanisms.contributions import LEAST, ContributionHistogram, released
from privacy.truncation.loads.load_histogram import LoadHistogram
from server.backends.backend import Backend
from server.errors import BackendUnavailable, QueryFailed
from server.ledger.accounts.amounts import charged_epsilon
from server.ledger.analyst import Act
from server.ledger.tuning import Histogram, TuningRecord, Tunings
from server.tuning.measures import ROWS, Measure, TableMeasures

NANO = 10**9
"""Nano-epsilon in an epsilon."""


@dataclass(frozen=True)
class Tuned:
    """A measure of a tuning and what was released of it.

    Attributes:
      table: its canonical name.
      measure: ROWS, or a column.
      histogram: what was released.
    """

    table: str
    measure: str
    histogram: ContributionHistogram

    @property
    def label(self) -> str:
        """How people call it."""
        return f"{self.table}.{self.measure}"


def tune(
    chosen: Sequence[TableMeasures],
    policy: Policy,
    schema: Schema,
    backend: Backend,
    ledger: Tunings,
    epsilon: float,
    act: Act,
    entropy: Entropy,
) -> TuningRecord:
    """Count people by how much they have, and keep the noisy numbers in the ledger.

    Args:
      chosen: what to count.
      policy, schema, backend: as `chosen` was made for.
      ledger: pays: the dataset's account where there is one, and everybody's guarantee.
      epsilon: for all measures together, which share it equally.
      act: who does it, and why.
      entropy: where noise comes from.
    Returns: the tuning, as the ledger keeps it.
    Raises: InvalidSetting for too little epsilon; BudgetExhausted; BackendUnavailable and SchemaChanged before a row
      was read, which costs nothing; QueryFailed afterwards, which costs all of it, as a crash does.
    """
    every = [measure for table in chosen for measure in table.measures]
    share = Fraction(charged_epsilon(epsilon), NANO) / len(every)
    least = policy.side_channels.min_epsilon
    if share < Fraction(repr(least)):
        raise InvalidSetting(
            f"epsilon {epsilon:g} leaves each of {len(every)} histograms less than epsilon {least:g}",
            hint=f"spend epsilon {least * len(every):g} or more, or count less: --table, --measure",
        )
    names = [(measure.table, measure.name) for measure in every]
    number = ledger.reserve_tuning(epsilon, policy.hash, names, act)
    found: list[Histogram] = []
    for table in chosen:
        try:
            _, tuples = backend.read(table.query)
            assert isinstance(tuples.join, LoadHistogram), "people are counted in the database"
            people = tuples.distinct[-1] if table.counts_people else None
            assert people is None or isinstance(people, LoadHistogram), "and so are all of them"
            for row, measure in enumerate(table.measures):
                counts = _counts(tuples.join, row, measure, people)
                found.append(_saved(measure, released(counts, share, entropy), people is not None))
        except (BackendUnavailable, SchemaChanged):
            if found:
                raise _failed(number) from None
            ledger.settle_tuning(number, None, act)
            raise
        except Exception as error:
            raise _failed(number) from error
    ledger.settle_tuning(number, found, act)
    return ledger.tunings()[number - 1]


def histograms(record: TuningRecord) -> tuple[Tuned, ...]:
    """What a tuning released; nothing of one that was not finished."""
    share = float(Fraction(charged_epsilon(record.epsilon), NANO) / len(record.measures))
    return tuple(
        Tuned(*names, _loaded(saved, share)) for names, saved in zip(record.measures, record.histograms, strict=False)
    )


def _counts(loads: LoadHistogram, row: int, measure: Measure, people: LoadHistogram | None) -> NDArray[np.int64]:
    """Numbers of people: of those with nothing first, where all people are counted; then by bucket. Private.

    Of both parts a person who comes or goes changes one number by one: as one of all people and of those who have
    something, or as one of all people alone. Both are of one snapshot.
    """
    here = loads.sums == row
    by_bucket = np.bincount(loads.interval[here], loads.units[here], len(loads.thresholds) + 1).astype(np.int64)
    buckets = by_bucket[_first(measure) - LEAST :]
    if people is None:
        return buckets
    return np.concatenate([[int(people.units.sum()) - int(by_bucket.sum())], buckets])


def _first(measure: Measure) -> int:
    """The exponent of a measure's first end: nobody has a part of a row."""
    return 0 if measure.name == ROWS else LEAST


def _saved(measure: Measure, noisy: NDArray[np.int64], counts_people: bool) -> Histogram:
    numbers = [int(number) for number in noisy]
    nothing = {"nothing": numbers.pop(0)} if counts_people else {}
    return {"unit": repr(measure.unit), "first": _first(measure), "people": numbers, **nothing}


def _loaded(saved: Histogram, share: float) -> ContributionHistogram:
    people, nothing = saved["people"], saved.get("nothing")
    assert isinstance(people, list) and (nothing is None or isinstance(nothing, int)), "as it was saved"
    return ContributionHistogram(nothing, tuple(people), float(str(saved["unit"])), int(str(saved["first"])), share)


def _failed(number: int) -> QueryFailed:
    return QueryFailed(
        f"Tuning {number} failed after private rows could have been read, so what it spent stays spent.",
        hint="look at the database's log and at [database] seconds, then tune again, at a new epsilon",
    )
