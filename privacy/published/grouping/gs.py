"""`gs`: grouping and smoothing with groups of a size that suits the counts."""

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
from privacy.published.grouping.count_samples import Sampling, noisy_sample
from privacy.published.grouping.group_size import size_as_published, size_by_bounds
from privacy.published.grouping.incidence import Incidence
from privacy.published.grouping.noisy_counts import NoisyCounts, equal_groups, noise_scale, noisy, smoothed
from privacy.sampling.draws import Draws

MOST_MEASURED = 1 << 17
"""Beyond so many keys only their total is measured for the choice of a size: noise for each takes seconds."""


@dataclass(frozen=True)
class GS:
    """Order the keys by a noisy sample, choose a group size, release means of groups of that size.

    The sample and what the choice asks spend `share` of epsilon, the release the rest; order and size are functions
    of what was released, so the three add up to epsilon.

    Departures from the paper, beside those of `GSS`: (1) half of epsilon for the grouping makes GS at least twice as
    bad as LPA wherever no grouping helps; a thirty-second costs 3.2%. (2) The paper chooses by L0 times the sample,
    which is no estimate of the counts; `bounds` measures them anew with half of the share, apart from the noise that
    orders them, and trusts what it can bound (`size_by_bounds`). `published` and a share of 1/2 is the paper's.
    Source: Kellaris and Papadopoulos (VLDB 2013), section 3.3, theorem 6.

    Attributes:
      epsilon: for all keys together, > 0.
      share: of epsilon, for the grouping, in (0, 1).
      tuning: how the size is chosen.
      sampling: `column`, one key of each unit; `row`, some units.
    """

    epsilon: float
    share: float = 1 / 32
    tuning: Literal["bounds", "published"] = "bounds"
    sampling: Sampling = "column"

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
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

        Raises: EntropyFailed. Cost: up to three draws of noise per key and a sort of the keys.
        """
        spent = exact_epsilon(self.epsilon) * exact(self.share)
        rest = exact_epsilon(self.epsilon) - spent
        ordering = spent if self.tuning == "published" else spent / 2
        sample = noisy_sample(incidence, self.sampling, ordering, draws, entropy)
        order = np.argsort(sample, kind="stable")
        scale = noise_scale(incidence.moved, rest)
        if self.tuning == "published":
            size = size_as_published(sample[order].astype(np.float64), incidence.most, scale)
        else:
            size = self._size(incidence, order, spent / 2, scale, entropy)
        group = equal_groups(order, size)
        values = smoothed(incidence, group, rest, entropy)
        return NoisyCounts(*values, group, size, self.name, self.epsilon)

    def _size(
        self, incidence: Incidence, order: NDArray[np.int64], epsilon: Fraction, scale: float, entropy: Entropy
    ) -> int:
        """The size, by counts with noise of their own: epsilon-DP, their total moving by L0 at most."""
        keys, counts = incidence.n_keys, incidence.counts
        if keys > MOST_MEASURED:
            (total,) = noisy(counts.sum(keepdims=True), incidence.most, epsilon, entropy)
            return size_by_bounds(None, float(total), keys, 0.0, scale)
        measured = noisy(counts, incidence.moved, epsilon / 2, entropy)
        (total,) = noisy(counts.sum(keepdims=True), incidence.most, epsilon / 2, entropy)
        variance = 2 * noise_scale(incidence.moved, epsilon / 2) ** 2
        return size_by_bounds(measured[order].astype(np.float64), float(total), keys, variance, scale)
