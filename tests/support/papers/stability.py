"""Probabilistic stability: what an epsilon costs on the whole where it was spent on a sample or on parts.

At the level of records and no price of a query of people: neighbours differ by one record (removed or added), and a
person with several has more than one. A server prices samples by `privacy/sampling/`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from privacy.errors import InvalidParameter
from privacy.exact import UPWARD, exact_epsilon
from privacy.sampling.draws import MAX_COUNT
from privacy.units import Ints
from tests.support.papers.choosing_draws import ChoosingDraws


class Transformation(Protocol):
    """sigma-stable: whatever is epsilon-DP behind it is sigma(epsilon)-DP (definition 5)."""

    def sigma(self, epsilon: float) -> float:
        """What epsilon costs, rounded up."""


class Sampling(Transformation, Protocol):
    """One that keeps some records."""

    def kept(self, records: int, draws: ChoosingDraws) -> Ints:
        """Which of so many records stay. Private, as their number is."""

    def sigma_of_parts(self, epsilon: float) -> float:
        """What it costs to spend epsilon on the sample, and epsilon on what was not sampled."""


def recursive(epsilon: float, moves: Sequence[tuple[float, int]]) -> float:
    """Theorem 4.3: ln sum_i P(i) e^(i epsilon), where one record more changes a sample in i records.

    Args:
      moves: (probability, i), of a rule that turns a sample of the fewer records into one of the more.
    """
    exact_epsilon(epsilon)
    most = epsilon * max(i for _, i in moves)
    if most > _LARGEST_EXPONENT:
        return most * UPWARD
    # E[exp(-i epsilon)] is at least 1 / E[exp(i epsilon)], so the other direction costs no more.
    grown = sum(probability * math.expm1(i * epsilon) for probability, i in moves)
    return math.log1p(grown) * UPWARD


_LARGEST_EXPONENT = 700.0
"""exp() of it still is a float; above it the worst case is charged."""


@dataclass(frozen=True)
class Stable:
    """A c-stable transformation without draws: c epsilon (proposition 4.1). A partition by a fixed rule has c = 1."""

    c: int = 1

    def __post_init__(self) -> None:
        if self.c < 0:
            raise InvalidParameter("a stability is not negative")

    def sigma(self, epsilon: float) -> float:
        """Group privacy: c records may change where one did, so that epsilon costs c epsilon."""
        return self.c * epsilon * UPWARD


@dataclass(frozen=True)
class Bernoulli:
    """Each record by itself with probability b: ln(1 + b (e^epsilon - 1)).

    Attributes:
      rate: b, in (0, 1].
    """

    rate: float

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1:
            raise InvalidParameter("a sampling rate lies in (0, 1]")

    def sigma(self, epsilon: float) -> float:
        """Section 4.5: the record is drawn or not."""
        return recursive(epsilon, [(self.rate, 1)])

    def sigma_of_parts(self, epsilon: float) -> float:
        """Theorem 4.8: epsilon, as a record is in one part or the other."""
        return epsilon

    def kept(self, records: int, draws: ChoosingDraws) -> Ints:
        """Each with probability `rate`."""
        return np.flatnonzero(draws.binomial(np.ones(records, np.int64), self.rate))


@dataclass(frozen=True)
class WithoutReplacement:
    """n records, or all where there are fewer: ln((n e^(2 epsilon) + 1) / (n + 1)) (theorem 4.5).

    Attributes:
      size: n >= 1, public.
    """

    size: int

    def __post_init__(self) -> None:
        if not 1 <= self.size <= MAX_COUNT:
            raise InvalidParameter("a sample has between 1 and 2^32 records")

    def sigma(self, epsilon: float) -> float:
        """A new record takes the place of another with probability n / (m + 1); the worst is m = n.

        While there are no more than n records it costs epsilon, which is no more than this.
        """
        return recursive(epsilon, [(self.size / (self.size + 1), 2)])

    def sigma_of_parts(self, epsilon: float) -> float:
        """ln((n e^(3 epsilon) + e^epsilon) / (n + 1)).

        A record that is not sampled is in the other part, which costs epsilon; the proof of theorem 4.6 has 1
        there in place of e^epsilon. Its statement, 3 epsilon, is true.
        """
        taken = self.size / (self.size + 1)
        return recursive(epsilon, [(taken, 3), (1 - taken, 1)])

    def kept(self, records: int, draws: ChoosingDraws) -> Ints:
        """Every set of `size` equally likely."""
        return draws.choose(records, min(records, self.size))


@dataclass(frozen=True)
class FractionOf:
    """floor(p m) of m records: max(epsilon, ln(1 - p + p e^(2 epsilon))).

    Theorem 4.7 has ln max(e^(2 epsilon) p + 1 - p, e^(3 epsilon) p + e^epsilon (1 - p)), from a recursion that takes
    the new record with probability (k + 1) / (m + 1) where the sample grows to k: so it does not sample uniformly.
    This one does: where the sample grows, it gains the new record with probability k / (m + 1), else one of those
    that were not sampled; both change one record. Where it does not grow, the new record takes the place of another
    with probability k / (m + 1) <= p. So it costs less than the theorem says.

    Attributes:
      share: p, in (0, 1].
    """

    share: float

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise InvalidParameter("a share lies in (0, 1]")

    def sigma(self, epsilon: float) -> float:
        """The worse of a sample that grows and of one that does not; at p = 1 it always grows."""
        grown = epsilon * UPWARD
        return grown if self.share == 1 else max(grown, recursive(epsilon, [(self.share, 2)]))

    def sigma_of_parts(self, epsilon: float) -> float:
        """ln(e^epsilon + q (e^(3 epsilon) - e^epsilon)), q = max(p, 1 / (1 + p)).

        Where the sample grows to k and the new record is not in it, another one leaves the rest and the new one comes
        there: three changes. k > p m, so the new one is in it with probability k / (m + 1) > p / (1 + p). Where it
        does not grow, three change with probability at most p. At p = 1 there is no rest: epsilon.
        """
        if self.share == 1:
            return epsilon
        three = max(self.share, 1 / (1 + self.share))
        return recursive(epsilon, [(three, 3), (1 - three, 1)])

    def kept(self, records: int, draws: ChoosingDraws) -> Ints:
        """Every set of floor(p m) equally likely."""
        return draws.choose(records, min(records, math.floor(self.share * records)))


def charged(transformations: Sequence[Transformation], epsilon: float) -> float:
    """What epsilon costs behind several transformations, the first being that of the data (proposition 4.2)."""
    for transformation in reversed(transformations):
        epsilon = transformation.sigma(epsilon)
    return epsilon
