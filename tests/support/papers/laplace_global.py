"""`laplace_global`: the Laplace mechanism, with a public bound on what one privacy unit adds to the answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from privacy.entropy import Entropy
from privacy.errors import InvalidParameter
from privacy.exact import check_confidence, check_gap, check_groups, exact, exact_epsilon, group_epsilon
from privacy.mechanisms.measurement import Pure
from privacy.mechanisms.release import check_answer
from privacy.mechanisms.selection import settled_values
from privacy.noisy_answer import NoisyAnswer
from privacy.thresholds import Thresholds
from privacy.truncation.truncated_answer import TruncatedAnswer
from privacy.units import ONE
from tests.support.papers.summed_noise import SummedNoise


@dataclass(frozen=True)
class LaplaceGlobal(Pure):
    """f + Lap(GS / eps), GS the global sensitivity: what one unit's tuples weigh at most.

    epsilon-DP by the promise that GS holds: f is the truncated answer at the first power of two that is no
    smaller than GS, which cuts nobody then, and moves by at most GS (plus gap times tau) when one unit comes or goes
    (docs/mathematics.md, section 3.1; the noise in `SummedNoise`). Each group spends epsilon / L0.

    A departure from the textbook, for the worse case: were f not truncated, nothing would bound the loss where the
    promise is false. So it is tau / GS times epsilon, less than twice.
    Source: lemma 3.4 of Fang and Yi (SIGMOD 2024); lemma 2.3 of DP-S4S (SIGMOD 2026).

    Attributes:
      epsilon, groups_per_unit, gap, confidence: as of `Gem`.
      global_sensitivity: GS, a public bound in normalised weight, in [2^-20, 2^32].
    """

    epsilon: float
    global_sensitivity: float
    groups_per_unit: int | None = None
    gap: float = 0.0
    confidence: float = 0.95
    name = "laplace_global"

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        if not 2.0**-20 <= self.global_sensitivity <= 2.0**32:
            raise InvalidParameter("the global sensitivity lies in [2^-20, 2^32] normalised weights")
        check_groups(self.groups_per_unit)
        check_gap(self.gap)
        check_confidence(self.confidence)

    @cached_property
    def thresholds(self) -> Thresholds:
        """The one threshold, which cuts nobody when the bound holds."""
        mantissa, exponent = math.frexp(self.global_sensitivity)
        exponent -= mantissa == 0.5
        return Thresholds(exponent, exponent)

    def release(self, answer: TruncatedAnswer, entropy: Entropy) -> NoisyAnswer:
        """Release one noisy value per group.

        Returns: the noisy values; tau is the global sensitivity, and each interval covers the truncated answer.
        Cost: G draws, and the solves that the bounds leave open.
        """
        check_answer(answer, self.thresholds, self.gap)
        noise = self._noise(answer.n_groups)
        values = noise.weight(noise.released(settled_values(answer, 0), entropy))
        below, above = self._interval(noise)
        return NoisyAnswer(
            values=values,
            tau=np.full(answer.n_groups, self.global_sensitivity),
            noise_scale=np.full(answer.n_groups, noise.noise_scale),
            low=values - below,
            high=values + above,
            confidence=self.confidence,
            covers="truncated_full",
            mechanism=self.name,
            epsilon=self.epsilon,
            signal=np.full(answer.n_groups, np.inf),  # nothing was chosen
        )

    def epsilon_if_bound_fails(self, n_groups: int = 1) -> float:
        """What one release tells about a unit with more than the bound: (1 + gap) tau over what the noise hides."""
        tau = int(self.thresholds.units[0])
        noise = self._noise(n_groups)
        steps = math.ceil((1 + exact(self.gap)) * tau / noise.step)
        reached = exact_epsilon(self.epsilon) / group_epsilon(self.epsilon, self.groups_per_unit, n_groups)
        return float(reached * steps) / noise.scale

    def expected_noise(self, n_groups: int = 1) -> list[tuple[float, float]]:
        """(global sensitivity, half-width of the interval), in normalised weight."""
        return [(self.global_sensitivity, sum(self._interval(self._noise(n_groups))) / 2)]

    def _noise(self, n_groups: int) -> SummedNoise:
        """Noise for GS + gap tau, rounded up to units."""
        most = exact(self.global_sensitivity) * ONE + exact(self.gap) * int(self.thresholds.units[0])
        return SummedNoise(math.ceil(most), group_epsilon(self.epsilon, self.groups_per_unit, n_groups))

    def _interval(self, noise: SummedNoise) -> tuple[float, float]:
        """How far the truncated answer lies below and above the released value, at most: as for a ThresholdNoise."""
        steps = noise.upper_quantile((1 - self.confidence) / 2)
        tau = float(self.thresholds.taus[0])
        return steps * noise.step_weight, (steps + 1) * noise.step_weight + self.gap * tau
