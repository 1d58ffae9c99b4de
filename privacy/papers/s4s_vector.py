"""DP-S4S for vectors: a sparse vector over thresholds on a sample of join tuples, then Gaussian noise.

The noise is for a smooth bound on local sensitivity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

from privacy.accounting.event import ORDERS, PrivacyEvent, RenyiCurve
from privacy.accounting.renyi import divergence_budget, epsilon_at, pure_divergence
from privacy.entropy import Entropy
from privacy.errors import InvalidParameter
from privacy.exact import exact, exact_epsilon
from privacy.papers.smooth_sensitivity import GaussianRamp, least_noise_order
from privacy.papers.vector_program.certificate import WHOLE
from privacy.papers.vector_program.search import DEFAULT_GAP
from privacy.papers.vector_release import RARE, SparseVector, VectorMechanism, check_least, rounding
from privacy.sampling.design import SampleDesign

SPLIT = 0.1
"""The share of epsilon that choosing the threshold gets by default; the paper has a fifth."""

ALLOWANCE = 8.0
"""How many people may be removed by default, in multiples of 1 / eps_1.

The noise of one level has the scale 2 / eps_1. With less, thresholds that remove nobody sometimes fail, up to the
largest. With more, the noise pays for removed people."""

_ROUNDED = 2.0**-20
"""Covers the rounding of two neighbours' B to floats: fewer than 2^31 people, two roundings each."""

_FINITE = tuple(order for order in ORDERS if math.isfinite(order))
_FAR = 600.0


@dataclass(frozen=True)
class S4SVector(VectorMechanism):
    """One threshold for all groups, chosen by a sparse vector, and the truncated sums with Gaussian noise.

    For feasible shares that add up to v, E <= v <= E + h, neighbours' sums are at most tau (v + v' + 1) apart, so
    at most 2 tau min(B, B') with B = v + 1 + h, and B moves by at most 1 + h. The grid adds `rounding`.
    `GaussianRamp` makes of it a release of divergence rho at one order; choosing the threshold adds that of an
    eps_1-DP release there, and what is left for rho is what the order is worth at (epsilon, delta).

    From a sample in which a unit with at most Delta tuples has none with probability (1 - q)^Delta, both together
    have

        ln(1 + q' (exp((alpha - 1) D) - 1)) / (alpha - 1),  q' = 1 - (1 - q)^Delta,

    once: exp((alpha - 1) D) is jointly convex. Lemma 4.2 of the paper amplifies the two stages apart and adds them
    up, as if each had a sample of its own. Source: Algorithm 5 of DP-S4S (SIGMOD 2026); docs/mathematics.md,
    sections 7.1 and 11.2.

    Attributes:
      epsilon, delta, n_groups, thresholds, confidence: as of `VectorMechanism`.
      sample: how the tuples were sampled, if amplification is claimed.
      split: eps_1 / epsilon, in (0, 1).
      allowance: how many people may be removed, in multiples of 1 / eps_1, >= 0.
    """

    sample: SampleDesign | None = None
    split: float = SPLIT
    allowance: float = ALLOWANCE
    name = "s4s_vector"
    private_scale = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.split < 1:
            raise InvalidParameter("a share must be between 0 and 1")

    @property
    def stages(self) -> PrivacyEvent:
        """Both stages together, at the accountants' orders; nothing is known beyond the order of the design."""
        return RenyiCurve(_FINITE, tuple(self.divergence(order) for order in _FINITE))

    def divergence(self, order: float) -> float:
        """The joint divergence of the two stages; the release's is no larger at smaller orders than the design's."""
        if order > self.noise.alpha:
            return math.inf
        return _amplified(self._unsampled(order), order, _seen(self.sample)) * (1 + 2.0**-40)

    def sigma(self, removed: int, entropy: Entropy) -> float:
        """The noise for the smooth bound on local sensitivity at so many removed people. Private."""
        return self.noise.sigma(self._bound(removed))

    def most_sigma(self) -> float:
        """`VectorMechanism.most_sigma`; what was removed chooses the scale of noise."""
        if self.epsilon >= 1:
            assert self.noise, "it refuses noise too small for its grid, which less epsilon never has"
        return self._made.most_sigma(self._bound(math.ceil(self.most_persons(RARE) * WHOLE)))

    def epsilon_if_bound_fails(self, n_groups: int) -> float:
        """epsilon at delta when a unit of more tuples than Delta is sure to be in the sample."""
        if _seen(self.sample) == 1:
            return self.epsilon
        noise = self.sized(n_groups)
        assert isinstance(noise, S4SVector), "the same for another number of groups"
        return epsilon_at(noise.noise.alpha, noise._unsampled(noise.noise.alpha), self.delta)

    @cached_property
    def selection(self) -> SparseVector:
        """The first stage: a sparse vector over thresholds, with its share of epsilon."""
        selecting = _selecting(self.epsilon, self.split)
        return SparseVector.monotone(selecting, self.allowance / selecting)

    @cached_property
    def noise(self) -> GaussianRamp:
        """The second stage, in multiples of 2 tau."""
        check_least(self._made.sigma(self._bound(0)), self._made.alpha, self.n_groups)
        return self._made

    @property
    def _made(self) -> GaussianRamp:
        return _ramp(self.epsilon, self.delta, self.n_groups, self.split, self.allowance, _seen(self.sample))

    @cached_property
    def stated_sigma(self) -> float:
        """A public bound of the noise, which is private, in multiples of 2 tau."""
        return self.noise.sigma(self._bound(math.ceil(self.most_persons() * WHOLE)))

    def _bound(self, removed: int) -> float:
        """B, and what the grid adds, from steps of 2^-31 persons. B moves at most by the growth of `noise`."""
        return (removed + WHOLE + DEFAULT_GAP) / WHOLE + rounding(self.n_groups)

    def _unsampled(self, order: float) -> float:
        if order > self.noise.alpha:
            return math.inf
        return _choice_divergence(self.selection.epsilon, order) + self.noise.rho


