"""PMSJA: a sparse vector over thresholds, a private bound on local sensitivity, and Gaussian noise for it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from privacy.accounting.event import ORDERS, ZCDP, ApproxDP, Composed, PrivacyEvent, PureDP
from privacy.accounting.renyi import divergence_budget, pure_divergence
from privacy.entropy import Entropy, check_scale, checked
from privacy.errors import InvalidParameter
from privacy.exact import exact, exact_epsilon
from privacy.papers.vector_program.certificate import WHOLE
from privacy.papers.vector_program.search import DEFAULT_GAP
from privacy.papers.vector_release import RARE, SparseVector, VectorMechanism, check_least, rounding

SPLIT = 0.1
"""The share of epsilon that choosing the threshold gets by default, as in the authors' program."""

BOUNDING = 0.35
"""The share of epsilon that bounding the local sensitivity gets by default."""

MISSING = 0.5
"""The share of delta with which that bound may be too small."""

ALLOWANCE = 8.0
"""How many people may be removed by default, in multiples of 1 / eps_1, as in `s4s_vector`."""


@dataclass(frozen=True)
class Pmsja(VectorMechanism):
    """One threshold for all groups, a noisy bound B^ >= B on what neighbours differ by there, and noise of 2 tau B^.

    B = v + 1 + h as in `S4SVector` moves by at most 1 + h, so B^ = B + Z + k, Z discrete Laplace of scale (1 + h) /
    eps_2, is eps_2-DP; P(Z < -k) <= delta_2. Let two neighbours' sums be D apart at the threshold. Whenever 2 tau
    B^ >= D the release is rho-zCDP; the output with B^ below that has probability at most delta_2 on either side.
    With B^ replaced by the larger of itself and D / (2 tau) the whole is (epsilon, delta - delta_2)-DP for this
    pair, and the same but for those outputs.

    Departures from the paper's program: the gap, the monotone sparse vector, and stages composed in Renyi divergence
    instead of added up. Source: Dong, Sun & Yi, SIGMOD 2023 (PMSJA); Vadhan, The Complexity of Differential
    Privacy, section 3 (private bounds on local sensitivity); docs/mathematics.md, section 11.2.

    Attributes:
      epsilon, delta, n_groups, thresholds, confidence: as of `VectorMechanism`.
      split, bounding: eps_1 / epsilon and eps_2 / epsilon, in (0, 1) together.
      missing: delta_2 / delta, in (0, 1).
      allowance: how many people may be removed, in multiples of 1 / eps_1, >= 0.
    """

    split: float = SPLIT
    bounding: float = BOUNDING
    missing: float = MISSING
    allowance: float = ALLOWANCE
    name = "pmsja"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.split > 0 and self.bounding > 0 and self.split + self.bounding < 1 and 0 < self.missing < 1):
            raise InvalidParameter("the shares of epsilon and delta must be between 0 and 1")

    @property
    def stages(self) -> PrivacyEvent:
        """The privacy event of the three stages: sparse vector, bound on local sensitivity, Gaussian noise."""
        bound = ApproxDP(float(self._bounding), float(self._missing))
        return Composed((PureDP(self.selection.epsilon), bound, ZCDP(self.rho)))

    def sigma(self, removed: int, entropy: Entropy) -> float:
        """The noise for the noisy bound B^. An answer states its noise scale, so B^ is released with it."""
        return self.noise_per_bound * self.noisy_bound(removed, entropy)

    def noisy_bound(self, removed: int, entropy: Entropy) -> float:
        """B^, at least 1: whole steps of 2^-31 persons, of which only what has noise becomes a float, rounded up.

        Args:
          removed: in the same steps.
        Raises: EntropyFailed.
        """
        drawn = checked(entropy.laplace(self._scale, 1), 1)
        steps = removed + WHOLE + DEFAULT_GAP + int(drawn[0]) + self._shift
        bound = max(1.0, math.nextafter(steps / WHOLE, math.inf))
        return math.nextafter(bound + rounding(self.n_groups), math.inf)

    @property
    def stated_sigma(self) -> float:
        """`sigma` at a noisy bound B^ that is rarely exceeded, in multiples of 2 tau.

        B^ exceeds it only if more than `most_persons()` people are removed, or if Z > k, which has probability at
        most delta_2.
        """
        return self.noise_per_bound * (self.most_persons() + 1 + (DEFAULT_GAP + 2 * self._shift) / WHOLE)

    def most_sigma(self) -> float:
        """As `VectorMechanism.most_sigma`: `RARE` bounds the removed people, and again the noise of the bound B^."""
        check_scale(self._scale)
        drawn = math.ceil(-math.log(RARE) * self._scale)
        bound = self.most_persons(RARE) + 1 + (DEFAULT_GAP + self._shift + drawn) / WHOLE
        return self.noise_per_bound * bound

    @cached_property
    def selection(self) -> SparseVector:
        """The first stage: a sparse vector over thresholds, with its share of epsilon."""
        selecting = float(exact(self.split) * exact_epsilon(self.epsilon))
        return SparseVector.monotone(selecting, self.allowance / selecting)

    @cached_property
    def rho(self) -> float:
        """The rho that the other two stages leave for the noise, at the best order. Raises: InvalidParameter."""
        left = float(exact(self.delta) - self._missing)
        most = max(
            (divergence_budget(self.epsilon, left, order) - self._before(order)) / order
            for order in ORDERS
            if math.isfinite(order)
        )
        if most <= 0:
            raise InvalidParameter("this epsilon and delta are too small for noise at any Renyi order")
        return most * (1 - 2.0**-30)

    @cached_property
    def noise_per_bound(self) -> float:
        """sigma / B^, in multiples of 2 tau."""
        sigma = (1 + 2.0**-40) / math.sqrt(2 * self.rho)
        check_least(sigma, 1.0, self.n_groups)
        return sigma

    @property
    def _bounding(self) -> Fraction:
        return exact(self.bounding) * exact_epsilon(self.epsilon)

    @property
    def _missing(self) -> Fraction:
        return exact(self.missing) * exact(self.delta)

    @cached_property
    def _scale(self) -> float:
        """The scale of Z, in steps."""
        return float((WHOLE + DEFAULT_GAP) / self._bounding) * (1 + 2.0**-50)

    @cached_property
    def _shift(self) -> int:
        """k, in steps: P(Z < -k) = a^(k + 1) / (1 + a) <= delta_2, a = exp(-1 / scale)."""
        tail = math.log(float(self._missing)) + math.log1p(math.exp(-1 / self._scale))
        return max(0, math.ceil(-tail * self._scale * (1 + 2.0**-40)))

    def _before(self, order: float) -> float:
        """The divergence of the first two stages."""
        parts = pure_divergence(exact_epsilon(self.selection.epsilon), order), pure_divergence(self._bounding, order)
        return float(sum(parts)) * (1 + 2.0**-50)
