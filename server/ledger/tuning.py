"""What `noisegate tune` has found: spent once, told to everybody, and so a part of every account's guarantee."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from server.ledger.analyst import Act

TuningState = Literal["reserved", "committed", "released"]
"""All but `released` count as spent; a crash leaves it reserved."""

Histogram = Mapping[str, object]
"""A released one, of strings and whole numbers: `unit`, the decimal of a number, `first`, an exponent of 2, and
`people` by bucket (`privacy.mechanisms.contributions`)."""


@dataclass(frozen=True)
class TuningRecord:
    """A tuning as the ledger shows it.

    Attributes:
      number: from 1 without gaps.
      epsilon: what it spent, for all measures together.
      version: of the data that it counted.
      measures: what it counted: a table, and `rows` or a column.
      paid: did the dataset's account pay? It did where there was one.
      state: what became of it.
      histograms: by measure; empty unless committed.
      reserved_at_ms: when, in milliseconds since the epoch.
    """

    number: int
    epsilon: float
    version: int
    measures: tuple[tuple[str, str], ...]
    paid: bool
    state: TuningState
    histograms: tuple[Histogram, ...]
    reserved_at_ms: int


class Tunings(Protocol):
    """The part of a ledger that knows tunings."""

    def reserve_tuning(self, epsilon: float, policy_hash: str, measures: Sequence[tuple[str, str]], act: Act) -> int:
        """Take an epsilon for a tuning, durably, before a row is read; returns its number.

        The dataset's account pays where there is one. It is added to what every other account's guarantee says.

        Args:
          epsilon: for all measures together; rounded up to whole nano-epsilon.
          policy_hash: of the policy that says whose rows are counted.
          measures: what will be counted.
          act: who does it, and why.
        Raises: BudgetExhausted for more than the dataset's account has left; InvalidSetting.
        """
        ...

    def settle_tuning(self, number: int, histograms: Sequence[Histogram] | None, act: Act) -> None:
        """Keep what a tuning released, by measure; None gives its epsilon back, as no private row was read.

        Args:
          number: of the tuning.
          histograms: what was released.
          act: who does it, and why.
        Raises: LedgerInvalid for one that is not reserved.
        """
        ...

    def tunings(self) -> tuple[TuningRecord, ...]:
        """All of them, in order. One indexed read."""
        ...
