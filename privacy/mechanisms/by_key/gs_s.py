"""`gs_s`: grouping and smoothing with groups of keys whose counts in a noisy sample are alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacy.accounting.event import PrivacyEvent, PureDP
from privacy.entropy import Entropy
from privacy.exact import exact_epsilon
from privacy.mechanisms.by_key.count_samples import Sampling, noisy_sample
from privacy.mechanisms.by_key.incidence import Incidence
from privacy.mechanisms.by_key.noisy_counts import NoisyCounts, equal_groups, smoothed
from privacy.sampling.draws import Draws


@dataclass(frozen=True)
class GSS:
    """Half of epsilon orders the keys by the noisy counts of a sample; half releases means of groups of Delta_1.

    Departure from the paper: Delta_1 is `Incidence.moved`, which is public and enforced.
    Source: Kellaris and Papadopoulos (VLDB 2013), section 3.2, theorems 4 and 5.

    Attributes:
      epsilon: for all keys together, > 0.
      sampling: `column`, one key of each unit; `row`, some units.
    """

    epsilon: float
    sampling: Sampling = "column"

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)

    @property
    def name(self) -> str:
        """`gs_s`: means of groups of keys that are alike in a noisy sample."""
        return "gs_s"

    @property
    def event(self) -> PrivacyEvent:
        """Pure differential privacy, over all keys."""
        return PureDP(self.epsilon)

    def release(self, incidence: Incidence, draws: Draws, entropy: Entropy) -> NoisyCounts:
        """Release all counts.

        Raises: EntropyFailed. Cost: a draw of noise per key and a sort of the keys.
        """
        half = exact_epsilon(self.epsilon) / 2
        sample = noisy_sample(incidence, self.sampling, half, draws, entropy)
        group = equal_groups(np.argsort(sample, kind="stable"), incidence.moved)
        noisy = smoothed(incidence, group, half, entropy)
        return NoisyCounts(*noisy, group, incidence.moved, self.name, self.epsilon)
