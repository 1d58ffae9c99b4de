"""`gs`: grouping and smoothing where it suits the counts, and as much of it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from privacy.accounting.event import PrivacyEvent, PureDP
from privacy.entropy import Entropy
from privacy.errors import InvalidParameter
from privacy.exact import exact, exact_epsilon
from privacy.mechanisms.by_key.count_samples import Sampling, noisy_sample
from privacy.mechanisms.by_key.fpa import reconstructed
from privacy.mechanisms.by_key.group_size import size_as_published
from privacy.mechanisms.by_key.incidence import Incidence
from privacy.mechanisms.by_key.noisy_counts import NoisyCounts, equal_groups, noise_scale, smoothed
from privacy.mechanisms.by_key.smoothing_choice import Smoothing, choose
from privacy.sampling.draws import Draws

_LARGEST_EPSILON = 1024


@dataclass(frozen=True)
class GS:
    """Order the keys by a noisy sample, choose how to smooth, release that.

    The sample spends a quarter of `share` of epsilon, the choice three, the release the rest; the order is a function
    of what was released, and so is which release is made. So the three add up to epsilon.

    Departures from the paper, beside those of `GSS`: (1) half of epsilon for the grouping makes GS at least twice as
    bad as LPA wherever no grouping helps. A share s costs at least s / (1 - s) there, 3.2% for a thirty-second, and
    no private choice is without any: one that hardly depends on the counts is as often wrong on some of them.
    (2) The paper chooses a size by L0 times the sample, which is no estimate of the counts; `choose` compares what
    each size would cost, by the counts themselves, with noise. (3) Noise in every count and Fourier coefficients are
    among what it compares. (4) Counts are not negative, so what is below 0 is cut, which takes up to half of the
    noise of small counts away and never adds an error. `published` and a share of 1/2 is the paper's.

    What choosing costs on n keys, in units of LPA's error: s / (1 - s), and at most 2 / (1024 s n) for wrong choices
    where LPA is best. Smoothing that gains less than some 150 / (s n) is not seen, for the sum of all deviations
    moves by 2.5 Delta_1 and LPA's errors come to n Delta_1 / epsilon. So for a thousand keys GS is LPA, cut at 0,
    unless all counts are small; from tens of thousands on the loss is small. The least possible loss is not zero
    either: from nobody to counts for which LPA is as good as one group it takes n / epsilon units, so a choice that
    is right there takes LPA with probability exp(-s n) / 2 where there is nobody, and is n times worse then. Within
    5% of both therefore needs s n >= ln(10 n): some 250 keys at a thirty-second.
    Source: Kellaris and Papadopoulos (VLDB 2013), section 3.3, theorem 6; report noisy max with exponential noise.

    Attributes:
      epsilon: for all keys together, > 0.
      share: of epsilon, for order and choice, in (0, 1).
      tuning: how the size is chosen.
      sampling: `column`, one key of each unit; `row`, some units.
      cut: is what is below 0 released as 0? Whoever cuts later has intervals around what was released.
    """

    epsilon: float
    share: float = 1 / 32
    tuning: Literal["error", "published"] = "error"
    sampling: Sampling = "column"
    cut: bool = True

    def __post_init__(self) -> None:
        # With more the noise of one release may be too little to draw, and that of another not.
        if exact_epsilon(self.epsilon) > _LARGEST_EPSILON:
            raise InvalidParameter("an epsilon is at most 1024 here")
        if not 0 < exact(self.share) < 1:
            raise InvalidParameter("a share lies between 0 and 1")

    @classmethod
    def as_published(cls, epsilon: float, sampling: Sampling = "column") -> GS:
        """Half of epsilon for the grouping, and the size by the sample; with the sensitivities that hold."""
        return cls(epsilon, 0.5, "published", sampling)

    @property
    def name(self) -> str:
        """`gs`: means of groups of a chosen size."""
        return "gs"

    @property
    def event(self) -> PrivacyEvent:
        """Pure differential privacy, over all keys."""
        return PureDP(self.epsilon)

    def release(self, incidence: Incidence, draws: Draws, entropy: Entropy) -> NoisyCounts:
        """Release all counts.

        Raises: EntropyFailed. Cost: two draws of noise per key, a sort of the keys, and some thirty passes over them.
        """
        spent = exact_epsilon(self.epsilon) * exact(self.share)
        rest = exact_epsilon(self.epsilon) - spent
        if self.tuning == "published":
            order, sample = self._order(incidence, spent, draws, entropy)
            ordered, scale = sample[order].astype(np.float64), noise_scale(incidence.moved, rest)
            chosen = Smoothing(size_as_published(ordered, incidence.most, scale))
        else:
            order, _ = self._order(incidence, spent / 4, draws, entropy)
            chosen = self._choose(incidence, order, spent * 3 / 4, rest, entropy)
        if chosen.frequencies:
            group = np.arange(incidence.n_keys)
            values, spread = reconstructed(incidence, chosen.frequencies, rest, entropy)
        else:
            group = equal_groups(order, chosen.size)
            values, spread = smoothed(incidence, group, rest, entropy)
        if self.cut and self.tuning != "published":
            values = np.maximum(values, 0.0)
        return NoisyCounts(values, spread, group, chosen.size, self.name, self.epsilon, chosen.frequencies)

    def _order(
        self, incidence: Incidence, epsilon: Fraction, draws: Draws, entropy: Entropy
    ) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """The keys in the order of a noisy sample, and the sample."""
        sample = noisy_sample(incidence, self.sampling, epsilon, draws, entropy)
        return np.argsort(sample, kind="stable"), sample

    def _choose(
        self, incidence: Incidence, order: NDArray[np.intp], epsilon: Fraction, rest: Fraction, entropy: Entropy
    ) -> Smoothing:
        return choose(incidence, order, epsilon, rest, entropy)