@lru_cache(maxsize=64)
def _ramp(epsilon: float, delta: float, n_groups: int, split: float, allowance: float, seen: float) -> GaussianRamp:
    """The noise, at the order at which it is least if half of the allowed people are removed."""
    selecting = _selecting(epsilon, split)

    def left(order: float) -> float:
        worth = divergence_budget(epsilon, delta, order)
        return _conditional(worth, order, seen) - _choice_divergence(selecting, order) if worth > 0 else 0.0

    alpha = least_noise_order(_FINITE, left, n_groups, 1 + allowance / selecting / 2)
    return GaussianRamp(n_groups, alpha, left(alpha) * (1 - 2.0**-30), 1 + DEFAULT_GAP / WHOLE + _ROUNDED)


def _seen(sample: SampleDesign | None) -> float:
    """q', the probability that the sample has any tuple of a unit, rounded up; 1 without a public bound."""
    if sample is None or sample.tuples_per_unit is None or sample.rate == 1:
        return 1.0
    return min(1.0, -math.expm1(sample.tuples_per_unit * math.log1p(-sample.rate)) * (1 + 2.0**-40))


def _selecting(epsilon: float, split: float) -> float:
    """eps_1. The gain of amplification goes to the release: at the relevant orders it is little."""
    return float(exact(split) * exact_epsilon(epsilon))


def _choice_divergence(selecting: float, order: float) -> float:
    return float(pure_divergence(exact_epsilon(selecting), order)) * (1 + 2.0**-50)


def _amplified(divergence: float, order: float, seen: float) -> float:
    """ln(1 + q' (e^((order - 1) D) - 1)) / (order - 1)."""
    exponent = (order - 1) * divergence
    if seen == 1:
        return divergence
    if exponent > _FAR:
        return (exponent + math.log(seen) + math.exp(-_FAR) / seen) / (order - 1)
    return math.log1p(seen * math.expm1(exponent)) / (order - 1)


def _conditional(divergence: float, order: float, seen: float) -> float:
    """The D that is `divergence` when amplified, up to rounding."""
    exponent = (order - 1) * divergence
    if seen == 1:
        return divergence
    if exponent > _FAR:
        return (exponent - math.log(seen)) / (order - 1)
    return math.log1p(math.expm1(exponent) / seen) / (order - 1)
