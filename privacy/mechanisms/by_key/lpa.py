"""`lpa`: the Laplace perturbation algorithm, noise for all keys of a unit in every count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacy.accounting.event import PrivacyEvent, PureDP
from privacy.entropy import Entropy
from privacy.exact import exact_epsilon
from privacy.mechanisms.by_key.incidence import Incidence
from privacy.mechanisms.by_key.noisy_counts import NoisyCounts, smoothed
from privacy.sampling.draws import Draws


@dataclass(frozen=True)
class LPA:
    """Count of each key + Lap(Delta_1 / epsilon), Delta_1 = `Incidence.moved`.

    The expected error of a count is Delta_1 / epsilon: the paper's sqrt(2) times it is its standard deviation.
    Source: Kellaris and Papadopoulos (VLDB 2013), theorem 1.

    Attributes:
      epsilon: for all keys together, > 0.
    """

    epsilon: float

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)

    @property
    def name(self) -> str:
        """`lpa`: Laplace noise in every count, for all keys of a unit."""
        return "lpa"

    @property
    def event(self) -> PrivacyEvent:
        """Pure differential privacy, over all keys."""
        return PureDP(self.epsilon)

    def release(self, incidence: Incidence, draws: Draws, entropy: Entropy) -> NoisyCounts:
        """Release all counts; nothing is drawn from `draws`.

        Raises: EntropyFailed. Cost: a draw of noise per key.
        """
        group = np.arange(incidence.n_keys)
        noisy = smoothed(incidence, group, exact_epsilon(self.epsilon), entropy)
        return NoisyCounts(*noisy, group, 1, self.name, self.epsilon)
