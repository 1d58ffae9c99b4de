"""`gs_r`: grouping and smoothing with random groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacy.accounting.event import PrivacyEvent, PureDP
from privacy.entropy import Entropy
from privacy.exact import exact_epsilon
from privacy.mechanisms.by_key.incidence import Incidence
from privacy.mechanisms.by_key.noisy_counts import NoisyCounts, equal_groups, smoothed
from privacy.sampling.draws import MAX_COUNT, Draws


@dataclass(frozen=True)
class GSR:
    """Means of random groups of Delta_1 keys, so that the noise in each is 1 / epsilon.

    The groups depend on no data. Of the paper's Delta_1, the largest number of keys that occurs, here is the public
    `Incidence.moved`, and the last group's mean has less noise, as its size says.
    Source: Kellaris and Papadopoulos (VLDB 2013), section 3.1, theorem 3.

    Attributes:
      epsilon: for all keys together, > 0.
    """

    epsilon: float

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)

    @property
    def name(self) -> str:
        """`gs_r`: means of random groups of keys."""
        return "gs_r"

    @property
    def event(self) -> PrivacyEvent:
        """Pure differential privacy, over all keys."""
        return PureDP(self.epsilon)

    def release(self, incidence: Incidence, draws: Draws, entropy: Entropy) -> NoisyCounts:
        """Release all counts.

        Raises: EntropyFailed. Cost: a sort of the keys, and a draw of noise per group.
        """
        order = np.argsort(draws.uniform(MAX_COUNT, incidence.n_keys), kind="stable")
        group = equal_groups(order, incidence.moved)
        noisy = smoothed(incidence, group, exact_epsilon(self.epsilon), entropy)
        return NoisyCounts(*noisy, group, incidence.moved, self.name, self.epsilon)
