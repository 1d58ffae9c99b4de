"""One private histogram of what people contribute to a sum, and the bounds that follow from it.

A person with a contribution is in exactly one public bucket: up to the first end, from one end to the next, or above
the last. Who comes or goes changes one count by one at most, so the counts together have L1 sensitivity 1. Discrete
Laplace noise of scale 1 / epsilon on every count, empty ones too, is epsilon-DP (Dwork, McSherry, Nissim, Smith, TCC
2006). All below `released` is post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privacy.entropy import Entropy
from privacy.errors import InvalidParameter
from privacy.exact import float_at_least
from privacy.mechanisms.noise import IntegerNoise, laplace_quantile
from privacy.thresholds import Thresholds
from privacy.units import Ints

LEAST, MOST = -8, 24
"""Exponents of 2: the first and the last end, in normalised weight."""

FAMILY_WISE = 0.01
"""The most likely that any empty bucket of a tuning looks as if it had people."""

HELD = 0.95
"""The least part of the people with a contribution that a proposed threshold does not clip."""

CONTRIBUTION_THRESHOLDS = Thresholds(LEAST, MOST)
"""The ends of the buckets."""


def released(counts: Ints, epsilon: Fraction, entropy: Entropy) -> Ints:
    """Noisy numbers of people by bucket.

    Args:
      counts: (B,) whole numbers, each person in one bucket at most.
      epsilon: what this histogram spends, > 0.
    Returns: (B,) whole numbers, some below 0.
    Raises: InvalidParameter; EntropyFailed.
    """
    return IntegerNoise(1, epsilon).released(counts, entropy)


@dataclass(frozen=True)
class Bounds:
    """The bounds that follow from a histogram, in the measure's own unit.

    Attributes:
      clip: where to clip; about as many people exceed it as noise is worth.
      seen: the end up to which people are visible, clearly above the noise.
      held: the part of the people with a contribution that have no more than `clip`, by the noisy numbers.
      above: how many exceed it, by the noisy numbers.
    """

    clip: float
    seen: float
    held: float
    above: int


@dataclass(frozen=True)
class ReleasedHistogram:
    """A released histogram.

    Attributes:
      people: noisy numbers of people by bucket, and above the last end.
      unit: what the weight 1 is in the measure's own unit.
      first: the first end is `unit` times 2^first.
      epsilon: what it spent.
    """

    people: tuple[int, ...]
    unit: float
    first: int
    epsilon: float

    def __post_init__(self) -> None:
        if len(self.people) < 2 or not self.unit > 0 or not self.epsilon > 0:
            raise InvalidParameter("a contribution histogram needs bin edges, a unit and an epsilon above 0")

    @property
    def ends(self) -> tuple[float, ...]:
        """The upper end of each bucket but the last; fractions have three digits, rounded up."""
        return tuple(rounded_up(self.unit * 2.0 ** (self.first + place)) for place in range(len(self.people) - 1))

    def noise(self, buckets: int) -> int:
        """A bound on the noise of the empty buckets: with probability at most FAMILY_WISE one of them exceeds it.

        Args:
          buckets: how many a tuning has, in all its histograms.
        """
        return laplace_quantile(FAMILY_WISE / buckets, float_at_least(1 / Fraction(repr(self.epsilon))))

    def bounds(self, buckets: int, epsilon: float) -> Bounds | None:
        """Where to clip, and what that rests on; None if no bucket is clearly above its noise, or the last one is.

        Numbers beyond the last visible bucket are noise, and are not counted.

        Args:
          buckets: as of `noise`.
          epsilon: of a usual question: noise at a threshold is as much as 1 / epsilon people at it.
        """
        most = self.noise(buckets)
        seen = [place for place, count in enumerate(self.people) if count > most]
        if not seen or seen[-1] == len(self.people) - 1:
            return None
        last = seen[-1]
        people = np.maximum(np.array(self.people[: last + 1], np.int64), 0)
        up_to = np.cumsum(people)
        total = int(up_to[-1])
        fits = (total - up_to <= 1 / epsilon) & (up_to >= HELD * total)
        place = int(np.argmax(fits))
        ends = self.ends
        above = total - int(up_to[place])
        return Bounds(ends[place], ends[last], int(up_to[place]) / total, above)


def rounded_up(value: float) -> float:
    """Round up to three significant digits. Whole numbers stay; an excess of at most a millionth is dropped.

    >>> rounded_up(1048576.0), rounded_up(0.23441), rounded_up(120.00001)
    (1048576.0, 0.235, 120.0)
    """
    if value.is_integer():
        return value
    scale = Fraction(10) ** (2 - math.floor(math.log10(value)))
    return float(math.ceil(Fraction(value) * (1 - Fraction(1, 10**6)) * scale) / scale)
