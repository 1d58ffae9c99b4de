"""The sparse vector technique over thresholds: the first one at which few enough people are removed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from privacy.entropy import Entropy, check_scale, checked
from privacy.errors import InvalidParameter
from privacy.exact import exact_epsilon
from privacy.truncation.vector.certificate.shares import WHOLE
from privacy.truncation.vector.instance import DEFAULT_GAP

_ROUNDED_UP = 1 + 2.0**-50


@dataclass(frozen=True)
class SparseVector:
    """Return the first rung whose value v, noise added, is at most a noisy threshold.

    v is E, how many people a threshold removes, up to a gap: E <= v <= E + h. With one more person E rises by 0 to
    1 at every rung, so v moves by -h to 1 + h. Let v' be the values with the person.

    From v to v': shift the threshold's noise by -h. What was above stays above, as v' >= v - h; where it stopped,
    v' is at most 1 + h larger and the threshold h lower, so the rung's noise shifts by 1 + 2h. From v' to v: shift
    the threshold by -(1 + h) and the rung by -h - (1 + h). So Laplace noise of scale (1 + h) / eps_1 on the
    threshold and (1 + 2h) / eps_2 on each rung makes the choice (eps_1 + eps_2)-DP: the monotone case (Lyu, Su &
    Li, VLDB 2017), of which the gap takes something. Without the gap in the scales it is not private: privacy.md
    section 5.

    Attributes:
      epsilon: what the choice spends, > 0.
      threshold: how many people may be removed, before noise.
      threshold_scale, rung_scale: of discrete Laplace noise, in steps of 2^-31 persons.
    """

    epsilon: float
    threshold: float
    threshold_scale: float
    rung_scale: float

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        if not 0 <= self.threshold < WHOLE:
            raise InvalidParameter("a threshold is a number of people")
        check_scale(self.threshold_scale)
        check_scale(self.rung_scale)

    @classmethod
    def monotone(cls, epsilon: float, threshold: float, gap: int = DEFAULT_GAP) -> Self:
        """Half of epsilon for the threshold, half for the rungs, for values with a gap of so many steps."""
        half = float(exact_epsilon(epsilon)) / 2
        return cls(epsilon, threshold, (WHOLE + gap) / half * _ROUNDED_UP, (WHOLE + 2 * gap) / half * _ROUNDED_UP)

    @cached_property
    def _threshold_steps(self) -> int:
        return math.floor(self.threshold * WHOLE)

    def stops(self, rungs: int, entropy: Entropy) -> NDArray[np.int64]:
        """(rungs,) the largest value at which each rung is taken, in steps: noisy threshold less the rung's noise.

        Raises: EntropyFailed when the source returns something else than was asked for.
        """
        level = checked(entropy.laplace(self.threshold_scale, 1), 1) + self._threshold_steps
        stops: NDArray[np.int64] = level - checked(entropy.laplace(self.rung_scale, rungs), rungs)
        return stops

    def most_removed(self, rungs: int, tail: float) -> float:
        """What v does not exceed at the rung that is taken, but for a chance of `tail`. In persons; public."""
        level = _quantile(self.threshold_scale, tail / 2)
        rung = _quantile(self.rung_scale, tail / (2 * rungs))
        return (self._threshold_steps + level + rung) / WHOLE


def _quantile(scale: float, tail: float) -> int:
    """A k with P(Z > k) <= tail for a discrete Laplace Z, where P(Z > k) < a^(k + 1), a = exp(-1 / scale)."""
    return math.ceil(-math.log(tail) * scale * (1 + 2.0**-40))
